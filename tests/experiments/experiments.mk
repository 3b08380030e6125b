# experiments.mk - the claims of the book, measured; included by the Makefile at the top. See book/experiments.md.

EXPERIMENT_TEST := tests/experiments/experiments.t
EXPERIMENT_RUNNER := build/experiments/experiments
MORE_TESTS += $(EXPERIMENT_TEST)

## make experiments|time the variants of tests/experiments/plan beside each other; ARGS="--only stages"; needs a Hopper GPU
## make experiment-counters|count traffic and bank conflicts of some of them by ncu, into the same CSV; needs a Hopper GPU
## make experiments-page|bring the tables in book/experiments.md up to date with tests/experiments/results
.PHONY: experiments experiments-build experiment-counters experiments-page
experiments-page:
	@tests/experiments/page

ifneq ($(HAVE_NVCC),)
# A patch that cannot be built is left out.
EXPERIMENT_STAMP := build/experiments/patches
$(eval $(call stamp,$(EXPERIMENT_STAMP),$(wildcard $(CHAPTER_DIRS:%=%/exercises/*.patch) $(CHAPTER_DIRS:%=%/experiments/*.patch))))
build/experiments/experiments.inc: $(wildcard $(CHAPTER_DIRS:%=%/exercises/*.patch) $(CHAPTER_DIRS:%=%/experiments/*.patch)) \
    $(wildcard $(CHAPTER_DIRS:%=%/*.cu) $(CHAPTER_DIRS:%=%/*.h) common/*.h common/device/*.h) tests/tools/patches $(NVCC_STAMP) \
    $(EXPERIMENT_STAMP) tests/experiments/plan tests/experiments/rows
	$(Q)tests/experiments/rows --build >$@

build/experiments/experiments.o: tests/experiments/experiments.c build/experiments/experiments.inc $(CC_STAMP)
	$(call c_object,-Ibuild/experiments)

build/experiments/wgmma_alone.o: tests/experiments/wgmma_alone.cu $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM90A))

EXPERIMENT_CHAPTERS := $(foreach n,08 07 06 05 04 03 02 01,$(patsubst %,$(B)/gpu/%.o,$(filter $(n)_%,$(CHAPTERS))))
$(EXPERIMENT_RUNNER): $(EXPERIMENT_CHAPTERS) build/experiments/experiments.o build/experiments/wgmma_alone.o \
                      $(HARNESS_OBJECTS) $(TIMELINE_OBJECTS) $(if $(HAVE_MODEL),$(MODEL_OBJECTS)) $(LINK_STAMP)
	$(call say,LINK,$@)
	$(Q)$(call link,$(filter %.o,$^) build/experiments/*/gpu_experiment_*.o build/exercises/*/gpu_exercise_*.o)

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
