# explain.mk - the test of --explain; included by the Makefile at the top after the rules of the tests.

EXPLAIN_TEST := $(B)/tests/explain/truth
MORE_TESTS += $(EXPLAIN_TEST)

ifneq ($(HAVE_MODEL),)
$(EXPLAIN_TEST): $(B)/tests/explain/truth.o $(CHAPTERS:%=$(B)/model/%.o) $(B)/harness/explain.o \
                 $(MODEL_OBJECTS) $(LINK_STAMP)
	$(program)
else
$(EXPLAIN_TEST): $(LINK_STAMP)
	$(call skipping_test,there is no CPU model)
endif
