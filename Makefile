# Builds the chapters' programs and runs the tests. `make help` lists the targets.
#
# A chapter is a directory NN_name, at the top or in beyond/, with the source NN_name.cu. Its program is linked from up
# to two builds of that one source, one by nvcc for the GPU and one by the C compiler for the CPU model, and from what
# is in common/. What the machine has decides: without nvcc only the model is linked, and the other way round. A chapter
# of several ideas has steps, NN_name/steps/K_name.cu, each one idea beyond the last; its own source is the last step.
#
# Variables: DEBUG=1 (bounded barrier waits, see common/device/mbarrier.h), V=1 (show the commands), NVCC=path (empty:
# do without), CC, CFLAGS, LDFLAGS, ARGS="options of the program that run-07, bench or check-gpu starts", STEP=2 (of a
# chapter with steps: for NN, run-NN, diff-NN and profile-NN).

MAKEFLAGS += --no-builtin-rules
# As many jobs as there are processors, unless -j says otherwise; a make that another one has started takes that one's.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
CFLAGS ?= $(if $(DEBUG_BUILD),-Og,-O2) -g
NVCC ?= $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
NVCC_NEEDED := 12.0

DEBUG_BUILD := $(filter-out 0,$(DEBUG))
MODE := $(if $(DEBUG_BUILD),debug,release)
B := build/$(MODE)
Q := $(if $(filter-out 0,$(V)),,@)
say = $(if $(Q),@printf '  %-6s %s\n' $(1) $(2))

# Scripts of the build and of the tests are written in perl.
PERL ?= /usr/bin/perl
ifeq ($(wildcard $(PERL)),)
$(error perl was not found at $(PERL), and the build checks the sources with it (Debian and Ubuntu: apt install perl))
endif

# ---- what there is ------------------------------------------------------------------------------------------------

# Why device code cannot be built; empty if it can. CUDA 12.0 is the first with wgmma and tensor maps.
NVCC_VERSION := $(if $(NVCC),$(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\),.*/\1/p'))
ifeq ($(NVCC),)
NO_NVCC := nvcc was not found
else ifeq ($(NVCC_VERSION),)
NO_NVCC := $(NVCC) does not run
else ifneq ($(shell printf '%s\n' $(NVCC_VERSION) $(NVCC_NEEDED) | sort -V | head -n 1),$(NVCC_NEEDED))
NO_NVCC := nvcc is of CUDA $(NVCC_VERSION), CUDA $(NVCC_NEEDED) or later is needed
endif
HAVE_NVCC := $(if $(NO_NVCC),,yes)

nvcc_since = $(filter $(1),$(shell printf '%s\n' $(NVCC_VERSION) $(1) | sort -V | head -n 1))

# Chapters by their directories and by their names; what is built of a chapter has its name.
CHAPTER_DIRS := $(foreach d,$(patsubst %/,%,$(sort $(wildcard [0-9][0-9]_*/)) \
                                            $(sort $(wildcard beyond/[0-9][0-9]_*/))),\
                  $(if $(wildcard $(d)/$(notdir $(d)).cu),$(d)))
CHAPTERS := $(notdir $(CHAPTER_DIRS))
PROGRAMS := $(foreach d,$(CHAPTER_DIRS),$(d)/$(notdir $(d)))
number = $(firstword $(subst _, ,$(notdir $(1))))

# Steps by their programs, 02_smem_tiled/steps/1_shared_tiles, and by what is built of them, 02_1_shared_tiles. step_of:
# the program of step $(2) of chapter $(1), both by number; the chapter's own is the last.
STEP_PROGRAMS := $(patsubst %.cu,%,$(sort $(wildcard $(CHAPTER_DIRS:%=%/steps/[0-9]_*.cu))))
step_id = $(call number,$(patsubst %/steps/,%,$(dir $(1))))_$(notdir $(1))
STEP_IDS := $(foreach s,$(STEP_PROGRAMS),$(call step_id,$(s)))
steps_of = $(foreach s,$(STEP_PROGRAMS),$(if $(filter $(1)_%,$(call step_id,$(s))),$(s))) \
           $(foreach p,$(PROGRAMS),$(if $(filter $(1),$(call number,$(p))),$(p)))
step_of = $(strip $(if $(filter $(2),1 2 3 4 5 6 7 8 9),$(if $(word 2,$(call steps_of,$(1))),\
              $(word $(2),$(call steps_of,$(1))))))

# A chapter says itself what it needs. Its record in the source names the GPU: `.needs = NEEDS_SM90A`; without that
# line the chapter is built for sm_80. Its directory may have a build.mk, which sets, where the default is not right:
#     COMPARE_WITH    the chapter that `make diff` compares with; default: the previous one
#     TRACED_SPILLS   bytes of registers that the copy that records for --timeline may spill; default: 64
#     TRACED_SMS      SMs of the model for --timeline; default: 1
#     MODEL_SIZE      M, N and K of a run without options on the model; default: 512
NEEDS := $(shell grep -Ho 'needs = NEEDS_[A-Z0-9_]*' $(PROGRAMS:=.cu) $(STEP_PROGRAMS:=.cu) | \
                 sed 's|^\(beyond/\)*\(..\)_[^/]*/steps/|/\2_|; s|.*/\([^/]*\)\.cu:.*NEEDS_|\1:|')
needs = $(or $(patsubst $(1):%,%,$(filter $(1):%,$(NEEDS))),SM80)
# $(1): directory, $(2): chapter
define read_build_mk
COMPARE_WITH :=
TRACED_SPILLS := 64
TRACED_SMS := 1
MODEL_SIZE := 512
-include $(wildcard $(1)/build.mk)
$(2).compare_with := $$(COMPARE_WITH)
$(2).traced_spills := $$(TRACED_SPILLS)
$(2).main_flags := -DCHAPTER_ID=$(2) -DTRACED_SMS=$$(TRACED_SMS) -DMODEL_SIZE=$$(MODEL_SIZE) \
                   $(patsubst %,-DCHECK_SIZES='"../../%"',$(wildcard $(1)/checks/sizes.inc))
endef
$(foreach d,$(CHAPTER_DIRS),$(eval $(call read_build_mk,$(d),$(notdir $(d)))))
# A step is as its chapter.
$(foreach s,$(STEP_PROGRAMS),$(eval $(call read_build_mk,$(patsubst %/steps/,%,$(dir $(s))),$(call step_id,$(s)))))

# nvcc knows sm_100a, and so tcgen05, from 12.8 on, sm_103a from 12.9 on. With an older nvcc, the chapters that need
# sm_100a run on the model only.
FOR_BLACKWELL := $(foreach c,$(CHAPTERS),$(if $(filter SM100A,$(call needs,$(c))),$(c)))
TOO_NEW := $(if $(HAVE_NVCC),$(if $(call nvcc_since,12.8),,$(FOR_BLACKWELL)))

# ---- flags --------------------------------------------------------------------------------------------------------

C_WARNINGS := -Wall -Wextra -Werror
# -gdwarf-4: what common/model/place reads.
C_BASE := -std=c11 -D_GNU_SOURCE -Icommon -pthread -gdwarf-4 $(C_WARNINGS) $(if $(DEBUG_BUILD),-DGEMM_DEBUG)
C_BACKENDS := $(if $(HAVE_NVCC),,-DGEMM_NO_GPU)
# The option $(1), if the C compiler accepts it.
cc_takes = $(shell $(CC) -Werror $(1) -x c -c - -o /dev/null </dev/null >/dev/null 2>&1 && echo $(1))
# The model links its own __tsan_* functions and so sees every memory access of a chapter, but not those of a memset()
# that the compiler makes of a loop: gcc and clang have different options against it. -Wno-psabi: gcc would remark that
# a struct with tensor maps, which are 64-byte aligned, is passed by value.
NO_LOOPS_AS_CALLS := $(or $(call cc_takes,-fno-tree-loop-distribute-patterns),-fno-builtin-memset -fno-builtin-memcpy)
# A large frame must not jump over the page that ends a thread's stack.
STACK_PROBES := $(call cc_takes,-fstack-clash-protection)
# Vectors stay whole: else a store of 16 bytes becomes four of 4, and neither its alignment nor its origin can be
# judged.
WHOLE_VECTORS := $(call cc_takes,-fno-tree-sra)
C_CHAPTER := -DGEMM_MODEL -fsanitize=thread -Wno-psabi -fno-strict-aliasing $(NO_LOOPS_AS_CALLS) $(STACK_PROBES) \
             $(WHOLE_VECTORS)
NVCC_BASE := -std=c++17 -O3 -lineinfo --Werror all-warnings -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers \
             -Icommon $(if $(DEBUG_BUILD),-DGEMM_DEBUG)
LIBS := -lm -ldl -lrt -lpthread

# One for each NEEDS_ of gemm.h. wgmma and setmaxnreg exist only for sm_90a; tcgen05 exists for sm_100a and, if nvcc
# knows it, for sm_103a. The others also carry PTX, which later GPUs compile when they load it.
ARCH_SM80 := -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
             -gencode arch=compute_90,code=compute_90
ARCH_SM90 := -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90
ARCH_SM90_ANY := $(ARCH_SM90)
ARCH_SM90A := -gencode arch=compute_90a,code=sm_90a
ARCH_SM103A := -gencode arch=compute_103a,code=sm_103a
ARCH_SM100A := -gencode arch=compute_100a,code=sm_100a $(if $(call nvcc_since,12.9),$(ARCH_SM103A))
arch = $(or $(ARCH_$(call needs,$(1))),$(error $(1): .needs = NEEDS_$(call needs,$(1)) is not one of gemm.h))

# The commands, and the recipes made of them. $(1): flags of this file, or the objects of this program.
#
# Each writes under a name of its own, which has the number of its shell, and then renames: of two makes in one tree
# neither reads what the other has half written, and a program that runs stays whole.
NEW = $@.$$$$
renamed = && mv -f $(NEW) $@ || { rm -f $(NEW) $(NEW).d; exit 1; }
renamed_with_d = && mv -f $(NEW).d $(patsubst %.o,%,$@).d $(renamed)
compile_c = $(CC) $(C_BASE) $(CFLAGS) $(1) -MMD -MP -MF $(NEW).d -MT $@ -c $< -o $(NEW) $(renamed_with_d)
compile_cuda = $(NVCC) $(NVCC_BASE) -MMD -MP -MF $(NEW).d -MT $@ -o $(NEW)
link = $(LINKER) $(1) $(linker_flags) $(LIBS) -o $(NEW) $(renamed)

define c_object
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call compile_c,$(1))
endef
define cuda_object
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(compile_cuda) $(1) -c $< $(renamed_with_d)
endef
define program
	$(call say,LINK,$@)
	$(Q)$(call link,$(filter %.o,$^))
endef

# nvcc knows where its libraries are; cudart is linked statically, so that the program starts on a machine without CUDA.
# Of LDFLAGS, nvcc takes files, -L and -l itself and passes on the rest.
ifneq ($(HAVE_NVCC),)
LINKER = $(NVCC) -cudart static
linker_flags = $(foreach f,$(LDFLAGS),$(if $(filter %.o %.a -L% -l%,$(f)),,-Xcompiler) $(f))
else
LINKER = $(CC)
linker_flags = $(LDFLAGS)
endif

# A stamp is written when its text changes; what depends on it is then made again. A tree that may not be written to
# needs none. Where another make has just written the same, ln fails and its stamp stays: objects are newer already.
define stamp
$(1): FORCE
	@printf '%s\n' '$(subst ','\'',$(2))' | cmp -s - $$@ || \
	    { mkdir -p $$(@D) && printf '%s\n' '$(subst ','\'',$(2))' >$$(NEW) && \
	          { ln $$(NEW) $$@ 2>/dev/null || cmp -s $$(NEW) $$@ || mv -f $$(NEW) $$@; } && rm -f $$(NEW); }
endef
CC_STAMP := $(B)/flags.cc
BACKEND_STAMP := $(B)/flags.backend
NVCC_STAMP := $(B)/flags.nvcc
CHAPTERS_STAMP := $(B)/flags.chapters
LINK_STAMP := build/flags.link
$(eval $(call stamp,$(CC_STAMP),$(CC) $(C_BASE) $(CFLAGS) $(C_CHAPTER)))
$(eval $(call stamp,$(BACKEND_STAMP),$(C_BACKENDS)))
NVCC_ARCHS := $(ARCH_SM80) $(ARCH_SM90) $(ARCH_SM90A) $(ARCH_SM100A)
$(eval $(call stamp,$(NVCC_STAMP),$(NVCC) $(NVCC_VERSION) $(NVCC_BASE) $(NVCC_ARCHS)))
$(eval $(call stamp,$(CHAPTERS_STAMP),$(CHAPTERS) $(STEP_IDS)))
$(eval $(call stamp,$(LINK_STAMP),$(MODE) $(C_BACKENDS) $(NVCC) $(NVCC_VERSION) $(CC) $(LDFLAGS) $(PEERS)))
FORCE:

# ---- what all programs share --------------------------------------------------------------------------------------

HARNESS_C := $(filter-out common/harness/main.c common/harness/hello.c,$(wildcard common/harness/*.c))
HARNESS_CU := $(if $(HAVE_NVCC),$(wildcard common/harness/*.cu))
comma := ,
# Kinds of problem that one chapter has for itself: kind.c and kind.cu in its directory.
KIND_C := $(wildcard $(CHAPTER_DIRS:%=%/kind.c))
KIND_CU := $(if $(HAVE_NVCC),$(wildcard $(CHAPTER_DIRS:%=%/kind.cu)))
kind_object = $(B)/harness/$(2)kind_$(notdir $(patsubst %/,%,$(dir $(1)))).o
KIND_OBJECTS := $(foreach c,$(KIND_C),$(call kind_object,$(c)))
RECORDER := $(if $(HAVE_NVCC),$(B)/timeline/gpu_recorder.o)
KIND_CU_OBJECTS := $(foreach c,$(KIND_CU),$(call kind_object,$(c),gpu_))
GPU_ONLY_OBJECTS := $(HARNESS_CU:common/harness/%.cu=$(B)/harness/%.o) $(KIND_CU_OBJECTS) $(RECORDER)
HARNESS_OBJECTS := $(KIND_OBJECTS) $(HARNESS_C:common/harness/%.c=$(B)/harness/%.o) $(GPU_ONLY_OBJECTS)
TIMELINE_OBJECTS := $(patsubst common/timeline/%.c,$(B)/timeline/%.o,$(wildcard common/timeline/*.c))
MODEL_OBJECTS := $(patsubst common/model/%.c,$(B)/model_core/%.o,$(wildcard common/model/*.c common/model/*/*.c))
COMMON := $(HARNESS_OBJECTS) $(TIMELINE_OBJECTS) $(MODEL_OBJECTS)
chapter_objects = $(if $(HAVE_NVCC),$(1:%=$(B)/gpu/%.o)) $(1:%=$(B)/model/%.o)

$(HARNESS_C:common/harness/%.c=$(B)/harness/%.o): $(B)/harness/%.o: common/harness/%.c $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,$(C_BACKENDS))

$(B)/timeline/recording.o: $(wildcard common/timeline/*.pl)
$(TIMELINE_OBJECTS): $(B)/timeline/%.o: common/timeline/%.c $(CC_STAMP)
	$(call c_object)

$(HARNESS_CU:common/harness/%.cu=$(B)/harness/%.o): $(B)/harness/%.o: common/harness/%.cu $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM80))

$(B)/timeline/gpu_recorder.o: common/timeline/gpu_recorder.cu $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM80))

# $(1): source, $(2): object
define kind_rule
$(2): $(1) $(CC_STAMP) $(if $(filter %.cu,$(1)),$(NVCC_STAMP))
	$(if $(filter %.cu,$(1)),$$(call cuda_object,$$(ARCH_SM80)),$$(call c_object))
endef
$(foreach c,$(KIND_C),$(eval $(call kind_rule,$(c),$(call kind_object,$(c)))))
$(foreach c,$(KIND_CU),$(eval $(call kind_rule,$(c),$(call kind_object,$(c),gpu_))))

$(MODEL_OBJECTS): $(B)/model_core/%.o: common/model/%.c $(CC_STAMP)
	$(call c_object,-DGEMM_MODEL)

# For programs that link all chapters: one line EACH_CHAPTER(07_warp_specialized) for each; and for those that link all
# steps.
CHAPTERS_INC := $(B)/include/chapters.inc
STEPS_INC := $(B)/include/steps.inc
$(CHAPTERS_INC): $(CHAPTERS_STAMP)
	@mkdir -p $(@D)
	@printf 'EACH_CHAPTER(%s)\n' $(CHAPTERS) >$(NEW) && mv -f $(NEW) $@
$(STEPS_INC): $(CHAPTERS_STAMP)
	@mkdir -p $(@D)
	@printf 'EACH_STEP(%s)\n' $(STEP_IDS) >$(NEW) && mv -f $(NEW) $@

# ---- the chapters -------------------------------------------------------------------------------------------------

# The resource report of ptxas stays next to the object, and so does the PTX, which tests/tools/instructions.t reads. A
# build with DEBUG=1 may spill: its waits print.
define compile_chapter
	$(call say,NVCC,$@)
	$(Q)rm -f $@ && mkdir -p $(@D) && new=$(NEW) && mkdir $$new.ptx && \
	    { $(NVCC) $(NVCC_BASE) -MMD -MP -MF $$new.d -MT $@ $(1) $(call arch,$(basename $(@F))) -Xptxas=-v \
	          -keep -keep-dir $$new.ptx -c $< -o $$new >$$new.ptxas 2>&1 || { cat $$new.ptxas >&2; false; }; } && \
	    $(if $(DEBUG_BUILD),,tests/tools/ptxas_check $(2) $$new.ptxas &&) \
	    find $$new.ptx -type f ! -name '*.ptx' -delete && \
	    rm -rf $(@:.o=.ptx) && mv -fT $$new.ptx $(@:.o=.ptx) && mv -f $$new.d $(@:.o=.d) && \
	    mv -f $$new.ptxas $(@:.o=.ptxas) && mv -f $$new $@ || { rm -rf $$new $$new.*; exit 1; }
endef

# In place of what this nvcc cannot compile: it needs what no GPU has. $(1): the declarations, $(2): options.
define gpu_stub
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)printf '#include "gemm.h"\n$(1)\n' | $(CC) $(C_BASE) $(2) -x c -c - -o $(NEW) $(renamed)
endef
CHAPTER_STUB = CHAPTER($(basename $(@F)), .adds = "", .needs = NEEDS_NEWER_NVCC);
TRACED_STUB := -D'CHAPTER_SYMBOL(id)=gpu_traced_chapter_\#\#id'
HELLO_STUB := const GpuNeed hello_needs = NEEDS_NEWER_NVCC; \
              int hello_gpu(void); int hello_gpu(void) { return GEMM_DEVICE; }

# $(1): chapter or step, $(2): its number, $(3): its program
define program_rules
$(B)/gpu/$(1).o: $(3).cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(if $(filter $(1),$(TOO_NEW)),$$(call gpu_stub,$$(CHAPTER_STUB)),$$(compile_chapter))

# The copy that records what it does, for --timeline and --trace.
$(B)/traced/$(1).o: $(3).cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(if $(filter $(1),$(TOO_NEW)),$$(call gpu_stub,$$(CHAPTER_STUB),$$(TRACED_STUB)),\
	    $$(call compile_chapter,-include common/timeline/record.h -UGEMM_DEBUG,most_bytes=$($(1).traced_spills)))

$(B)/model/$(1).o: $(3).cu tests/tools/launch_check $(CC_STAMP)
	$(Q)tests/tools/launch_check $$<
	$$(call c_object,-x c $(C_CHAPTER))

$(B)/harness/main_$(1).o $(B)/patches/main_$(1).o: $(wildcard $(dir $(3))build.mk $(dir $(3))checks/sizes.inc)
$(B)/harness/main_$(1).o: common/harness/main.c $(CC_STAMP) $(BACKEND_STAMP)
	$$(call c_object,$(C_BACKENDS) $($(1).main_flags))

$(3): $(B)/harness/main_$(1).o $(call chapter_objects,$(1)) $(if $(HAVE_NVCC),$(B)/traced/$(1).o) \
        $(COMMON) $(LINK_STAMP)
	$$(program)
endef
# $(1): number, $(2): the chapter's program, $(3): what STEP chooses of it, $(4): the program of the chapter before
define chapter_rules
.PHONY: $(1) run-$(1) diff-$(1)
$(1): $(3) $(if $(STEP),,$(call hellos,$(2)))
run-$(1): $(3)
	$(3) $$(ARGS)
diff-$(1):
	@tests/tools/diff $(2).cu '$(4:%=%.cu)' '$$(STEP)'
no-step-of-$(1): FORCE
	@tests/tools/diff --refuse $(2).cu '$$(STEP)'
endef
# A hello program (common/harness/hello.h). $(1): its name, $(2): its program, $(3): its chapter.
hellos = $(patsubst %.cu,%,$(sort $(wildcard $(dir $(1))hello_*.cu)))
HELLOS := $(foreach p,$(PROGRAMS),$(call hellos,$(p)))
define hello_rules
$(B)/gpu/$(3).$(1).o: $(2).cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(if $(filter $(3),$(TOO_NEW)),$$(call gpu_stub,$$(HELLO_STUB)),$$(call cuda_object,$$(call arch,$(3))))

$(B)/model/$(3).$(1).o: $(2).cu $(CC_STAMP)
	$$(call c_object,-x c $(C_CHAPTER))

$(2): $(B)/harness/hello_main.o $(call chapter_objects,$(3).$(1)) $(COMMON) $(LINK_STAMP)
	$$(program)
endef
$(foreach p,$(PROGRAMS),$(foreach h,$(call hellos,$(p)),$(eval $(call hello_rules,$(notdir $(h)),$(h),$(notdir $(p))))))

$(B)/harness/hello_main.o: common/harness/hello.c $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,$(C_BACKENDS))

# The step of a chapter that STEP chooses, or the chapter itself; without such a step a target that says so and fails.
chosen = $(if $(STEP),$(or $(call step_of,$(call number,$(1)),$(STEP)),no-step-of-$(call number,$(1))),$(1))
previous :=
# What diff-NN compares with.
compared = $(or $(if $($(notdir $(1)).compare_with),$(filter %/$($(notdir $(1)).compare_with),$(PROGRAMS))),$(previous))
$(foreach p,$(PROGRAMS),$(eval $(call program_rules,$(notdir $(p)),$(call number,$(p)),$(p)))\
    $(eval $(call chapter_rules,$(call number,$(p)),$(p),$(call chosen,$(p)),$(call compared,$(p))))\
    $(eval previous := $(p)))
$(foreach s,$(STEP_PROGRAMS),\
    $(eval $(call program_rules,$(call step_id,$(s)),$(call number,$(call step_id,$(s))),$(s))))

##learn make, make all|build the programs of all chapters
##learn make 07|build 07_warp_specialized/07_warp_specialized; likewise the others
##learn make run-07|build it and run it; ARGS="--m 1000" passes options
##learn make diff-07|show what chapter 07 changes in the source of chapter 06
##learn make diff-08|show the steps of chapter 08 in turn: reason, figure, changes; STEP=2: only that step
##learn make run-08 STEP=2|build and run a step of a chapter that has steps (02, 04, 08)
.PHONY: all
all: $(PROGRAMS) $(HELLOS)

# ---- tests --------------------------------------------------------------------------------------------------------

# Test programs print TAP. A test that cannot be built here is made all the same, as a script that says why it skips.
UNIT_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
GPU_TESTS := $(B)/tests/gpu/chapters
TEST_SCRIPTS := $(filter-out %/aarch64.t,$(wildcard tests/*/*.t)) # which make check-aarch64 runs
C_TEST := $(C_BACKENDS) -I$(B)/include -Itests/unit

define skipping_test
	$(call say,SKIP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)printf '#!/bin/sh\necho "1..0 # SKIP %s"\n' '$(1)' >$(NEW) && chmod +x $(NEW) && mv -f $(NEW) $@
endef

$(B)/tests/%.o: tests/%.c $(CHAPTERS_INC) $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,$(C_TEST))

$(B)/tests/%.o: tests/%.cu $(CHAPTERS_INC) $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM80) -I$(B)/include)

$(UNIT_TESTS): %: %.o $(COMMON) $(LINK_STAMP)
	$(program)

# It links every chapter.
ifneq ($(HAVE_NVCC),)
$(GPU_TESTS): $(GPU_TESTS).o $(call chapter_objects,$(CHAPTERS)) $(COMMON) $(LINK_STAMP)
	$(program)
else
$(GPU_TESTS): $(LINK_STAMP)
	$(call skipping_test,$(NO_NVCC))
endif

# A directory of tests may have rules of its own; it adds its programs, or scripts that say why they skip, to
# MORE_TESTS.
include $(wildcard tests/*/*.mk book/*/*.mk) $(filter-out %/build.mk,$(wildcard beyond/*/*.mk))
MORE_TESTS += $(CONFORM_TEST)

TEST_ENVIRONMENT = B='$(B)' CC='$(CC)' CFLAGS='$(CFLAGS)' LDFLAGS='$(LDFLAGS)' C_SUBSET='$(C_BASE)' \
                   NVCC='$(if $(HAVE_NVCC),$(NVCC))' NO_NVCC='$(NO_NVCC)' CHAPTER_DIRS='$(CHAPTER_DIRS)' \
                   CHAPTERS='$(CHAPTERS)' TOO_NEW='$(TOO_NEW)'

##learn make quick|a minute once built: is each chapter correct on the model, are some bugs reported, do links work?
##learn make test-07|test chapter 07 on the model at odd sizes, and every bug of it; or make test in its directory
##learn make test|build everything and test each kind of thing; say what was skipped and why
##maintain make test-long|every bug, exercise, lab, schedule, variant, size and text, of which make test takes a sample
##maintain make check-without-nvcc|run the tests whose result depends on nvcc; with NVCC=
##maintain make check-model|run only the tests of the CPU model, on every chapter
##measure make check-gpu|run only the GPU tests, of chapters and library; ARGS="07 08": of these chapters
##measure make sanitize|run every chapter under compute-sanitizer at small sizes; ARGS="07 08": these chapters; needs a GPU
.PHONY: quick test test-long check-without-nvcc check-model check-gpu sanitize
QUICK := tests/quick.t tests/book/texts.t
quick: $(call patch_needs,$(CHAPTERS))
	@$(TEST_ENVIRONMENT) tests/run $(QUICK)
# $(1): number, $(2): chapter
define test_of_chapter
.PHONY: test-$(1)
test-$(1): $(call patch_needs,$(2))
	@echo "the tests of $(2) on the model; make test at the top runs those of everything"
	@$$(TEST_ENVIRONMENT) CHAPTER=$(1) tests/run tests/quick.t
endef
$(foreach c,$(CHAPTERS),$(eval $(call test_of_chapter,$(call number,$(c)),$(c))))
test-long: export TIER := long
test-long: test
test: $(PROGRAMS) $(HELLOS) $(UNIT_TESTS) $(GPU_TESTS) $(TEST_SCRIPTS) $(MORE_TESTS) $(if $(HAVE_NVCC),$(BENCH))
	@$(TEST_ENVIRONMENT) tests/run $(UNIT_TESTS) $(TEST_SCRIPTS) $(MORE_TESTS) $(GPU_TESTS)
# What is otherwise where there is no nvcc: for .ci/run, which has one.
check-without-nvcc: $(PROGRAMS) $(HELLOS) $(UNIT_TESTS)
	@$(TEST_ENVIRONMENT) tests/run $(UNIT_TESTS) $(addprefix tests/tools/,build.t program.t hello.t wrappers.t) \
	    tests/library/library.t
CHECK_MODEL := $(UNIT_TESTS) $(MODEL_TESTS) $(CONFORM_TEST)
check-model: $(CHECK_MODEL)
	@$(TEST_ENVIRONMENT) tests/run $(CHECK_MODEL)
check-gpu: $(GPU_TESTS) $(if $(ARGS),,$(LIBRARY_GPU_TESTS))
	$(GPU_TESTS) $(ARGS)
	$(if $(ARGS),,$(LIBRARY_GPU_TEST) && $(TEST_ENVIRONMENT) tests/library/on_gpu.t)
sanitize: $(PROGRAMS)
	@$(TEST_ENVIRONMENT) tests/gpu/sanitize $(ARGS)
COMMIT = COMMIT="$$(git describe --always --dirty 2>/dev/null || echo unknown)"

##measure make profile-07|show the counters that explain a chapter's speed, with ncu; ARGS="--m 4096 ..."; needs a GPU
PROFILE_METRICS := gpc__cycles_elapsed.max,gpc__cycles_elapsed.avg.per_second,gpu__time_duration.sum,\
sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed,\
smsp__issue_active.avg.pct_of_peak_sustained_active,\
dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum,lts__t_sector_hit_rate.pct,\
l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed,l1tex__data_bank_writes.avg.pct_of_peak_sustained_elapsed,\
l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio,\
smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,\
smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio,\
smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio,\
smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio,\
smsp__average_warps_issue_stalled_wait_per_issue_active.ratio
# $(1): number, $(2): program
define profile
.PHONY: profile-$(1)
profile-$(1): $(call chosen,$(2))
	@command -v ncu >/dev/null || { echo "make profile-$(1) needs ncu (Nsight Compute), which was not found" >&2; exit 1; }
	ncu --clock-control none -k 'regex:^(gemm|pingpong|cooperative)' -s 1 -c 1 \
	    --metrics $(subst $(eval) ,,$(PROFILE_METRICS)) $$< --on gpu --data normal --no-bench --repeat 2 $$(ARGS)
endef
$(foreach p,$(PROGRAMS),$(eval $(call profile,$(call number,$(p)),$(p))))

# ---- the rest -----------------------------------------------------------------------------------------------------

##maintain make lines|count the lines of each kind, and name the longest files
##maintain make format|format all C and CUDA sources with .clang-format; needs clang-format 14
##maintain make print-nvcc|print the path of nvcc; nothing if there is none
##maintain make clean|remove everything that was built
##maintain make help|this list
lines:
	@tests/tools/lines
.PHONY: lines format print-nvcc clean help
format:
	@tests/tools/format.t --write
print-nvcc:
	@$(if $(HAVE_NVCC),echo '$(NVCC)',:)
clean:
	rm -rf build $(PROGRAMS) $(STEP_PROGRAMS) $(HELLOS) $(MORE_PROGRAMS)
# What a chapter offers a learner comes before the room, the site and the library.
HELP_FIRST := Makefile %/patches.mk %/grade.mk %/patterns.mk %/steps.mk
help:
	@for part in learn measure maintain; do \
	    printf '%s\n' "$$part:"; \
	    sed -n "s/^##$$part //p" $(filter $(HELP_FIRST),$(MAKEFILE_LIST)) \
	        $(filter-out $(HELP_FIRST),$(filter %.mk,$(MAKEFILE_LIST))) | \
	        while IFS='|' read -r target text; do printf '  %-26s %s\n' "$$target" "$$text"; done; \
	done
	@echo "DEBUG=1 builds with bounded barrier waits, V=1 shows the commands, NVCC= (empty) does without nvcc."

# What was asked for and is not there: misspelt, or of a chapter that there is not.
OF_A_CHAPTER := run diff profile break map exercise solve lab check timeline one test
.DEFAULT:
	@echo "make $@: there is no such target. A chapter is one of" \
	    "$(strip $(foreach c,$(CHAPTERS),$(call number,$(c)))), as in make 07, or behind" \
	    "one of $(OF_A_CHAPTER), as in make run-07; make help lists the rest" >&2; exit 2

-include $(wildcard $(B)/*/*.d $(B)/model_core/*/*.d $(B)/tests/*/*.d $(B)/book/*/*.d)
