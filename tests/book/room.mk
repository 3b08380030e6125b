# room.mk - what a workshop needs; included by the Makefile at the top.

## make room|slides and handout of the workshop (book/teaching.md), into build/book/room; needs pandoc and chromium
## make slides|build/book/room/slides.html and slides.pdf
## make handout|build/book/room/handout.pdf
## make blind-1|put a bug into a chapter without saying which, to find it; there are three
## make container-check|run .devcontainer/Dockerfile's lines and the first commands in a fresh Debian; as root; ARGS=SUITE
.PHONY: room slides handout container-check blind-1 blind-2 blind-3
room: slides handout
slides handout:
	@book/room/build $@
blind-1 blind-2 blind-3:
	@book/room/blind $(@:blind-%=%)
container-check:
	@tests/tools/container $(ARGS)
