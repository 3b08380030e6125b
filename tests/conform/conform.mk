# conform.mk - the conformance suite; included by the Makefile at the top after the rules of the tests.
#
# record runs on a Hopper GPU and writes the vectors; replay compares the CPU model with them and is one of the tests.

CONFORM_TEST := $(B)/tests/conform/replay
CONFORM_RECORD := $(B)/tests/conform/record $(B)/tests/conform/inexact

##maintain make conform-record|build the programs that record the conformance vectors; run them on a Hopper GPU
.PHONY: conform-record
conform-record: $(CONFORM_RECORD)

# Products of every width and kind; and all cases, whether recorded or not: that nvcc takes their wrappers.
ifneq ($(HAVE_NVCC),)
test: $(B)/tests/conform/products.o $(B)/tests/conform/record
$(B)/tests/conform/products.o: tests/conform/products.cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(compile_cuda) $(ARCH_SM90A) -Xptxas=-v -c $< -o $@ >$(@:.o=.ptxas) 2>&1 || { cat $(@:.o=.ptxas) >&2; exit 1; }
	$(Q)tests/tools/ptxas_check $(@:.o=.ptxas) || { rm -f $@; exit 1; }

$(CONFORM_RECORD): $(B)/%: %.cu $(NVCC_STAMP)
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(compile_cuda) $(ARCH_SM90A) -cudart static $< -o $@
else
$(CONFORM_RECORD): FORCE
	@echo "the recorder cannot be built: $(NO_NVCC)" >&2; exit 1
endif

ifneq ($(HAVE_MODEL),)
# The kernels and what compares their results, compiled as chapters are for the model.
$(B)/tests/conform/replay.o: tests/conform/replay.c $(CC_STAMP)
	$(call c_object,$(C_CHAPTER))

$(CONFORM_TEST): $(B)/tests/conform/replay.o $(MODEL_OBJECTS) $(LINK_STAMP)
	$(program)
else
$(CONFORM_TEST): $(LINK_STAMP)
	$(call skipping_test,there is no CPU model)
endif
