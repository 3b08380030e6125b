# model.mk - tests of the CPU model; included by the Makefile at the top after the rules of the tests.
#
# cases: small kernels, right ones and wrong ones. chapters: every chapter over edge sizes, policies and seeds.
# internals: what a kernel cannot show. explore: every schedule of the cases. All print TAP.

MODEL_TESTS := $(addprefix $(B)/tests/model/,cases every_chapter internals explore)
MORE_TESTS += $(MODEL_TESTS)
MODEL_KERNELS := $(patsubst tests/model/%.c,$(B)/tests/model/%.o,$(wildcard tests/model/kernels_*.c))

# Kernels are compiled as chapters are for the model.
$(MODEL_KERNELS): $(B)/tests/model/%.o: tests/model/%.c $(CC_STAMP)
	$(call c_object,$(C_CHAPTER))

$(addprefix $(B)/tests/model/,every_chapter.o run_case.o): \
        $(B)/tests/model/%.o: tests/model/%.c $(CHAPTERS_INC) $(STEPS_INC) \
        $(CC_STAMP) $(BACKEND_STAMP)
	$(call c_object,$(C_TEST) -DGEMM_MODEL)

$(addprefix $(B)/tests/model/,cases internals explore): \
        %: %.o $(B)/tests/model/run_case.o $(MODEL_KERNELS) $(MODEL_OBJECTS) $(LINK_STAMP)
	$(program)
$(B)/tests/model/every_chapter: %: %.o $(CHAPTERS:%=$(B)/model/%.o) \
        $(STEP_IDS:%=$(B)/model/%.o) $(MODEL_OBJECTS) \
        $(patsubst %,$(B)/harness/%.o,problem backend_model check kind options) $(KIND_OBJECTS) $(LINK_STAMP)
	$(program)

# ---- the checker, checked -----------------------------------------------------------------------------------------

# The model, the harness and the tests once more in a build of their own. Chapters and kernels are compiled for the
# model as ever: what $(4) ends takes back what $(2) says.
instrumented = --no-print-directory B=build/$(1) LINK_STAMP=build/$(1)/flags.link NVCC= CFLAGS='-g $(2)' \
               LDFLAGS='$(3)' C_CHAPTER='$(C_CHAPTER) -O2 $(4)'
INSTRUMENTED := tests/model/cases tests/model/internals tests/model/every_chapter tests/conform/replay \
                tests/unit/test_model_data tests/explain/truth \
                patches/03_cp_async_multistage patches/05_tma_mbarrier patches/07_warp_specialized \
                patches/08_persistent_pingpong
# One seed a policy, and sizes up to a tile, of chapters with many variants a sample; chapters that count, and that draw
# a timeline. What takes long runs in parts, side by side: run@PROGRAM@PART.
RUNS := $(foreach t,$(INSTRUMENTED),$(addprefix run@$(t)@,$(or \
    $(if $(filter %/every_chapter,$(t)),$(foreach c,$(CHAPTERS),$(call number,$(c)))),\
    $(if $(filter %/truth,$(t)),$(filter 0%,$(foreach c,$(CHAPTERS),$(call number,$(c))))),\
    $(if $(filter %/cases,$(t)),$(MODEL_KERNELS:$(B)/tests/model/kernels_%.o=%) waits right),all)))
.PHONY: run-instrumented $(RUNS)
run-instrumented: $(RUNS)
$(RUNS):
	$(call say,RUN,$(@:run@%=%))
	$(Q)set -- $(subst @, ,$@); test=$(B)/$$2; part=$$3; \
	case $$2@$$part in */every_chapter@09|*/every_chapter@1[23]) set -- 0 $$part 2200000;; \
	        */every_chapter@*) set -- 1 $$part 2200000;; */cases@*) set -- 1 "$$part ";; */truth@*) set -- 1 $$part;; \
	        patches/0[35]*) set -- --on model --m 200 --n 300 --k 100 --count --barriers;; \
	        patches/*) set -- --on model --m 200 --n 300 --k 100 --timeline;; *) set --;; esac; \
	$$test "$$@" >$$test.$$part.tap || \
	    { grep '^not ok' $$test.$$part.tap >&2; echo "$$test $$part has failed" >&2; exit 1; }

##maintain make coverage|show how much of each file of common/model the tests execute, with gcov
##maintain make asan|run the tests of the model under gcc's address and undefined-behaviour sanitizers
.PHONY: coverage asan run-coverage run-asan
coverage:
	$(Q)$(MAKE) $(call instrumented,coverage,-O0 --coverage,--coverage,-fno-profile-arcs -fno-test-coverage) run-coverage
# Without marks on stacks, of which the sanitizer does not know that threads have one each: -fsanitize=undefined looks
# at arrays there.
asan:
	$(Q)$(MAKE) $(call instrumented,asan,-O1 -fno-omit-frame-pointer -fsanitize=address$(comma)undefined \
	    --param asan-stack=0 -fno-sanitize-recover=all,-fsanitize=address$(comma)undefined,\
	    -fno-sanitize=address$(comma)undefined) run-asan

# In the build that these began.
run-coverage: $(INSTRUMENTED:%=$(B)/%)
	$(Q)rm -f $(B)/*/*.gcda $(B)/*/*/*.gcda
	$(Q)$(MAKE) --no-print-directory run-instrumented
	$(Q)gcov=$$(printf '%s\n' '$(CC)' | sed 's,gcc\([^/]*\)$$,gcov\1,') && \
	    $$gcov -n $(B)/model_core/*.gcda $(B)/model_core/*/*.gcda >$(B)/gcov.txt && \
	    grep --no-group-separator -A 1 "^File 'common/model" $(B)/gcov.txt >$(B)/gcov_of_model.txt && \
	    paste - - <$(B)/gcov_of_model.txt
run-asan: $(INSTRUMENTED:%=$(B)/%)
	$(Q)UBSAN_OPTIONS=print_stacktrace=1 $(MAKE) --no-print-directory run-instrumented
	@echo "clean under -fsanitize=address,undefined"
