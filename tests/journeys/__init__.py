"""The gateway as a process, seen from outside: its sockets, its signals, its log, and the servers it talks to."""
