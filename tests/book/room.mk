# room.mk - what a workshop needs; included by the Makefile at the top.

##learn make room|build slides and handout of the workshop (book/teaching.md) in build/book/room; needs pandoc and chromium
##learn make slides|build build/book/room/slides.html and slides.pdf
##learn make handout|build build/book/room/handout.pdf
##learn make blind-1|put a bug into a chapter for you to find; there are three
##maintain make container-check|run the README's commands, make test and make quick in a fresh Debian 12 and 13, and tell their time; as root; ARGS=SUITE
.PHONY: room slides handout container-check blind-1 blind-2 blind-3
room: slides handout
slides handout:
	@book/room/build $@
blind-1 blind-2 blind-3:
	@book/room/blind $(@:blind-%=%)
container-check:
	@for suite in $(or $(ARGS),bookworm trixie); do tests/tools/container $$suite || failed=1; done; [ -z "$$failed" ]
