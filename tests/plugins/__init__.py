"""What each channel plugin promises."""
