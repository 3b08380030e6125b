# patterns.mk - the memory model as programs; included by the Makefile at the top.

PATTERN_RUN := $(B)/book/patterns/run
PATTERN_GPU := $(B)/book/patterns/run_gpu
# NAME_LINE for each line that can be taken out, and NAME_0.
PATTERN_FORMS := $(shell book/patterns/page --forms)
PATTERNS := $(patsubst %_0,%,$(filter %_0,$(PATTERN_FORMS)))

# The programs, out of the pages: those that have changed are written.
$(B)/book/patterns/programs: book/memory_model.md book/you_know_syncthreads.md book/patterns/page
	@mkdir -p $(@D)
	@book/patterns/page --programs $(@D) && touch $@
$(PATTERNS:%=$(B)/book/patterns/%.cu): $(B)/book/patterns/programs ;

$(B)/book/patterns/patterns.inc: $(B)/book/patterns/programs book/patterns/patterns.mk
	@printf '%s\n' $(PATTERN_FORMS) | sed -E 's/(.*)_(.)/EACH_PATTERN(\1, \2)/' >$(NEW) $(renamed)

# $(1): program, $(2): line
define pattern_rule
$(B)/book/patterns/$(1)_$(2).o: $(B)/book/patterns/$(1).cu $(CC_STAMP)
	$$(call c_object,-x c $(C_CHAPTER) -Ibook/patterns -DWITHOUT=$(2) -DPATTERN_NAME=model_$(1)_$(2))
endef
$(foreach p,$(PATTERNS),$(foreach n,0 1 2 3 4 5 6 7 8 9,\
    $(if $(filter $(p)_$(n),$(PATTERN_FORMS)),$(eval $(call pattern_rule,$(p),$(n))))))

$(PATTERN_RUN).o: book/patterns/run.c $(B)/book/patterns/patterns.inc $(CC_STAMP)
	$(call c_object,-I$(B)/book/patterns)
$(PATTERN_RUN): $(PATTERN_RUN).o $(PATTERN_FORMS:%=$(B)/book/patterns/%.o) $(MODEL_OBJECTS) $(CC_STAMP)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(LIBS) -o $(NEW) $(renamed)

# All forms in one object: nvcc takes seconds for the headers alone.
HASH := \#
FORM_AS_NAMESPACE := 's|EACH_PATTERN.(.*), (.).|namespace \1_\2 {\n$(HASH)define WITHOUT \2\n\
$(HASH)define PATTERN_NAME gpu_\1_\2\n$(HASH)include "\1.cu"\n$(HASH)undef WITHOUT\n$(HASH)undef PATTERN_NAME\n}|'
$(B)/book/patterns/forms.inc: $(B)/book/patterns/patterns.inc
	@sed -E $(FORM_AS_NAMESPACE) $< >$(NEW) $(renamed)
ifneq ($(HAVE_NVCC),)
$(PATTERN_GPU): book/patterns/run_gpu.cu $(B)/book/patterns/forms.inc $(NVCC_STAMP)
	$(call say,NVCC,$@)
	$(Q)$(compile_cuda) $(ARCH_SM90A) -cudart static -Ibook/patterns -I$(B)/book/patterns $< $(renamed_with_d)
else
$(PATTERN_GPU): FORCE
	@echo "it cannot be built: $(NO_NVCC)" >&2; exit 1
endif

##learn make patterns|run the small programs of the memory model, as they are and without each line that orders something; ARGS="refill 1": only one
##measure make patterns-gpu|run the programs of make patterns on a Hopper GPU, thousands of launches each, write a CSV, and then make patterns-page
##maintain make patterns-page|write the programs and their reports into book/memory_model.md
.PHONY: patterns patterns-gpu patterns-page
patterns: $(PATTERN_RUN)
	@$(PATTERN_RUN) $(ARGS) || test $$? -eq 4
patterns-page: $(PATTERN_RUN)
	@RUN=$(PATTERN_RUN) book/patterns/page
patterns-gpu: $(PATTERN_GPU) $(PATTERN_RUN)
	$(COMMIT) $(PATTERN_GPU) >$(PATTERN_GPU).csv
	mv $(PATTERN_GPU).csv "book/patterns/$$(sed -n '2s/,.*//p' $(PATTERN_GPU).csv | tr 'A-Z ' a-z_)_$$(date +%F).csv"
	RUN=$(PATTERN_RUN) book/patterns/page
test: $(PATTERN_RUN) $(if $(HAVE_NVCC),$(PATTERN_GPU))
