# make demo   sets everything up and runs the main job on simulated data
# make test   sets everything up and passes the tests
PYTHON ?= python3
VENV ?= .venv
VENV_ALL ?= .venv-all
PYTEST_OPTIONS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-generators check lint types layers format clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# An environment is rebuilt when what it is made from changes.
$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[flows,anjana,dask,test]'
	@touch $@

$(VENV_ALL)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV_ALL)
	$(VENV_ALL)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,test]'
	@touch $@

demo: $(VENV)/.ready  ## simulate hospital admissions, run the pipeline, print verdict and report
	$(VENV)/bin/hybrid demo demo
	$(VENV)/bin/hybrid run configs/quickstart.yaml --out runs/demo

test: $(VENV)/.ready  ## everything that needs no deep generator: lint, types, layers, tests, coverage
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -m pytest -n auto --dist loadfile -m "not generators and not environments" --cov --cov-report=term $(PYTEST_OPTIONS)

test-all: $(VENV_ALL)/.ready  ## the tests that train real generators, in an environment with all extras
	$(VENV_ALL)/bin/python -m pytest -n auto --dist loadfile -m "generators or anjana" $(PYTEST_OPTIONS)

test-generators: $(VENV_ALL)/.ready  ## build the managed environments of mst and synthcity (7 GB, minutes), and use them
	HYBRID_ENVIRONMENTS=$${HYBRID_ENVIRONMENTS:-$(CURDIR)/$(VENV_ALL)/environments} \
	$(VENV_ALL)/bin/python -m pytest -m environments $(PYTEST_OPTIONS)

format: $(VENV)/.ready  ## format and sort imports
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:  ## remove environments and everything that was made
	rm -rf $(VENV) $(VENV_ALL) demo runs work releases .pytest_cache .mypy_cache .ruff_cache .hypothesis
