# A chapter, or a step of it, as one file that nvcc alone compiles, written by tests/one/one: all of the ladder, and
# what brings a main() of its own beyond it.
ONE_CHAPTERS := $(foreach d,$(CHAPTER_DIRS),$(if $(filter beyond/%,$(d)),$(if $(wildcard $(d)/main.cu.inc),$(d)),$(d)))
# Of a directory: its steps, of which its chapter is the last. A step's file is called after the chapter's number.
one_sources = $(sort $(wildcard $(1)/steps/*.cu)) $(1)/$(notdir $(1)).cu
one_step = $(if $(filter $(STEP),1 2 3 4 5 6 7 8 9),$(if $(word 2,$(one_sources)),$(word $(STEP),$(one_sources))))
one_chosen = $(if $(STEP),$(one_step),$(1)/$(notdir $(1)).cu)
one_number = $(firstword $(subst _, ,$(notdir $(patsubst %/steps/,%,$(dir $(1))))))
one_name = $(if $(findstring /steps/,$(1)),$(one_number)_)$(notdir $(basename $(1)))
ONE_FILES := $(foreach d,$(ONE_CHAPTERS),$(foreach s,$(call one_sources,$(d)),build/one/$(call one_name,$(s)).cu))

# $(1): source
define one_file_rules
build/one/$(call one_name,$(1)).cu: $(1) $(wildcard tests/one/* common/*.h common/device/*.h $(dir $(1))main.cu.inc)
	$(call say,ONE,$$@)
	$(Q)mkdir -p $$(@D)
	$(Q)tests/one/one $(1) $(call one_name,$(1)) >$$@.new && mv $$@.new $$@
endef
$(foreach d,$(ONE_CHAPTERS),$(foreach s,$(call one_sources,$(d)),$(eval $(call one_file_rules,$(s)))))

# $(1): directory, $(2): number
define one_rules
.PHONY: one-$(2)
one-$(2): $(foreach s,$(call one_chosen,$(1)),build/one/$(call one_name,$(s)).cu)
	$$(if $$^,@wc -l $$^ && sed -n '3s/^ \* *//p' $$^,\
	    @echo "make $$@: chapter $(2) has no step $(STEP); accepted are 1 to the number of files in" \
	    "$(1)/steps and one more; without STEP it is the chapter" >&2; exit 2)
endef
$(foreach d,$(ONE_CHAPTERS),$(eval $(call one_rules,$(d),$(call number,$(d)))))

##learn make one-08|write 08 as one file that needs only nvcc, build/one/08_persistent_pingpong.cu; STEP=2: a step
##learn make one|write one file for each chapter and step
.PHONY: one one-sources
one: $(ONE_FILES)
one-sources: # for one.t
	@printf '%s\n' $(foreach d,$(ONE_CHAPTERS),$(foreach s,$(call one_sources,$(d)),$(call one_name,$(s))=$(s)))

TOOL_TESTS += tests/one/one.t
