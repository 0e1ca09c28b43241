"""What Frontdesk costs, measured from outside beside hand-written programs that do the least the same job allows.

Driver, stubs and server share one machine, so rates say little by themselves: every comparison alternates its programs
in one run and is read as a ratio, with the server's CPU time per message beside it. Linux only (`/proc`).
"""
