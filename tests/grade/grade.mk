# grade.mk - the judge of a learner's own code; included by the Makefile at the top.

GRADE := tests/grade/grade

# What a submission to these chapters is linked with.
grade_needs = $(1:%=$(B)/patches/%) $(1:%=$(B)/patches/main_%.o) $(1:%=$(B)/patches/map_%.o) \
              $(if $(HAVE_NVCC),$(COMMON) $(1:%=$(B)/harness/main_%.o))

##learn make check-07|grade my/07_warp_specialized.cu, or FILE=path; EX=name: as that exercise; BUG=name: is it fixed? RULE=name: is it reported? SEED=n: repeat
##maintain make grade|grade a class: ARGS=DIRECTORY, which has STUDENT/NN_name.cu (book/teaching.md)
# $(1): chapter, $(2): its number
define grade_rules
.PHONY: check-$(2)
check-$(2): $(call grade_needs,$(1))
	@$(GRADE) --check $(2) $$(if $$(EX),--ex '$$(EX)') $$(if $$(BUG),--bug '$$(BUG)') $$(if $$(RULE),--rule '$$(RULE)') \
	    $$(if $$(SEED),--seed '$$(SEED)') $$(ARGS) $$(if $$(FILE),'$$(FILE)')
endef
$(foreach c,$(CHAPTERS),$(eval $(call grade_rules,$(c),$(call number,$(c)))))
.PHONY: grade
grade: $(call grade_needs,$(CHAPTERS))
	@$(GRADE) $(ARGS)

##maintain make grade-bugs|check that every bug loses points, by the rule that its patch names, and wrong code in a lab's gaps, and no solution; SAMPLE=12: every twelfth
.PHONY: grade-bugs
grade-bugs: $(call grade_needs,$(CHAPTERS))
	@$(if $(ARGS),tests/grade/bugs $(ARGS),$(TEST_ENVIRONMENT) SAMPLE='$(SAMPLE)' tests/run tests/grade/bugs)

MORE_TESTS += tests/grade/bugs
test: $(call grade_needs,$(CHAPTERS))
