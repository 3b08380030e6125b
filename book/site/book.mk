# book.mk - the pages as a site that opens from disk; included by tests/site/site.mk.

## make book|the pages as a site with search: build/book/en/index.html; needs what make book-tools installs
## make book-tools|install Sphinx and what it needs into build/venv; needs python3-venv and, once, a network
.PHONY: book book-tools
# The stepping pages first, where there are any.
book: $(if $(wildcard book/steps/steps.mk),steps)
	@book/site/build build/book
	@echo "build/book/en/index.html"
book-tools:
	python3 -m venv build/venv
	build/venv/bin/pip install --quiet --requirement book/site/requirements.txt
