"""The typed settings: their models, where they are read from, and what is said when they are wrong."""
