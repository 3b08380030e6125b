# What every chapter's Makefile includes, by ../common/chapter.mk or, in beyond/, by ../../common/chapter.mk: the
# targets of the top Makefile, in the chapter's directory.
#
#     make, make 07        build this chapter's program (07 stands for the directory's own number)
#     make run, make diff, make break, make map, make exercise, make solve, make lab, make check, make timeline,
#     make profile         run-07, diff-07 and so on of the top, for this chapter: make break BUG=name
#     make test            test-07 of the top: this chapter on the model, and all its bugs
#     any other target     is the top's: make break-07 BUG=name, make clean, make help
#
# Files that a variable names, as in ARGS="--trace FILE", are relative to the top, where the recipes run.

TOP := $(patsubst %/common/chapter.mk,%,$(lastword $(MAKEFILE_LIST)))
NUMBER := $(firstword $(subst _, ,$(notdir $(CURDIR))))
OF_THIS_CHAPTER := run diff break map exercise solve lab check timeline profile test

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
# One at a time: each starts a make of its own in the same build directory.
.NOTPARALLEL:
.PHONY: $(NUMBER) $(OF_THIS_CHAPTER)
$(NUMBER):
	@$(MAKE) --no-print-directory -C $(TOP) $@
$(OF_THIS_CHAPTER):
	@$(MAKE) --no-print-directory -C $(TOP) $@-$(NUMBER)
.DEFAULT:
	@$(MAKE) --no-print-directory -C $(TOP) $@
