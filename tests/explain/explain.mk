# explain.mk - the test of --explain; included by the Makefile at the top after the rules of the tests.

EXPLAIN_TEST := $(B)/tests/explain/truth
MORE_TESTS += $(EXPLAIN_TEST)

$(EXPLAIN_TEST): $(B)/tests/explain/truth.o $(CHAPTERS:%=$(B)/model/%.o) \
        $(patsubst %,$(B)/harness/%.o,problem backend_model check kind options) $(KIND_OBJECTS) \
                 $(MODEL_OBJECTS) $(LINK_STAMP)
	$(program)
