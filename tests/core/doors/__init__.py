"""The specification of the two doors."""
