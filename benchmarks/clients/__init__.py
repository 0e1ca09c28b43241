"""Clients of an A2A agent, each a program: it makes calls over so many lanes and prints what they cost as JSON."""
