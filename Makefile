# The interface of the project: `make` alone prints it.

PYTHON := $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(shell $(name) -c \
	'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
RUN := .venv/bin/python
LAB ?=
AGAIN ?=
PORT ?=

.PHONY: help book serve jupyter labs test results clean python environment

help:  ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' Makefile | awk -F'\t' '{ printf "make %-10s %s\n", $$1, $$2 }'

book: python  ## the site, in _build/html; makes .venv and brings stale labs up to date first
	@$(PYTHON) tools/phases.py \
		"environment: $(PYTHON) tools/environment.py" \
		"labs: $(RUN) tools/make_labs.py" \
		"site: $(RUN) tools/make_book.py" && echo "The site is at _build/html/index.html; \`make serve\` shows it."

serve: python  ## the site on this machine, on a free port or on PORT=
	@$(PYTHON) tools/serve.py $(PORT)

jupyter: environment  ## JupyterLab on the labs
	@.venv/bin/jupyter lab --notebook-dir=labs

labs: environment  ## brings stale labs up to date; LAB=05 takes one, AGAIN=1 executes it in any case
	@$(RUN) tools/make_labs.py $(LAB) $(if $(AGAIN),again)

test: python  ## checks everything: code, labs, every output, the site; writes nothing into labs
	@$(PYTHON) tools/phases.py \
		"environment: $(PYTHON) tools/environment.py" \
		"style: $(RUN) -m ruff check shared tools tests book" \
		"site: $(RUN) tools/make_book.py" \
		"outputs: $(RUN) tools/check_outputs.py" \
		"tests: $(RUN) -m pytest -q"

results: environment  ## the long table of lab 9, in half an hour or more; may be stopped and goes on
	@$(RUN) tools/results.py

clean:  ## removes what make made, apart from the labs: .venv, _build, caches
	rm -rf .venv _build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and this is what is here: \
	$$(python3 --version 2>&1 || echo none). Install it, then run make again."; exit 1; }

environment: python
	@$(PYTHON) tools/environment.py
