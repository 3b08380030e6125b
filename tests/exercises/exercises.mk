# exercises.mk - the exercises of the chapters and their solutions; included by the Makefile at the top. See README.md
# here. How patched copies are built is in tests/mutants, with its rules and its environment (MUTANT_CC and the like).

EXERCISE_TEST := tests/exercises/exercises.t
ifneq ($(HAVE_MODEL),)
EXERCISE_NEEDS := $(CHAPTERS:%=$(B)/tests/mutants/main_%.o) $(CHAPTERS:%=$(B)/model/%.o) \
                  $(HARNESS_C:common/harness/%.c=$(B)/harness/%.o) $(TIMELINE_OBJECTS) $(MODEL_OBJECTS)
$(EXERCISE_TEST): $(EXERCISE_NEEDS)
endif
MORE_TESTS += $(EXERCISE_TEST)

## make exercise-07|the exercises of chapter 07, with a hint for each; likewise 01 to 08
## make solve-07 EX=name|show the solution of one, build it and run it on the model; ON=gpu: on the GPU
# $(1): chapter, $(2): its number
define exercise_rules
.PHONY: exercise-$(2) solve-$(2)
exercise-$(2):
	@tests/exercises/solve $(2)
solve-$(2): $(if $(EX),$(EXERCISE_NEEDS) $(if $(HAVE_NVCC),$(if $(filter gpu,$(ON)),$(COMMON) $(B)/harness/main_$(1).o)))
	@tests/exercises/solve $(2) '$$(EX)' '$$(ON)' $$(ARGS)
endef
$(foreach c,$(CHAPTERS),$(eval $(call exercise_rules,$(c),$(call number,$(c)))))

## make exercises-text|write the sections "Exercises" of the chapters' READMEs from the patches in tests/exercises
## make exercises-gpu|compile all solutions for the GPU and check ptxas's reports of them
.PHONY: exercises-text exercises-gpu
exercises-text:
	tests/exercises/section --write
exercises-gpu:
	@tests/exercises/compile_for_gpu
