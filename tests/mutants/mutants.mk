# mutants.mk - chapters broken on purpose; included by the Makefile at the top. See README.md here.

MUTANT_TEST := tests/mutants/mutants.t

# What mutants.sh needs. Warnings about a broken chapter do not matter; reports take their lines from -g.
export MUTANT_CC = $(CC) $(C_BASE) $(CFLAGS) $(C_CHAPTER) -g -w
export MUTANT_LINK = $(CC) $(LDFLAGS)
export MUTANT_LIBS = $(LIBS)
export MUTANT_OBJECTS = $(HARNESS_C:common/harness/%.c=$(B)/harness/%.o) $(MODEL_OBJECTS)
export MUTANT_MAINS = $(B)/tests/mutants
export MUTANT_CHAPTERS = $(if $(HAVE_MODEL),$(B)/model)
export MUTANT_GPU_LINK = $(LINKER) $(linker_flags)
export MUTANT_GPU_OBJECTS = $(COMMON)
export MUTANT_GPU_MAINS = $(B)/harness
export MUTANT_NO_NVCC = $(NO_NVCC)

ifneq ($(HAVE_MODEL),)
# The programs' main() without a GPU, so that gcc alone builds a mutant.
MUTANT_NEEDS := $(CHAPTERS:%=$(B)/tests/mutants/main_%.o) $(MUTANT_OBJECTS)
$(CHAPTERS:%=$(B)/tests/mutants/main_%.o): $(B)/tests/mutants/main_%.o: common/harness/main.c $(CC_STAMP)
	$(call c_object,-DGEMM_NO_GPU -DCHAPTER_ID=$*)
$(CHAPTERS:%=$(B)/tests/mutants/map_%.o): $(B)/tests/mutants/map_%.o: tests/mutants/map.c $(CC_STAMP)
	$(call c_object,-DGEMM_NO_GPU -DCHAPTER_ID=$*)
$(MUTANT_TEST): $(MUTANT_NEEDS) $(B)/tests/mutants/map_06_wgmma_ss.o $(CHAPTERS:%=$(B)/model/%.o)
endif
MORE_TESTS += $(MUTANT_TEST)

## make break-07|list the bugs that can be put into chapter 07; likewise the others
## make break-07 BUG=name|show one, build the broken copy and run it on the model; ON=gpu: on the GPU, under a watchdog
## make map-07 BUG=name|draw where the result with that bug is wrong, on the model; without BUG: the chapter as it is
# $(1): chapter, $(2): its number
define break_rules
.PHONY: break-$(2)
break-$(2): $(if $(BUG),$(MUTANT_NEEDS) $(if $(HAVE_NVCC),$(if $(filter gpu,$(ON)),$(COMMON) $(B)/harness/main_$(1).o)))
	@tests/mutants/break $(2) '$$(BUG)' '$$(ON)'
.PHONY: map-$(2)
map-$(2): $(MUTANT_NEEDS) $(if $(HAVE_MODEL),$(B)/tests/mutants/map_$(1).o $(B)/model/$(1).o)
	@tests/mutants/map $(2) '$$(BUG)' '$$(ARGS)'
endef
$(foreach c,$(CHAPTERS),$(eval $(call break_rules,$(c),$(call number,$(c)))))

## make mutants-table|write the tables of all mutants into tests/mutants/README.md and book/troubleshooting.md
.PHONY: mutants-table
mutants-table:
	tests/mutants/table --write
	tests/mutants/symptoms --write
