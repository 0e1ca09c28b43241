"""The process around the core: what operators see, set and ask."""
