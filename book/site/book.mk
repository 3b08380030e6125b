# book.mk - the pages as a site that opens from disk; included by the Makefile at the top.

##learn make book|build the pages as a searchable site, build/book/en/index.html; needs what make book-tools installs
##learn make book-tools|install Sphinx and what it needs into build/venv; needs python3-venv and, once, a network
.PHONY: book book_ready book-tools
# What is missing is said before anything is built.
book: book_ready one steps
	@book/site/build build/book
	@echo "build/book/en/index.html build/book/zh/index.html"
book-tools:
	@book/site/tools
book_ready:
	@book/site/build --python >/dev/null
