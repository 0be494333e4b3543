# Two commands: make demo, make test. Each makes .venv first; a second run installs nothing again.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.installed

# Test processes share the cores: one BLAS thread each.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-all lint bench bench-check clean
.DEFAULT_GOAL := test

# What is downloaded is known by its hash (requirements.lock, by scripts/lock.py). torch is not: its CPU build and
# the public one have different hashes and bring different packages, so it is installed by its version.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

$(STAMP): pyproject.toml constraints.txt requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "windage needs Python 3.11 or newer; say make PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --no-deps --require-hashes --requirement requirements.lock
	$(INSTALL) --constraint constraints.txt torch
	$(INSTALL) --no-deps --no-build-isolation --editable .
	$(BIN)/pip check
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/windage demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n 2 --dist loadgroup

test-all: lint
	$(BIN)/pytest -n 2 --dist loadgroup -m 'slow or not slow'

# windage beside the plain BoTorch + CVXPY way, as ratios of one run (long: the plain way is slow).
bench: $(STAMP)
	$(BIN)/python benchmarks/bench.py

bench-check: $(STAMP)
	$(BIN)/python benchmarks/bench.py --check

clean:
	rm -rf .venv build src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
