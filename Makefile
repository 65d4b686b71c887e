# Everything runs in .venv/, which is made from python3 and make alone.

PYTHON ?= python3
PY := .venv/bin/python
HOST ?= 127.0.0.1
PORT ?= 8000
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo serve test check property bench screenshots clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/installed ## the claims storm on a running service [SECONDS=20] [PORT=8000]
	@$(PY) -m claims_demo.demo --port $(PORT) $(if $(SECONDS),--seconds $(SECONDS))

serve: .venv/installed ## the service, without policy or accounts [PORT=8000] [HOST=127.0.0.1]
	@$(PY) -m claims_demo.serve --host $(HOST) --port $(PORT)

test: .venv/installed ## the test suite [WORKERS=2] [ARGS=...]
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

property: .venv/installed ## the rule against its slow model, over 100,000 cases
	@BUDGET_PROPERTY=1 $(PY) -m pytest -n $(WORKERS) --timeout 3600 -m hypothesis tests/rule $(ARGS)

screenshots: .venv/installed ## the README's pictures, from a short storm; needs Chromium
	@$(PY) -m claims_demo.screenshots

bench: .venv/installed ## figures beside their baselines, also in bench/results.json
	@$(PY) -m bench $(ARGS)

check: .venv/installed ## format, lint, types, import contracts, migrations, deploy settings
	@$(PY) .ci/check.py

clean: ## remove the environment, the embedded database and all caches
	rm -rf .venv var dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is missing or older than Python 3.11. Name a newer one: make PYTHON=python3.13 ..." >&2; \
	  exit 1; }
	@echo "Installing into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
