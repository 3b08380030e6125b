# grade.mk - the judge of a learner's own code; included by the Makefile at the top.

GRADE := tests/grade/grade
JUDGE := $(B)/tests/grade/judge

ifneq ($(HAVE_MODEL),)
$(B)/tests/grade/judge.o: tests/grade/judge.c $(CC_STAMP)
	$(call c_object,-DGEMM_NO_GPU)
$(B)/tests/grade/subject_model.o: tests/grade/subject.c $(CC_STAMP)
	$(call c_object,-DGEMM_NO_GPU -DGEMM_MODEL)
$(B)/tests/grade/subject_gpu.o: tests/grade/subject.c $(CC_STAMP)
	$(call c_object,-DGEMM_NO_MODEL)
$(JUDGE): $(B)/tests/grade/judge.o $(filter-out $(HARNESS_CU:common/harness/%.cu=$(B)/harness/%.o),$(COMMON)) $(LINK_STAMP)
	$(call say,LINK,$@)
	$(Q)$(PATCH_LINK) $(filter %.o,$^) $(LIBS) -o $@
endif

# What a submission to these chapters is linked with.
grade_needs = $(if $(HAVE_MODEL),$(JUDGE) $(B)/tests/grade/subject_model.o $(1:%=$(B)/patches/%) $(1:%=$(B)/patches/main_%.o) \
                $(if $(HAVE_NVCC),$(B)/tests/grade/subject_gpu.o $(COMMON)))

##learn make check-07|judge my/07_warp_specialized.cu, or FILE=path; EX=name: as that exercise, BUG=name: is it mended, RULE=name: is it reported; SEED=n: again
##maintain make grade|judge a class: ARGS=DIRECTORY, which has STUDENT/NN_name.cu (book/teaching.md)
# $(1): chapter, $(2): its number
define grade_rules
.PHONY: check-$(2)
check-$(2): $(call grade_needs,$(1))
	@$(GRADE) --check $(2) $$(if $$(EX),--ex '$$(EX)') $$(if $$(BUG),--bug '$$(BUG)') $$(if $$(RULE),--rule '$$(RULE)') \
	    $$(if $$(SEED),--seed '$$(SEED)') $$(ARGS) '$$(FILE)'
endef
$(foreach c,$(filter-out 01_%,$(CHAPTERS)),$(eval $(call grade_rules,$(c),$(call number,$(c)))))
.PHONY: grade
grade: $(call grade_needs,$(CHAPTERS))
	@$(GRADE) $(ARGS)

##maintain make grade-bugs|is every bug of the chapters marked down, by the rule that its patch names, and no exercise's solution?
.PHONY: grade-bugs
grade-bugs: $(call grade_needs,$(CHAPTERS))
	@tests/grade/bugs $(ARGS)

MORE_TESTS += tests/grade/grade.t
test: $(call grade_needs,$(CHAPTERS))
