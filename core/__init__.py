"""The domain of Frontdesk: plain Python, standard library only (its two HTTP doors aside)."""
