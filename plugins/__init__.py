"""One folder for each channel, all with the same files; no plugin knows another."""
