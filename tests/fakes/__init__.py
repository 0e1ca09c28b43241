"""Servers we own that stand in for the vendors: scripted, journalled, on loopback."""
