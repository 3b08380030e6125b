# experiments.mk - the claims of the book, measured; included by the Makefile at the top. See book/experiments.md.

EXPERIMENT_TEST := tests/experiments/experiments.t
EXPERIMENT_RUNNER := build/experiments/experiments
# The last chapters first: they take nvcc longest.
EXPERIMENT_PATCHES := $(shell ls -r tests/experiments/[0-9][0-9]_*.patch; \
                              grep -ls '^\# speed: *yes' tests/exercises/[0-9][0-9]_*.patch | sort -r)
experiment_key = $(if $(findstring exercises/,$(1)),exercise,experiment)_$(basename $(notdir $(1)))
EXPERIMENT_BUILT := $(foreach p,$(EXPERIMENT_PATCHES),build/experiments/$(call experiment_key,$(p)).built)

ifneq ($(HAVE_MODEL),)
# As MUTANT_NEEDS, which is defined in a file that comes later.
$(EXPERIMENT_TEST): $(CHAPTERS:%=$(B)/tests/mutants/main_%.o) $(HARNESS_C:common/harness/%.c=$(B)/harness/%.o) $(MODEL_OBJECTS)
endif
MORE_TESTS += $(EXPERIMENT_TEST)

## make experiments|time the variants of tests/experiments/plan beside each other; ARGS="--only stages"; needs a Hopper GPU
## make experiment-counters|count traffic and bank conflicts of some of them by ncu, into the same CSV; needs a Hopper GPU
## make experiments-page|bring the tables in book/experiments.md up to date with tests/experiments/results
.PHONY: experiments experiments-build experiment-counters experiments-page
experiments-page:
	@tests/experiments/page

ifneq ($(HAVE_NVCC),)
# $(1): patch. The stamp says that its build was tried: one that fails is left out, see build_gpu.
define experiment_rule
build/experiments/$(call experiment_key,$(1)).built: $(1) $(filter %.cu,$(foreach c,$(CHAPTERS),\
    $(if $(filter $(call number,$(c)),$(call number,$(notdir $(1)))),$(c)/$(c).cu))) $(wildcard common/*.h common/device/*.h) \
    tests/experiments/build_gpu tests/experiments/experiments.sh $(NVCC_STAMP)
	@mkdir -p $$(@D)
	$(call say,NVCC,$(1))
	$(Q)tests/experiments/build_gpu $(call experiment_key,$(1)) $(1)
	@touch $$@
endef
$(foreach p,$(EXPERIMENT_PATCHES),$(eval $(call experiment_rule,$(p))))

EXPERIMENT_STAMP := build/experiments/patches
$(eval $(call stamp,$(EXPERIMENT_STAMP),$(EXPERIMENT_PATCHES)))
build/experiments/experiments.inc: $(EXPERIMENT_BUILT) $(EXPERIMENT_STAMP) tests/experiments/plan tests/experiments/rows
	@mkdir -p $(@D)
	$(Q)tests/experiments/rows >$@

build/experiments/experiments.o: tests/experiments/experiments.c build/experiments/experiments.inc $(CC_STAMP)
	$(call c_object,-Ibuild/experiments)

build/experiments/wgmma_alone.o: tests/experiments/wgmma_alone.cu $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM90A))

EXPERIMENT_CHAPTERS := $(foreach n,08 07 06 05 04 03 02 01,$(patsubst %,$(B)/gpu/%.o,$(filter $(n)_%,$(CHAPTERS))))
$(EXPERIMENT_RUNNER): $(EXPERIMENT_CHAPTERS) build/experiments/experiments.o build/experiments/wgmma_alone.o \
                      $(HARNESS_OBJECTS) $(if $(HAVE_MODEL),$(MODEL_OBJECTS)) $(LINK_STAMP)
	$(call say,LINK,$@)
	@# The objects that could be built; make itself would not see those it has just made.
	$(Q)$(call link,$(filter %.o,$^) $$(find $(EXPERIMENT_BUILT:.built=/) -name gpu.o))

# Sixty objects: built in parallel whatever -j is.
experiments-build:
	@+$(MAKE) --no-print-directory -j $$(nproc) $(EXPERIMENT_RUNNER)
experiments: experiments-build
	$(COMMIT) $(EXPERIMENT_RUNNER) $(ARGS)
experiment-counters: experiments-build
	@$(COMMIT) tests/experiments/counters
else
experiments experiments-build experiment-counters: FORCE
	@echo "the experiments cannot be built: $(NO_NVCC)" >&2; exit 1
endif
