# What the Makefile has to know of this chapter: 14 solves the problem of 08 on another GPU.
COMPARE_WITH := 08_persistent_pingpong
