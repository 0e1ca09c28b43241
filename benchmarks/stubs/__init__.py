"""The two ends of the line, as light as they can be: a remote A2A agent that echoes, and a Bot API that counts."""
