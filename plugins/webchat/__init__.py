"""The web chat: a page on which people talk to an agent, served by the gateway itself."""
