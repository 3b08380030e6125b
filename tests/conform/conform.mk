# conform.mk - the conformance suite; included by the Makefile at the top after the rules of the tests.
#
# record runs on a Hopper GPU and writes the vectors; replay compares the CPU model with them and is one of the tests.

CONFORM_TEST := $(B)/tests/conform/replay
CONFORM_RECORD := $(B)/tests/conform/record

##maintain make conform-record|build the program that records the conformance vectors; run it on a Hopper GPU
.PHONY: conform-record
conform-record: $(CONFORM_RECORD)

# All cases, whether recorded or not: that nvcc takes their wrappers, and ptxas without a spill or a word about wgmma.
ifneq ($(HAVE_NVCC),)
test: $(B)/tests/conform/record
$(CONFORM_RECORD): $(B)/%: %.cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ $(compile_cuda) $(ARCH_SM90A) -Xptxas=-v -cudart static $< >$@.ptxas 2>&1 || { cat $@.ptxas >&2; false; }; } && \
	    tests/tools/ptxas_check $@.ptxas $(renamed_with_d)
$(CONFORM_RECORD): $(wildcard tests/conform/*.h common/*.h common/device/*.h)
else
$(CONFORM_RECORD): FORCE
	@echo "the recorder cannot be built: $(NO_NVCC)" >&2; exit 1
endif

##maintain make conform-cute CUTLASS=checkout|write tests/conform/cute.txt: what CuTe's headers say about tcgen05
.PHONY: conform-cute
conform-cute:
	@[ -d '$(CUTLASS)/include/cute' ] || \
	    { echo "CUTLASS=$(CUTLASS): accepted is a checkout of github.com/NVIDIA/cutlass" >&2; exit 2; }
	$(Q)mkdir -p $(B)/tests/conform
	$(Q)$(NVCC) -std=c++17 -x cu -I$(CUTLASS)/include \
	    -DCOMMIT='"$(or $(CUTLASS_COMMIT),$(shell git -C $(CUTLASS) rev-parse --short HEAD))"' \
	    tests/conform/cute.cpp -o $(B)/tests/conform/cute
	$(Q)$(B)/tests/conform/cute tests/conform/cute.txt >/dev/null

# The kernels and what compares their results, compiled as chapters are for the model.
$(B)/tests/conform/replay.o: tests/conform/replay.c $(CC_STAMP)
	$(call c_object,$(C_CHAPTER))

$(CONFORM_TEST): $(B)/tests/conform/replay.o $(MODEL_OBJECTS) $(LINK_STAMP)
	$(program)
