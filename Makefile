# make demo   sets everything up and runs the main job on simulated data
# make test   sets everything up and passes the tests
PYTHON ?= python3
VENV ?= .venv
VENV_ALL ?= .venv-all
PYTEST_OPTIONS ?=
# The branch that `make quick` compares with; how much `make fuzz` and `make mutants` draw, from which seed, on how many processes.
BASE ?= main
ROUNDS ?= 3
MUTANTS ?= 40
# What `make sbom` describes: the lock of an extra (or core), and an environment that holds it.
EXTRA ?= core
IN ?= $(VENV)
JOBS ?= 1
SEED ?= $(shell date +%s)
# What the first environment can run: it lacks the extras of the deep generators. Where CI is set, nothing else may be skipped.
FIRST = not generators and not engines
LACKING = tabddpm,ctgan,realtabformer,spark

# The tests start hundreds of programs: each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo quick test coverage frozen test-all test-engines docs fuzz mutants locks licences sbom format clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# An environment is rebuilt when what it is made from changes. The demo needs the core alone; the tests add to the same one.
$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.ready: $(VENV)/.core
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[flows,anjana,dask,test]'
	@touch $@

$(VENV_ALL)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV_ALL)
	$(VENV_ALL)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,test]'
	@touch $@

demo: $(VENV)/.core  ## simulate hospital admissions, run the pipeline, print verdict and report
	$(VENV)/bin/hybrid demo demo
	$(VENV)/bin/hybrid run configs/quickstart.yaml --out runs/demo

quick: $(VENV)/.ready  ## under a minute: lint, types, layers, and the tests of the changed rooms
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	@folders=$$($(VENV)/bin/python -m tests.helpers.changed_rooms $(BASE)); \
	if [ -z "$$folders" ]; then echo "no room differs from $(BASE)"; else \
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -q -m "$(FIRST) and not slow and not prefect" $$folders $(PYTEST_OPTIONS); fi

# Tests in several processes would each compile the loops of searches and metrics: they are compiled beside the checks.
test: $(VENV)/.ready  ## everything that needs no deep generator: lint, types, layers, tests
	@$(VENV)/bin/hybrid --quiet warm > /dev/null & warm=$$!; \
	for check in 'ruff check .' 'ruff format --check .' mypy lint-imports; do \
	echo "$$check"; $(VENV)/bin/$$check || { kill $$warm; exit 1; }; done; wait $$warm
	$(VENV)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "$(FIRST)" --may-lack $(LACKING) $(PYTEST_OPTIONS)

coverage: $(VENV)/.ready  ## which lines and branches the tests of the first environment reach (half as slow again)
	$(VENV)/bin/python -m pytest -n auto -q -m "$(FIRST)" --may-lack $(LACKING) --cov --cov-report=term $(PYTEST_OPTIONS)

test-all: $(VENV_ALL)/.ready  ## the tests of real generators and of Spark (needs Java), in an environment with all extras
	$(VENV_ALL)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "(generators or anjana or spark) and not engines" $(PYTEST_OPTIONS) \
	$$(grep -rlE 'mark\.(generators|anjana|spark)\b' tests --include='test_*.py')

frozen: $(VENV)/.ready  ## are tables, metrics, checks and levels of small configurations those that are kept? KEEP=1 keeps them anew
	$(VENV)/bin/python -m pytest -n auto -q tests/frozen $(PYTEST_OPTIONS)

test-engines: $(VENV_ALL)/.ready  ## build and use the managed environment of synthcity (7 GB, minutes), Spark with all settings and on two workers, a token (softhsm2)
	HYBRID_ENVIRONMENTS=$${HYBRID_ENVIRONMENTS:-$(CURDIR)/$(VENV_ALL)/environments} \
	$(VENV_ALL)/bin/python -m pytest -m engines $(PYTEST_OPTIONS)

fuzz: $(VENV)/.ready  ## the tests of invariants, ROUNDS times, with new examples
	@for round in $$(seq 1 $(ROUNDS)); do \
	seed=$$(($(SEED) + $$round)); echo "round $$round of $(ROUNDS): --hypothesis-seed=$$seed"; \
	$(VENV)/bin/python -m pytest -n auto -q -m "hypothesis and $(FIRST)" --hypothesis-profile=fuzz --hypothesis-seed=$$seed $(PYTEST_OPTIONS) || exit 1; done

mutants: $(VENV)/.ready  ## change MUTANTS expressions, one at a time: do the tests that reach them notice? (two hours)
	$(VENV)/bin/python -m tests.helpers.mutants --n $(MUTANTS) --seed $(SEED) --jobs $(JOBS)

$(VENV)/.docs: $(VENV)/.ready
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs  ## build the documentation site in site/; warnings and broken links are errors
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict --quiet

$(VENV)/.supply: $(VENV)/.ready
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[supply]'
	@touch $@

locks: $(VENV)/.supply  ## pin and hash what the core and each extra install, in locks/ (needs a package index)
	$(VENV)/bin/python -m tools.locks

licences: $(VENV)/.docs $(VENV)/.supply $(VENV_ALL)/.ready  ## report the licences of all locked packages in docs/developing/licences.md
	$(VENV)/bin/python -m tools.licences $(VENV) $(VENV_ALL)

sbom: $(VENV)/.supply  ## bill of materials (CycloneDX) of the core in dist/; EXTRA=all IN=.venv-all: of an extra
	$(VENV)/bin/python -m tools.sbom $(EXTRA) dist/hybrid-release-$(EXTRA).cdx.json $(IN)

format: $(VENV)/.ready  ## format and sort imports
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:  ## remove environments and everything that was made
	rm -rf $(VENV) $(VENV_ALL) site demo runs work releases .pytest_cache .mypy_cache .ruff_cache .hypothesis
