"""Foreign programs that run as processes of their own and keep our fakes honest."""
