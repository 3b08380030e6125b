# several.mk - 12_several_gpus_mpi, the program of several GPUs; included by the Makefile at the top.
#
# It needs nvcc, an MPI (mpicc; Debian and Ubuntu: libopenmpi-dev and openmpi-bin) and nccl.h (NVIDIA's package libnccl-dev,
# or the wheel nvidia-nccl-cu13: NCCL=.../nvidia/nccl names its directory). NCCL itself is loaded when it runs.

SEVERAL := beyond/12_several_gpus/12_several_gpus
MPICC ?= mpicc
MPI_FLAGS := $(wordlist 2,999,$(shell $(MPICC) -show 2>/dev/null))
CUDA_INCLUDE := $(if $(HAVE_NVCC),$(abspath $(dir $(shell command -v $(NVCC)))../include))
NCCL_FLAGS := $(addprefix -I,$(wildcard $(CUDA_INCLUDE) $(NCCL:=/include)))
HASH := \#
NO_SEVERAL_MPI := $(or $(NO_NVCC),\
    $(if $(MPI_FLAGS),,mpicc was not found (Debian and Ubuntu: libopenmpi-dev openmpi-bin)),\
    $(if $(shell printf '$(HASH)include <nccl.h>\n$(HASH)ifndef NCCL_CTA_POLICY_ZERO\n$(HASH)error\n$(HASH)endif\n' | \
            $(CC) $(NCCL_FLAGS) -E - >/dev/null 2>&1 && echo yes),,nccl.h of NCCL 2.28 or later was not \
found (libnccl-dev of NVIDIA, or the wheel nvidia-nccl-cu13 and NCCL=its directory)))

.PHONY: several_gpus_mpi
12: several_gpus_mpi
ifeq ($(NO_SEVERAL_MPI),)
several_gpus_mpi: $(SEVERAL)_mpi
MORE_PROGRAMS += $(SEVERAL)_mpi
$(B)/harness/12_several_gpus_mpi.o: $(SEVERAL)_mpi.c $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,$(NCCL_FLAGS) $(filter -I% -D%,$(MPI_FLAGS)))

comma := ,
$(SEVERAL)_mpi: linker_flags += $(filter -L% -l%,$(MPI_FLAGS)) \
                            $(foreach f,$(filter -Wl$(comma)%,$(MPI_FLAGS)),-Xlinker $(f:-Wl$(comma)%=%))
$(SEVERAL)_mpi: $(B)/harness/12_several_gpus_mpi.o $(B)/gpu/09_every_shape.o $(B)/gpu/12_several_gpus.o $(COMMON) $(LINK_STAMP)
	$(program)
else
several_gpus_mpi:
	@echo "12_several_gpus_mpi, the program of several GPUs, is not built: $(NO_SEVERAL_MPI)"
endif
