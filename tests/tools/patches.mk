# patches.mk - bugs, exercises, experiments and labs, the patches of the chapters; included by the Makefile at the top.

PATCHES := tests/tools/patches

# What that tool needs to build a patched chapter. Warnings about it matter in a lab alone; reports take their lines
# from -g. Without line tables, which would make the program of all bugs several times as large.
export PATCH_B = $(B)
export PATCH_NO_NVCC = $(NO_NVCC)
export PATCH_CC = $(CC) $(C_BASE) $(CFLAGS) $(C_CHAPTER) -g -w
export PATCH_LINK = $(CC) $(LDFLAGS)
export PATCH_LIBS = $(LIBS)
export PATCH_OBJECTS = $(filter-out $(GPU_ONLY_OBJECTS),$(COMMON))
export PATCH_NVCC = $(if $(HAVE_NVCC),$(NVCC) $(filter-out -lineinfo,$(subst --Werror all-warnings,-w,$(NVCC_BASE))))
export PATCH_GPU_LINK = $(LINKER) $(linker_flags)
export PATCH_GPU_OBJECTS = $(COMMON)

# Of each chapter: the program's main() without a GPU, so that the C compiler alone builds a patched chapter; the
# chapter as it is, linked with that; and a main() that draws where the result is wrong.
patch_needs = $(1:%=$(B)/patches/main_%.o) $(1:%=$(B)/patches/%) $(1:%=$(B)/patches/map_%.o)
patch_needs_for_gpu = $(if $(HAVE_NVCC),$(COMMON) $(1:%=$(B)/harness/main_%.o))
$(CHAPTERS:%=$(B)/patches/main_%.o) $(STEP_IDS:%=$(B)/patches/main_%.o): \
        $(B)/patches/main_%.o: $(if $(HAVE_NVCC),common/harness/main.c $(CC_STAMP),$(B)/harness/main_%.o)
ifneq ($(HAVE_NVCC),)
	$(call c_object,-DGEMM_NO_GPU $($*.main_flags))
else # it is the program's own
	$(Q)mkdir -p $(@D) && cp $< $(NEW) $(renamed)
endif
$(CHAPTERS:%=$(B)/patches/map_%.o): $(B)/patches/map_%.o: tests/tools/map.c $(CC_STAMP)
	$(call c_object,-DGEMM_NO_GPU -DCHAPTER_ID=$*)
$(CHAPTERS:%=$(B)/patches/%): $(B)/patches/%: $(B)/patches/main_%.o $(B)/model/%.o $(PATCH_OBJECTS) $(LINK_STAMP)
	$(call say,LINK,$@)
	$(Q)$(PATCH_LINK) $(filter %.o,$^) $(LIBS) -o $(NEW) $(renamed)
test: $(call patch_needs,$(CHAPTERS)) $(STEP_IDS:%=$(B)/patches/main_%.o)

##learn make break-07 BUG=name|put that bug into chapter 07, build the copy and run it on the model; ON=gpu: on the GPU; without BUG: list the bugs
##learn make map-07 BUG=name|draw where the result with that bug is wrong, on the model; without BUG: the chapter as it is
##learn make exercise-07|list the exercises of chapter 07, with a hint for each
##learn make solve-07 EX=name|show the solution of an exercise, build it and run it on the model; ON=gpu: on the GPU
##learn make lab-07|write my/07_warp_specialized.cu, the chapter with gaps; EX=name: for that exercise; RULE=name: to provoke that report; BUG=name: to fix that bug
# $(1): chapter, $(2): its number
define patch_rules
.PHONY: break-$(2) map-$(2) exercise-$(2) solve-$(2) lab-$(2)
break-$(2): $(if $(BUG),$(call patch_needs,$(1)) $(if $(filter gpu,$(ON)),$(call patch_needs_for_gpu,$(1))))
	@$(PATCHES) break $(2) '$$(BUG)' '$$(ON)'
map-$(2): $(call patch_needs,$(1))
	@$(PATCHES) map $(2) '$$(BUG)' $$(ARGS)
exercise-$(2):
	@$(PATCHES) solve $(2)
solve-$(2): $(if $(EX),$(call patch_needs,$(1)) $(if $(filter gpu,$(ON)),$(call patch_needs_for_gpu,$(1))))
	@$(PATCHES) solve $(2) '$$(EX)' '$$(ON)' $$(ARGS)
lab-$(2):
	@$(PATCHES) lab $(2) '$$(RULE)' '$$(BUG)' '$$(EX)'
endef
$(foreach c,$(CHAPTERS),$(eval $(call patch_rules,$(c),$(call number,$(c)))))

##maintain make patches ARGS=help|run the tool for patches of every kind, with the compilers that it needs
##maintain make bugs-gpu|build build/release/tests/gpu/bugs, which runs all bugs on a Hopper GPU; ARGS=stale: only those whose source has changed
.PHONY: patches bugs-gpu
patches: $(if $(filter break solve map build judge,$(ARGS)),$(call patch_needs,$(CHAPTERS)))
	@$(PATCHES) $(ARGS)

##maintain make orders ARGS=table|show what reports each ordering call of the chapters when it is removed or weakened; ARGS=write: find out again
.PHONY: orders
orders: $(if $(filter write,$(ARGS)),$(call patch_needs,$(CHAPTERS)) $(STEP_IDS:%=$(B)/patches/main_%.o))
	@tests/tools/orders $(ARGS)

BUGS_ON_GPU := $(B)/tests/gpu/bugs
bugs-gpu: $(BUGS_ON_GPU)
ifneq ($(HAVE_NVCC),)
$(B)/include/bugs.inc: FORCE
	@mkdir -p $(@D)
	$(Q)$(PATCHES) object $(or $(ARGS),bugs) >/dev/null
	$(Q)$(PATCHES) gpu-table $(ARGS) >$(NEW) $(renamed)
$(BUGS_ON_GPU).o: $(B)/include/bugs.inc
$(BUGS_ON_GPU): $(BUGS_ON_GPU).o $(COMMON) $(LINK_STAMP)
	$(call say,LINK,$@)
	$(Q)$(call link,$(filter %.o,$^) build/bugs/*/gpu_bug_*.o)
else
$(BUGS_ON_GPU): FORCE
	@echo "the bugs cannot be built for a GPU: $(NO_NVCC)" >&2; exit 1
endif

##maintain make texts|update what the texts say about patches, and the output that they show below commands
.PHONY: texts
texts: $(PROGRAMS) $(call patch_needs,$(CHAPTERS))
	@$(PATCHES) tables --write
	@tests/book/texts --write
	@tests/book/check_languages --write || true
