# Two commands are enough: `make demo` and `make test`.
# Each stamp file says which part of the environment is in place for the current pins.

PYTHON ?= python3
PYTEST_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
PINS := pyproject.toml constraints.txt
# Two processes share two cores: threads of their own would only wait for each other.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
TESTS := $(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal -m "not long"

.PHONY: demo test tests types rules test-quick test-long coverage mutants test-lowest test-latest wheel bench lint docs clean

demo: $(VENV)/.core
	$(BIN)/setpoint demo demo

# Beside one another: from nothing, types alone take one core a minute and a half.
test: $(VENV)/.installed
	@$(MAKE) --no-print-directory -j 2 lint tests

tests: $(VENV)/.installed
	$(TESTS) --record $(PYTEST_ARGS)

# The fastest tests of the last `make test`, without lint: see tests/quick.py.
test-quick: $(VENV)/.installed
	$(TESTS) --quick $(PYTEST_ARGS)

test-long: $(VENV)/.installed
	$(BIN)/python -m pytest -m "long or hypothesis" --hypothesis-profile long $(PYTEST_ARGS)

# Branches that `make test` runs. Compiled kernels run where nothing counts; oracles check those.
coverage: $(VENV)/.installed
	@mkdir -p build
	$(TESTS) --cov --cov-report=json:build/coverage.json $(PYTEST_ARGS)
	@$(BIN)/python tools/covered.py build/coverage.json

# Which of 300 changes of the mathematics the tests notice: an hour.
mutants: $(VENV)/.mutants
	@mkdir -p build
	$(TESTS) --record --cov --cov-context=test --cov-report= $(PYTEST_ARGS)
	$(ONE_THREAD) $(BIN)/python tools/mutants.py

# The lowest versions that pyproject.toml allows. River asks for a later SciPy than setpoint, torch
# is left out for its size, so their tests skip themselves; warnings of old packages about others
# are no errors here. pyparsing is none of ours: matplotlib's lowest warns with later ones.
LOWEST := .venv-lowest
test-lowest: $(LOWEST)/.installed
	$(ONE_THREAD) $(LOWEST)/bin/python -m pytest -n 2 --dist worksteal -m "not long" \
		-W ignore::DeprecationWarning -W ignore::FutureWarning --doctest-ignore-import-errors $(PYTEST_ARGS)

$(LOWEST)/.installed: pyproject.toml tools/lowest_versions.py
	@echo "installing the lowest versions (minutes the first time)"
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(PYTHON) tools/lowest_versions.py test scale onnx > $(LOWEST)/constraints.txt
	@echo "pyparsing<3.3" >> $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet \
		--only-binary :all: -c $(LOWEST)/constraints.txt -e ".[test,scale,onnx]"
	@touch $@

# What pip finds today, as a user gets it, and not what constraints.txt says. Remove the folder to
# look again. Later packages may warn of themselves, which is no error here.
LATEST := .venv-latest
test-latest: $(LATEST)/.installed
	$(ONE_THREAD) $(LATEST)/bin/python -m pytest -n 2 --dist worksteal -m "not long" \
		-W ignore::DeprecationWarning -W ignore::FutureWarning --doctest-ignore-import-errors $(PYTEST_ARGS)

$(LATEST)/.installed: pyproject.toml
	@echo "installing what pip finds today (minutes the first time)"
	@$(PYTHON) -m venv --clear $(LATEST)
	@$(LATEST)/bin/python -m pip --disable-pip-version-check install --quiet --upgrade \
		-e ".[test,scale,onnx]"
	@touch $@

# Built, installed in a fresh environment outside the checkout, and tried there.
wheel:
	$(PYTHON) tools/try_wheel.py dist

bench: $(VENV)/.installed
	@for script in $$(grep -ls '__main__' benchmarks/*.py); do \
		echo "== $$script"; $(BIN)/python "$$script" || failed="$$failed $$script"; \
	done; if [ -n "$$failed" ]; then echo "targets missed:$$failed"; exit 1; fi

lint: rules types

types: $(VENV)/.installed
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/typed_client/mypy.ini --cache-dir .mypy_cache/client tests/typed_client/client.py

rules: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/laws.py

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(LOWEST) $(LATEST) demo site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(PINS) | $(BIN)/python
	@echo "installing setpoint and its shell"
	@$(PIP) -e ".[cli]"
	@touch $@

$(VENV)/.installed: $(PINS) | $(BIN)/python
	@echo "installing setpoint with everything its tests need (minutes the first time)"
	@$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.core

$(VENV)/.mutants: $(VENV)/.installed
	@echo "installing what changes the sources"
	@$(PIP) -e ".[mutants]"
	@touch $@

$(VENV)/.docs: $(PINS) | $(BIN)/python
	@echo "installing setpoint with what its documentation needs"
	@$(PIP) -e ".[docs]"
	@touch $@ $(VENV)/.core
