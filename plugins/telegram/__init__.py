"""Telegram: the Bot API in both directions."""
