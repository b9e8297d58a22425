# `make tables` reproduces Johnstone & Wilson's tables; `make test` runs every check.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PATH := $(abspath $(BIN)):$(PATH)
NATIVE := $(shell find simalloc -name '*.[ch]' -o -name meson.build) meson.build

.PHONY: tables test lint unit clean

tables: $(VENV)/built
	$(BIN)/python -m experiments.johnstone_wilson --out out

test: lint unit

lint: $(VENV)/built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(VENV)/built
	$(BIN)/python -m pytest -n auto

# The build tools first, so that the editable install can rebuild the C extensions on import.
$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'meson-python>=0.17' 'meson>=1.4' ninja
	touch $@

$(VENV)/built: $(VENV)/tools $(NATIVE)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build out
