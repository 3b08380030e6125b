# gpu.mk - GPU tests apart from those of the chapters; included by the Makefile at the top.

GLOBAL_GPU := $(B)/tests/gpu/global

##maintain make global-gpu|run the kernels that talk through global memory, of tests/model, on a Hopper GPU
.PHONY: global-gpu
global-gpu: $(GLOBAL_GPU)
	$(GLOBAL_GPU)

ifneq ($(HAVE_NVCC),)
$(GLOBAL_GPU): tests/gpu/global.cu tests/model/kernels_global.c $(NVCC_STAMP)
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(compile_cuda) $(ARCH_SM90A) -cudart static $< -o $@
else
$(GLOBAL_GPU): FORCE
	@echo "it cannot be built: $(NO_NVCC)" >&2; exit 1
endif
