# What every chapter's Makefile includes: the targets of the top Makefile, for the chapter of the current directory.
#
#     make, make 07   build this chapter's program (07 stands for the directory's own number)
#     make run        build it and run it; ARGS="..." passes options
#     make diff       show what this chapter changes in the source of the one before
#     make clean, make help

CHAPTER := $(notdir $(CURDIR))
NUMBER := $(firstword $(subst _, ,$(CHAPTER)))

.PHONY: $(NUMBER) run diff clean help
$(NUMBER):
	@$(MAKE) --no-print-directory -C .. $(NUMBER)
run diff:
	@$(MAKE) --no-print-directory -C .. $@-$(NUMBER)
clean help:
	@$(MAKE) --no-print-directory -C .. $@
