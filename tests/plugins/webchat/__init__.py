"""Tests of the web chat."""
