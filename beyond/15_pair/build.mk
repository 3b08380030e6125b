# What the Makefile has to know of this chapter: a pair of CTAs does not fit on one SM.
TRACED_SMS := 2
