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

.PHONY: demo test test-quick test-long bench lint docs clean

demo: $(VENV)/.core
	$(BIN)/setpoint demo demo

test: lint
	$(TESTS) --record $(PYTEST_ARGS)

# The fastest tests of the last `make test`, without lint: see tests/quick.py.
test-quick: $(VENV)/.installed
	$(TESTS) --quick $(PYTEST_ARGS)

test-long: $(VENV)/.installed
	$(BIN)/python -m pytest -m "long or hypothesis" --hypothesis-profile long $(PYTEST_ARGS)

bench: $(VENV)/.installed
	@for script in $$(grep -ls '__main__' benchmarks/*.py); do \
		echo "== $$script"; $(BIN)/python "$$script" || failed="$$failed $$script"; \
	done; if [ -n "$$failed" ]; then echo "targets missed:$$failed"; exit 1; fi

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/import_circles.py
	$(BIN)/python tools/room_names.py
	$(BIN)/python tools/plain_words.py

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) demo site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
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

$(VENV)/.docs: $(PINS) | $(BIN)/python
	@echo "installing setpoint with what its documentation needs"
	@$(PIP) -e ".[docs]"
	@touch $@ $(VENV)/.core
