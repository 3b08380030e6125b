# site.mk - the test of the site (book/site/book.mk); included by the Makefile at the top.

MORE_TESTS += tests/site/site.t
