# timeline.mk - pictures of what happens when; included by the Makefile at the top. See common/timeline/draw.pl.

tests/timeline/timeline.t: $(PROGRAMS)
tests/timeline/untraced.t: $(if $(HAVE_NVCC),$(PROGRAMS))

##learn make timeline-07|write 07_warp_specialized/timeline.svg: from a GPU, recorded events or the model (FROM=gpu|recorded|model)
##maintain make timelines|write the timelines of all chapters
.PHONY: timelines $(foreach d,$(CHAPTER_DIRS),timeline-$(call number,$(d)))
define timeline_rule
timeline-$(2): $(1)/$(notdir $(1))
	@B='$(B)' FROM='$(FROM)' $(COMMIT) tests/timeline/picture $(1)
endef
$(foreach d,$(CHAPTER_DIRS),$(eval $(call timeline_rule,$(d),$(call number,$(d)))))
timelines: $(PROGRAMS)
	@B='$(B)' FROM='$(FROM)' $(COMMIT) tests/timeline/picture $(CHAPTER_DIRS)
