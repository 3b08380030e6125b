# steps.mk - tests of the stepping pages; included by the Makefile at the top.

ifneq ($(HAVE_MODEL),)
include book/steps/steps.mk
tests/steps/steps.t: steps
endif
MORE_TESTS += tests/steps/steps.t
