# fragments.mk - the code in the texts of the book: fragments.t compiles it, test_fragments runs what is C; included by the
# Makefile at the top.

FRAGMENT_TEST := $(B)/tests/book/test_fragments
MORE_TESTS += tests/book/fragments.t $(FRAGMENT_TEST)

FRAGMENTS_C := $(patsubst %,$(B)/include/%_fragments.inc,w4a8)
$(B)/include/w4a8_fragments.inc: beyond/11_w4a8/notes.md
$(FRAGMENTS_C): tests/book/extract
	@mkdir -p $(@D)
	@tests/book/extract --target=c11 $(filter %.md,$^) >$@
$(FRAGMENT_TEST).o: $(FRAGMENTS_C)
$(FRAGMENT_TEST): $(FRAGMENT_TEST).o $(LINK_STAMP)
	$(program)
