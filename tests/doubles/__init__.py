"""Doubles of our own ports: small, in memory, and held to the same suites as what they stand for."""
