# A chapter, or a step of it, as one file that nvcc alone compiles, written by tests/one/one: all of the ladder, and what
# brings a main() of its own beyond it.
ONE_CHAPTERS := $(foreach d,$(CHAPTER_DIRS),$(if $(filter beyond/%,$(d)),$(if $(wildcard $(d)/main.cu.inc),$(d)),$(d)))
# Of a directory: its chapter and its steps. A step's file is called after the chapter's number.
one_sources = $(1)/$(notdir $(1)).cu $(sort $(wildcard $(1)/steps/*.cu))
one_name = $(if $(findstring /steps/,$(1)),$(firstword $(subst _, ,$(notdir $(patsubst %/steps/,%,$(dir $(1))))))_)$(notdir $(basename $(1)))
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
one-$(2): $(foreach s,$(if $(STEP),$(wildcard $(1)/steps/$(STEP)_*.cu),$(1)/$(notdir $(1)).cu),build/one/$(call one_name,$(s)).cu)
	$$(if $$^,@wc -l $$^ && sed -n '3s/^ \* *//p' $$^,@echo "make $$@ STEP=$(STEP): $(2) has no such step; ls $(1)/steps" >&2; exit 2)
endef
$(foreach d,$(ONE_CHAPTERS),$(eval $(call one_rules,$(d),$(call number,$(d)))))

##learn make one-08|write 08 as one file, build/one/08_persistent_pingpong.cu, that nvcc alone compiles; STEP=2: a step
##learn make one|write one file for each chapter and step
.PHONY: one one-sources
one: $(ONE_FILES)
one-sources: # for one.t
	@printf '%s\n' $(foreach d,$(ONE_CHAPTERS),$(foreach s,$(call one_sources,$(d)),$(call one_name,$(s))=$(s)))

TOOL_TESTS += tests/one/one.t
