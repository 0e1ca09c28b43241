"""The specification of core."""
