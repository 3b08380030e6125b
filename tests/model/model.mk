# model.mk - tests of the CPU model; included by the Makefile at the top after the rules of the tests.
#
# cases: small kernels, right ones and wrong ones. chapters: every chapter over edge sizes, policies and seeds.
# internals: what a kernel cannot show. All print TAP.

MODEL_TESTS := $(B)/tests/model/cases $(B)/tests/model/chapters $(B)/tests/model/internals
MORE_TESTS += $(MODEL_TESTS)
MODEL_KERNELS := $(patsubst tests/model/%.c,$(B)/tests/model/%.o,$(wildcard tests/model/kernels_*.c))

ifneq ($(HAVE_MODEL),)
# Kernels are compiled as chapters are for the model.
$(MODEL_KERNELS): $(B)/tests/model/%.o: tests/model/%.c $(CC_STAMP)
	$(call c_object,$(C_CHAPTER))

$(B)/tests/model/chapters.o: tests/model/chapters.c $(CHAPTERS_INC) $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,$(C_TEST) -DGEMM_MODEL)

$(B)/tests/model/cases $(B)/tests/model/internals: %: %.o $(MODEL_KERNELS) $(MODEL_OBJECTS) $(LINK_STAMP)
	$(program)
$(B)/tests/model/chapters: $(B)/tests/model/chapters.o $(CHAPTERS:%=$(B)/model/%.o) $(MODEL_OBJECTS) $(LINK_STAMP)
	$(program)
else
$(MODEL_TESTS): $(LINK_STAMP)
	$(call skipping_test,there is no CPU model)
endif
