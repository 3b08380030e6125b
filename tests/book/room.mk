# room.mk - what a workshop needs; included by the Makefile at the top.

##learn make room|slides and handout of the workshop (book/teaching.md), into build/book/room; needs pandoc and chromium
##learn make slides|build/book/room/slides.html and slides.pdf
##learn make handout|build/book/room/handout.pdf
##learn make blind-1|put a bug into a chapter without saying which, to find it; there are three
##maintain make container-check|the README's packages in a fresh Debian 12 and 13, and Ubuntu 24.04 where UBUNTU_MIRROR is set: do its commands and make test work? As root; ARGS=SUITE
.PHONY: room slides handout container-check blind-1 blind-2 blind-3
room: slides handout
slides: $(if $(HAVE_MODEL),steps)
slides handout:
	@book/room/build $@
blind-1 blind-2 blind-3:
	@book/room/blind $(@:blind-%=%)
container-check:
	@tests/tools/container $(ARGS)
