"""The process: HTTP, authentication, storage, command line, telemetry, and the one place where all is composed."""
