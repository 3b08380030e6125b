# fragments.mk - the code in the texts of common/book: compiled by fragments.t, run by test_fragments.c as far as it is C;
# included by the Makefile at the top.

FRAGMENT_TEST := $(B)/tests/book/test_fragments
MORE_TESTS += tests/book/fragments.t $(FRAGMENT_TEST)

FRAGMENT_INCS := $(patsubst %,$(B)/include/%_fragments.inc,blackwell w4a8)
$(FRAGMENT_INCS): $(B)/include/%_fragments.inc: common/book/%.md tests/book/extract
	@mkdir -p $(@D)
	@tests/book/extract -v target=c11 $< >$@
$(FRAGMENT_TEST).o: $(FRAGMENT_INCS)
$(FRAGMENT_TEST): $(FRAGMENT_TEST).o $(LINK_STAMP)
	$(program)
