"""What every engine of the store must hold, and what each engine promises beside it.

A new engine runs test_admissions, test_threads, test_turns, test_deliveries, test_desk, test_moves and test_state
unedited: it adds its factory to ENGINES in conftest.py.
"""
