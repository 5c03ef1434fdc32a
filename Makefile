# `make demo` and `make test` are all the set-up there is: they make .venv and install what they need, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test check lint types unit acceptance bench schemas clean

help:
	@echo "make demo     the whole story on an embedded store, with data that ship with scikit-learn"
	@echo "make test     ruff, import-linter, mypy, all tests, coverage floors"
	@echo "make check    the same with one case of every quick unit test, in under two minutes"
	@echo "make acceptance  what is slow by nature: models of a real Spark (needs Java), forged and fuzzed files"
	@echo "make bench    what the issues promise, measured as ratios in one run"
	@echo "make schemas  write docs/schemas/*.json again"
	@echo "make clean    remove what the other targets made"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready-to-run: pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV), once: a minute or two"
	$(PIP) --editable .
	@touch $@

$(VENV)/.ready-to-test: pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV), once: a minute or two"
	$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.ready-to-run

demo: $(VENV)/.ready-to-run
	$(BIN)/coordpath demo

lint: $(VENV)/.ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.ready-to-test
	$(BIN)/mypy

unit: $(VENV)/.ready-to-test
	$(BIN)/python -m coverage erase
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=
	$(BIN)/python -m coverage report
	$(BIN)/python -m coverage report --include='coordpath_governance/paths/*,coordpath_governance/costs/*' --fail-under=100

test: lint types unit

check: lint types
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile --quick tests/unit

# Spark is large and needs Java, so it has an environment of its own; `make test` reads models that it has written before.
.venv-acceptance/.ready: pyproject.toml
	@echo "Installing into .venv-acceptance, once: a few minutes"
	$(PYTHON) -m venv .venv-acceptance
	.venv-acceptance/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[acceptance]'
	@touch $@

acceptance: .venv-acceptance/.ready
	.venv-acceptance/bin/python -m pytest -m spark tests/acceptance
	OMP_NUM_THREADS=1 .venv-acceptance/bin/python -m pytest -m 'not spark' -n 2 tests/acceptance

bench: $(VENV)/.ready-to-test
	$(BIN)/python benchmarks/paths.py
	$(BIN)/python benchmarks/glm.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/front.py
	$(BIN)/python benchmarks/trees.py

schemas: $(VENV)/.ready-to-run
	$(BIN)/python docs/schemas/write.py

clean:
	rm -rf $(VENV) .venv-acceptance .mypy_cache .ruff_cache .import_linter_cache .pytest_cache .hypothesis .coverage* demo-store
