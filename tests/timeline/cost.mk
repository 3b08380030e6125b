# cost.mk - what recording costs; included by the Makefile at the top.

TRACE_COST := $(B)/tests/timeline/cost

## make trace-cost|how much slower the traced copy of each chapter is; writes a CSV; needs a GPU
.PHONY: trace-cost
ifneq ($(HAVE_NVCC),)
$(TRACE_COST): $(B)/tests/timeline/cost.o $(call chapter_objects,$(CHAPTERS)) $(CHAPTERS:%=$(B)/traced/%.o) $(COMMON) $(LINK_STAMP)
	$(program)
trace-cost: $(TRACE_COST)
	$(COMMIT) $(TRACE_COST) $(ARGS)
else
trace-cost:
	@echo "the traced copies cannot be built: $(NO_NVCC)" >&2; exit 1
endif
