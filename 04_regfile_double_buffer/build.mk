# build.mk - what is special about building chapter 04: its first step has 254 registers in use, and recording takes
# more.
TRACED_SPILLS := 160
