"""A server that the official A2A compatibility kits can be run against."""
