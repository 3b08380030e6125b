# What the chip can do at best.
LIMITS := $(B)/tests/limits/limits

## make limits|measure wgmma alone, mma.sync alone and a device copy; needs a Hopper GPU
.PHONY: limits
ifneq ($(HAVE_NVCC),)
$(B)/tests/limits/limits.o: tests/limits/limits.cu $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM90A))
$(LIMITS): $(B)/tests/limits/limits.o $(LINK_STAMP)
	$(program)
limits: $(LIMITS)
	@$(COMMIT) $(LIMITS)
else
limits:
	@echo "make limits cannot be built: $(NO_NVCC)" >&2; exit 1
endif
