# benchtrust: `make book` and `make test` are all that a fresh machine needs (Python ≥ 3.11.5, pip).

PYTHON ?= python3
PROFILE ?= paper
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help book pdf test bench lint lock clean distclean

help:  ## show the targets
	@echo "usage: make TARGET [PYTHON=python3.13] [PROFILE=paper]"
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12 | sed 's/^/  /'

book: $(STAMP)  ## run what has changed, build the book, print the path to open
	@$(BIN)/benchtrust book --profile $(PROFILE)

pdf: $(STAMP)  ## the same, and the book as one PDF, linked from its first page (needs Chromium)
	@$(BIN)/benchtrust book --profile $(PROFILE) --pdf

test: $(STAMP)  ## run the test suite (page tests need a built smoke book and Chromium)
	@$(BIN)/python -m pytest $(PYTEST)

bench: $(STAMP)  ## measure speed and memory against peers (lm-eval and catsim too, after pip install --group bench)
	@$(BIN)/python -m pytest tests/performance -rA $(PYTEST)

lint: $(STAMP)  ## ruff on all code, the book's rules on all notebooks
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/benchtrust lint

lock:  ## renew requirements.lock from pyproject.toml
	@tools/lock $(PYTHON)

$(STAMP): $(VENV)/.locked pyproject.toml
	@$(PIP) --no-deps -e .
	@touch $@

$(VENV)/.locked: requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON) found. Set one: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(None if sys.version_info >= (3, 11, 5) else f"{sys.executable} is Python {v}; 3.11.5 or newer is needed. Set one: make PYTHON=/path/to/python3")'
	@echo "Installing into $(VENV) (once; some minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -r requirements.lock
	@touch $@

clean:  ## remove built pages, results and caches of tools; build/grid and build/packages stay
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name grid ! -name packages -exec rm -rf {} +
	@rm -rf .pytest_cache .ruff_cache .hypothesis

distclean: clean  ## remove the environment too
	@rm -rf $(VENV) src/*.egg-info
