# book.mk - tests of the texts; included by the Makefile at the top.

MORE_TESTS += $(wildcard tests/book/*.t)
