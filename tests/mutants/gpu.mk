# gpu.mk - all mutants in one program for a Hopper GPU; included by the Makefile at the top.
#
# The chapters most worth knowing about come first: a run that is broken off has them. The rest follows.

GPU_MUTANTS_FIRST := $(foreach n,07 08 06 05 04 03 02,$(sort $(wildcard tests/mutants/$(n)_*.patch)))
GPU_MUTANT_PATCHES := $(GPU_MUTANTS_FIRST) $(filter-out $(GPU_MUTANTS_FIRST),$(sort $(wildcard tests/mutants/*.patch)))
GPU_MUTANTS := $(GPU_MUTANT_PATCHES:tests/mutants/%.patch=%)
MUTANT_RUNNER := build/mutants/gpu/run_mutants
# Without line tables, which would make the program several times as large; warnings of a broken chapter do not matter.
export MUTANT_NVCC = $(if $(HAVE_NVCC),$(NVCC) $(filter-out -lineinfo,$(subst --Werror all-warnings,-w,$(NVCC_BASE))))

## make mutants-gpu-build|build build/mutants/gpu/run_mutants, which runs all mutants on a Hopper GPU
.PHONY: mutants-gpu-build
mutants-gpu-build: $(MUTANT_RUNNER)

ifneq ($(HAVE_NVCC),)
# One target for all: compiled in parallel whatever -j is.
build/mutants/gpu/mutants.inc: $(GPU_MUTANT_PATCHES) $(foreach c,$(CHAPTERS),$(c)/$(c).cu) \
                               $(wildcard common/*.h common/device/*.h) $(addprefix tests/mutants/,gpu_objects \
                               gpu_table mutants.sh apply)
	@mkdir -p $(@D)
	$(Q)tests/mutants/gpu_objects $(GPU_MUTANTS)
	$(Q)tests/mutants/gpu_table $(GPU_MUTANTS) >$@

build/mutants/gpu/run_mutants.o: tests/mutants/run_mutants.c build/mutants/gpu/mutants.inc $(CC_STAMP)
	$(call c_object,-Ibuild/mutants/gpu)

$(MUTANT_RUNNER): build/mutants/gpu/run_mutants.o $(HARNESS_OBJECTS) $(if $(HAVE_MODEL),$(MODEL_OBJECTS))
	$(call say,LINK,$@)
	$(Q)$(call link,$(filter %.o,$^) $(wildcard build/mutants/gpu/*/gpu.o))
else
$(MUTANT_RUNNER): FORCE
	@echo "the mutants cannot be built for a GPU: $(NO_NVCC)" >&2; exit 1
endif
