"""The specification of the A2A protocol's two sides."""
