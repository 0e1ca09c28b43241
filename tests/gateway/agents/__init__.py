"""Tests of the agents in this process."""
