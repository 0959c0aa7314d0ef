# The only interface. Each target makes the environment first when it is missing or its pins changed.
# Labs are executed and checked with one torch thread each, two at a time: see tools/notebooks.py.

MINIMUM = 3, 11
# The first Python that is new enough; `make book PYTHON=/path/to/python` chooses another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < ($(MINIMUM)))' 2>/dev/null && echo $$p && break; done)
OURS = .venv/bin/python
ENVIRONMENT = $(PYTHON) tools/environment.py
SITE = $(OURS) tools/build_site.py

.PHONY: help book serve jupyter labs test portable jupyter-test student instructor grade links results bench gpu offline pdf clean python environment

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

book: python ## bring the labs up to date and build the site
	@$(PYTHON) tools/phases.py "environment: $(ENVIRONMENT)" "labs: $(OURS) tools/make_labs.py" "site: $(SITE)"
	@echo "The site is at $(CURDIR)/_build/html/index.html (open it, or run make serve)."

serve: python ## serve the built site on this machine (PORT=8000 for a port of your choice)
	@$(PYTHON) tools/serve.py $(PORT)

jupyter: environment ## open JupyterLab on the labs
	@$(OURS) -m jupyterlab --LabApp.default_url=/lab/tree/labs $$([ $$(id -u) != 0 ] || echo --allow-root)

labs: environment ## execute the labs that are stale (LAB=05 for one; AGAIN=1 executes it in any case)
	@$(OURS) tools/make_labs.py $(LAB) $(if $(AGAIN),again)

test: python ## check everything and change nothing: style, site, tests, every cell of every lab
	@$(PYTHON) tools/phases.py "environment: $(ENVIRONMENT)" "style: $(OURS) -m ruff check && $(OURS) -m ruff format --check -q" "site: $(SITE)" \
		"tests: OMP_NUM_THREADS=1 $(OURS) -m pytest -q -n 2 --dist loadfile" "labs: $(OURS) tools/check_outputs.py"

portable: environment ## run the labs as other processors would, and with two threads (LAB=05 for one lab)
	@$(OURS) tools/portable.py $(LAB)

jupyter-test: environment ## run every lab in a real JupyterLab; make test does so with those changed since
	@EVERY_LAB=1 $(OURS) -m pytest -q -p no:xdist tests/test_jupyterlab.py

links: environment ## try the links to other sites; what does not answer is listed and fails nothing
	@$(OURS) tools/check_links.py

student: environment ## write the notebooks without solutions into _build/student
	@$(OURS) tools/student.py

instructor: environment ## write answer key, teaching plan and grading script; measures the labs once, minutes
	@$(OURS) tools/instructor.py

grade: environment ## grade a folder of submitted notebooks (SUBMISSIONS=folder; LAB=05 for one lab alone)
	@$(OURS) tools/grade.py $(if $(LAB),--lab $(LAB)) "$(or $(SUBMISSIONS),$(error Say which folder: \
		make grade SUBMISSIONS=handed_in))"

results: environment ## make the long table of lab 9 anew: 15 minutes on two cores; may be stopped and goes on
	@$(OURS) tools/results.py

bench: environment ## the course against its budgets, and its speed against a textbook pipeline: over an hour
	@$(OURS) benchmarks/course.py; status=$$?; $(OURS) benchmarks/against_textbook.py && $(OURS) benchmarks/page.py && exit $$status

gpu: environment ## run labs and training on the CUDA device of this machine, and put the figures on the page of costs
	@$(OURS) benchmarks/on_gpu.py && $(OURS) benchmarks/page.py

offline: python ## zip the built site, to be read without a network
	@cd _build/html 2>/dev/null || { echo "There is no site yet: run make book first."; exit 1; }
	@$(PYTHON) -m zipfile -c _build/towards-self-attention.zip _build/html/
	@echo "The site is in _build/towards-self-attention.zip: unpack it and open html/index.html."

pdf: environment ## print the whole course to _build/towards-self-attention.pdf, through a browser
	@$(OURS) tools/site_pdf.py

clean: ## remove the built site and caches; the environment stays (it is the folder .venv)
	@rm -rf _build build *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find labs shared tests tools benchmarks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

environment: python
	@$(ENVIRONMENT)

python:
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < ($(MINIMUM)))' 2>/dev/null || { \
		echo "The course needs Python 3.11 or newer: $(or $(PYTHON),no such python3) will not do." \
		"Install one from python.org, or name yours: make book PYTHON=/path/to/python3.12"; exit 1; }
