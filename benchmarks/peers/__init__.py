"""Other people's servers and clients, each run in an environment of its own (`make peers`)."""
