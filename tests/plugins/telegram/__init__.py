"""What the Telegram plugin promises."""
