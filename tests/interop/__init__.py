"""The gateway as a process between servers that others wrote: an independent Bot API and the official A2A SDK."""
