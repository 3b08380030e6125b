# steps.mk - tests of the stepping pages; included by the Makefile at the top.

include book/steps/steps.mk
tests/steps/steps.t: steps
MORE_TESTS += tests/steps/steps.t
