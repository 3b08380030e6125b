# fragments.mk - the code in the texts of the book: fragments.t compiles it, test_fragments runs what is C, w4a8_gpu runs
# the kernels of w4a8.md on a Hopper GPU; included by the Makefile at the top.

FRAGMENT_TEST := $(B)/tests/book/test_fragments
FRAGMENT_GPU_TEST := $(B)/tests/book/w4a8_gpu
MORE_TESTS += tests/book/fragments.t $(FRAGMENT_TEST) $(FRAGMENT_GPU_TEST)

define extract_fragments
	@mkdir -p $(@D)
	@tests/book/extract --target=$(1) $< >$@
endef
FRAGMENTS_C := $(patsubst %,$(B)/include/%_fragments.inc,blackwell w4a8)
$(FRAGMENTS_C): $(B)/include/%_fragments.inc: book/%.md tests/book/extract
	$(call extract_fragments,c11)
$(FRAGMENT_TEST).o: $(FRAGMENTS_C)
$(FRAGMENT_TEST): $(FRAGMENT_TEST).o $(LINK_STAMP)
	$(program)

ifneq ($(HAVE_NVCC),)
$(B)/include/w4a8_kernels.inc: book/w4a8.md tests/book/extract
	$(call extract_fragments,sm_90a)
$(FRAGMENT_GPU_TEST).o: tests/book/w4a8_gpu.cu $(B)/include/w4a8_kernels.inc $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM90A) -I$(B)/include -Itests/unit)
$(FRAGMENT_GPU_TEST): $(FRAGMENT_GPU_TEST).o $(LINK_STAMP)
	$(program)
else
$(FRAGMENT_GPU_TEST): $(LINK_STAMP)
	$(call skipping_test,$(NO_NVCC))
endif
