# What the Makefile has to know of this chapter: its widest kernel has few registers left for recording.
TRACED_SPILLS := 320
