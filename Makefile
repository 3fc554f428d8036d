# relmgr's tasks. `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(VENV)/.installed-%: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[$*]'
	@touch $@

demo: $(VENV)/.installed-test ## install, then run the 2022 story offline
	$(BIN)/relmgr demo

test: $(VENV)/.installed-test ## install, then run the tests (under 10 minutes on 2 cores)
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

slow: $(VENV)/.installed-test ## the long tests alone
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(VENV)/.installed-dev ## ruff, mypy (strict), import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove what was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

.PHONY: help demo test slow lint format clean
