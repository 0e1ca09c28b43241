"""Tests of the project itself: its locks, contracts, prerequisites and start."""
