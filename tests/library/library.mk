# library.mk - libgemm09, libattention13 and their tests; included by the Makefile at the top.
#
# library.t: what the two files export, and what they need. refusals: every wrong argument of libgemm09. on_device: what
# both do on a GPU: threads, graphs, large sizes. on_gpu.t: the programs that the page shows, in C and in PyTorch.

include beyond/09_every_shape/library/library.mk

REFUSAL_TEST := $(B)/tests/library/refusals
LIBRARY_GPU_TEST := $(B)/tests/library/on_device
LIBRARY_GPU_TESTS := $(LIBRARY_GPU_TEST) tests/library/on_gpu.t
MORE_TESTS += $(REFUSAL_TEST) $(LIBRARY_GPU_TEST)

ifneq ($(HAVE_NVCC),)
tests/library/library.t tests/library/on_gpu.t: $(LIBRARY_FILES)
tests/library/library.t: $(REFUSAL_TEST)
$(REFUSAL_TEST).o: tests/library/refusals.c $(LIBRARY_SOURCE)/gemm09.h $(CC_STAMP)
	$(call c_object,-Itests/unit -I$(LIBRARY_SOURCE))
$(REFUSAL_TEST): $(REFUSAL_TEST).o $(LIBRARY)/libgemm09.so
	$(call say,LINK,$@)
	$(Q)$(CC) $< -L$(LIBRARY) -lgemm09 -Wl,-rpath='$$ORIGIN/../../library' $(LDFLAGS) -o $(NEW) $(renamed)
$(LIBRARY_GPU_TEST).o: tests/library/on_device.c $(LIBRARY_SOURCE)/gemm09.h $(ATTENTION_SOURCE)/attention13.h \
                       tests/unit/tap.h $(NVCC_STAMP)
	$(call c_example,-Itests/unit -I$(LIBRARY_SOURCE) -I$(ATTENTION_SOURCE))
$(LIBRARY_GPU_TEST): $(LIBRARY_GPU_TEST).o $(LIBRARY)/libgemm09.so $(LIBRARY)/libattention13.so
	$(call linked_example,-lgemm09 -lattention13)
else
$(REFUSAL_TEST) $(LIBRARY_GPU_TEST): $(LINK_STAMP)
	$(call skipping_test,$(NO_NVCC))
endif
