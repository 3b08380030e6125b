# several.mk - the two programs of several GPUs; included by the Makefile at the top. 12_several_gpus_ranks starts its
# own processes and needs nvcc; 12_several_gpus_mpi needs an MPI, too (mpicc; Debian and Ubuntu: libopenmpi-dev and
# openmpi-bin). NCCL is loaded when they run, if it is there.

SEVERAL := beyond/12_several_gpus/12_several_gpus
MPICC ?= mpicc
MPI_FLAGS := $(wordlist 2,999,$(shell $(MPICC) -show 2>/dev/null))
CUDA_INCLUDE := $(if $(HAVE_NVCC),$(abspath $(dir $(shell command -v $(NVCC)))../include))
SEVERAL_PROGRAMS := $(if $(HAVE_NVCC),$(SEVERAL)_ranks $(if $(MPI_FLAGS),$(SEVERAL)_mpi))

12: $(SEVERAL_PROGRAMS)
MORE_PROGRAMS += $(SEVERAL_PROGRAMS)
$(SEVERAL_PROGRAMS:beyond/12_several_gpus/%=$(B)/harness/%.o): \
        $(B)/harness/%.o: beyond/12_several_gpus/%.c $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,-I$(CUDA_INCLUDE) $(filter -I% -D%,$(MPI_FLAGS)))

comma := ,
$(SEVERAL)_mpi: linker_flags += $(filter -L% -l%,$(MPI_FLAGS)) \
                            $(foreach f,$(filter -Wl$(comma)%,$(MPI_FLAGS)),-Xlinker $(f:-Wl$(comma)%=%))
$(SEVERAL_PROGRAMS): beyond/12_several_gpus/%: $(B)/harness/%.o $(B)/gpu/12_several_gpus.o $(COMMON) $(LINK_STAMP)
	$(program)
