# relmgr's tasks. `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
PYTHONS ?= $(foreach version,3.10 3.11 3.12 3.13,$(shell command -v python$(version)))

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

slow: $(VENV)/.installed-test ## the long tests (seeds are printed)
	$(BIN)/python -m pytest -m 'slow and not realhistory' -s --timeout=900 $(ARGS)

realhistory: $(VENV)/.installed-test ## tests on real clones: RELMGR_MIOPEN_CLONE=... RELMGR_MIGRAPHX_CLONE=...
	$(BIN)/python -m pytest -m realhistory --timeout=900 $(ARGS)

pythons: ## the tests on every Python of PYTHONS (default: those found on the path)
	for python in $(PYTHONS); do \
	  echo "== $$python"; $(MAKE) test PYTHON=$$python VENV=build/$$(basename $$python) || exit 1; \
	done

gpu: $(VENV)/.installed-test ## tests on a GPU
	$(BIN)/python -m pytest -m gpu $(ARGS)

fuzz: $(VENV)/.installed-test ## ten minutes of fuzzing (RELMGR_FUZZ_SECONDS, RELMGR_FUZZ_SEED)
	RELMGR_FUZZ_SECONDS=$${RELMGR_FUZZ_SECONDS:-600} $(BIN)/python -m pytest -m slow -k fuzz -s --timeout=0 $(ARGS)

mutation: $(VENV)/.installed-mutation ## changes that no test notices: ROOM=relmgr/gate/decide.py (TESTS="tests/gate")
	$(BIN)/python -m tests.support.mutation $(ROOM) $(TESTS)

bench: $(VENV)/.installed-bench ## the benchmarks that need no clone or device; see benchmarks/ for the others
	for file in code_object kdb order gate; do $(BIN)/python benchmarks/bench_$$file.py; done

lint: $(VENV)/.installed-dev ## ruff, mypy (strict), import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed-test ## rewrite the reference pages from the code
	$(BIN)/python docs/generate.py

site: $(VENV)/.installed-docs ## build the documentation site into build/site
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet --site-dir build/site

format: $(VENV)/.installed-dev ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove what was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

.PHONY: help demo test slow realhistory pythons gpu fuzz mutation bench lint docs site format clean
