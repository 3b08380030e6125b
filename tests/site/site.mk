# site.mk - the site and its test; included by the Makefile at the top.

include book/site/book.mk
MORE_TESTS += tests/site/site.t
