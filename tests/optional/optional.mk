# optional.mk - compiles what needs a package that few machines have; included by the Makefile at the top.
#
# optional.t: the programs of several GPUs against a stub of MPI, and PyTorch's callers against a mock of torch.

MPI_SOURCES := $(wildcard beyond/*/*_mpi.c)
MPI_STUBBED := $(if $(HAVE_NVCC),$(MPI_SOURCES:%.c=$(B)/tests/optional/%))
GROUP_TEST := $(if $(HAVE_NVCC),$(B)/tests/optional/group)
tests/optional/optional.t: $(MPI_STUBBED) $(GROUP_TEST) \
                           $(if $(HAVE_NVCC),$(patsubst %.c,%,$(wildcard beyond/*/*_ranks.c)))

# They run as far as they need no GPU.
$(MPI_STUBBED:%=%.o): $(B)/tests/optional/%.o: %.c $(wildcard tests/optional/stubs/*.h) $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,-I$(dir $(shell command -v $(NVCC)))../include -Itests/optional/stubs)
MPI_CHAPTERS := $(if $(MPI_SOURCES),$(shell grep -oh 'gpu_chapter_[0-9a-z_]*' $(MPI_SOURCES) \
    $(wildcard beyond/*/ways.h) | sort -u))
$(MPI_STUBBED) $(GROUP_TEST): %: %.o $(MPI_CHAPTERS:gpu_chapter_%=$(B)/gpu/%.o) $(COMMON) $(LINK_STAMP)
	$(program)

##maintain make check-aarch64|cross-compile chapters for 64-bit Arm and run them under qemu; needs gcc-aarch64-linux-gnu and qemu-user-static
.PHONY: check-aarch64
check-aarch64: $(call patch_needs,07_warp_specialized)
	@$(PATCHES) build 07_no_full_wait >/dev/null
	@$(TEST_ENVIRONMENT) tests/run tests/optional/aarch64.t

# The same program's ranks, without a GPU.
$(B)/tests/optional/group.o: tests/optional/group.c $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,-I$(dir $(shell command -v $(NVCC)))../include -Wno-unused-function)
