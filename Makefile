# Everything runs in .venv, which `make test` and `make demo` set up on first use.
# Needs Python 3.11 or newer with pip and venv. Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help test test-slow demo tutorials docs bench lint licences audit compat fuzz clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: lint ## style checks and the tests, without the slow ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-slow: $(STAMP) ## only the slow tests
	$(BIN)/python -m pytest -m slow

demo: $(STAMP) ## XD against FNO on Darcy flow: data, training, table, other grids, report
	$(BIN)/sciops compare darcy --ops xd,fno --seeds 1 --n-train 200 --n-val 20 --n-test 50 \
		--epochs 15 --resolutions 32,64,85 --out out/demo
	$(BIN)/sciops evaluate out/demo/xd-seed0 --costs
	$(BIN)/sciops report out/demo/xd-seed0 --resolutions 32,43,64,85

tutorials: $(STAMP) ## execute all notebooks in full and store their outputs, some ten minutes
	$(BIN)/python -m tutorials.execute

docs: $(STAMP) ## the documentation as a site, every link checked: out/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python -m docs.check_site out/site

bench: $(STAMP) ## all benchmarks of speed: operators, solvers, feeding, training steps, proteins
	$(BIN)/python -m benchmarks.operators
	$(BIN)/python -m benchmarks.darcy
	$(BIN)/python -m benchmarks.flows
	$(BIN)/python -m benchmarks.feeding
	$(BIN)/python -m benchmarks.training_steps
	$(BIN)/python -m benchmarks.covariation
	$(BIN)/python -m benchmarks.protein_steps

lint: $(STAMP) ## style checks
	$(BIN)/ruff check
	$(BIN)/ruff format --check

licences: $(STAMP) ## licences of all that sciops needs, into LICENCES.md; fails on unknown ones
	$(BIN)/python -m docs.licences

audit: ## known holes of the pinned versions, by pip-audit; needs the network
	.ci/audit $(PYTHON)

compat: ## golden runs and a short training with the oldest and the newest allowed versions
	.ci/compat oldest $(PYTHON)
	.ci/compat newest $(PYTHON)

fuzz: $(STAMP) ## 20 000 damaged inputs of every reader, some forty minutes of a core; counts to benchmarks/results
	$(BIN)/python -m tests.fuzzing --keep

clean: ## remove caches and built packages (keeps .venv and out/)
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find sciops tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +

# Written last, so that an interrupted or failed installation is done again.
$(STAMP): pyproject.toml constraints.txt
	@rm -f $@
	@echo "Setting up .venv (some minutes the first time)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "sciops needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }; \
		$(PYTHON) -m venv .venv; }
	$(PIP) torch
	$(PIP) -e ".[dev]"
	@touch $@
