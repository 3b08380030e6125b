# A chapter, or a step of it, as one file that nvcc alone compiles, written by tests/one/one: all of the ladder, and
# what brings a main() of its own beyond it. A step's file is called after the chapter's number.
ONE_CHAPTERS := $(filter-out beyond/%,$(PROGRAMS)) \
                $(foreach p,$(filter beyond/%,$(PROGRAMS)),$(if $(wildcard $(dir $(p))main.cu.inc),$(p)))
ONE_PROGRAMS := $(foreach p,$(ONE_CHAPTERS),$(call steps_of,$(call number,$(p))))
one_name = $(if $(filter $(1),$(STEP_PROGRAMS)),$(call step_id,$(1)),$(notdir $(1)))
one_file = $(if $(filter no-step-of-%,$(1)),$(1),build/one/$(one_name).cu)

# $(1): program
define one_file_rules
build/one/$(call one_name,$(1)).cu: $(1).cu $(wildcard tests/one/* common/*.h common/device/*.h $(dir $(1))main.cu.inc)
	$(call say,ONE,$$@)
	$(Q)mkdir -p $$(@D)
	$(Q)tests/one/one $(1).cu $(call one_name,$(1)) >$$@.new && mv $$@.new $$@
endef
$(foreach p,$(ONE_PROGRAMS),$(eval $(call one_file_rules,$(p))))

define one_rules
.PHONY: one-$(call number,$(1))
one-$(call number,$(1)): $(call one_file,$(call chosen,$(1)))
	@wc -l $$^ && sed -n '3s/^ \* *//p' $$^
endef
$(foreach p,$(ONE_CHAPTERS),$(eval $(call one_rules,$(p))))

##learn make one-08|write 08 as one file that needs only nvcc, build/one/08_persistent_pingpong.cu; STEP=2: a step
##learn make one|write one file for each chapter and step
.PHONY: one one-sources
one: $(foreach p,$(ONE_PROGRAMS),$(call one_file,$(p)))
one-sources: # for one.t
	@printf '%s\n' $(foreach p,$(ONE_PROGRAMS),$(call one_name,$(p))=$(p).cu)
