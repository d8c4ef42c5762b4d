# Every target first creates a virtual environment in .venv with all it needs: .venv/runtime marks the package and what it imports,
# .venv/installed also the tools of developers.
PYTHON ?= python3
BIN := .venv/bin
# the tests start many Python processes: write bytecode even if the environment turns it off
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := demo
.PHONY: help demo test check unit coverage nightly robots exports docs bench bench-robots clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/runtime ## compare the formulations on a cart with a double pendulum; plots in out/cart-pendulum
	$(BIN)/dalembert compare cart-pendulum --duration 50 --plot out/cart-pendulum

test: .venv/installed ## run all checks and all tests except the nightly ones
	$(MAKE) --no-print-directory -j 2 check unit

check: .venv/installed ## check format, style, types and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python viewer/build.py --check

unit: .venv/installed ## run the tests on all cores
	$(BIN)/python -m pytest -n auto --dist worksteal

coverage: .venv/installed ## run the tests and write line coverage to out/coverage
	$(BIN)/python -m pytest -n auto --dist worksteal --cov=dalembert --cov-report=term --cov-report=html:out/coverage

# Proves gallery models, repeats them in other units, compiles LaTeX documents, draws ten times as many random examples. Each day runs
# another sixth, some 10 minutes on two idle cores; `make nightly PART=all` runs all of it, about an hour.
PART ?= $(shell echo $$(( $$(date +%s) / 86400 % 6 )))
nightly: .venv/installed ## run the slow tests (requires pdflatex); PART=0 to 5 or all
	@command -v pdflatex >/dev/null || { echo "pdflatex is missing: apt-get install texlive-latex-base" >&2; exit 1; }
	HYPOTHESIS_PROFILE=nightly NIGHTLY_PART=$(PART) $(BIN)/python -m pytest -n auto --dist loadgroup -m "nightly or hypothesis"

# exported code in every language available here, the tutorials that use it, linearized equations in python-control
exports: .venv/installed ## test exported code (installs JAX, CasADi, FMPy, control)
	$(BIN)/python -m pip install --quiet --group exports
	$(BIN)/python -m pytest -n auto --dist worksteal -m "nightly or not nightly" tests/exports

# robots of example-robot-data and 500 random trees against Pinocchio, contact and modes against MuJoCo and Exudyn
robots: .venv/installed ## compare with other simulators (installs Pinocchio, MuJoCo, Exudyn)
	$(BIN)/python -m pip install --quiet --group robots
	$(BIN)/python -m pytest -n auto --dist worksteal -m "nightly or not nightly" tests/robots

# warnings are errors
docs: .venv/installed ## build the documentation site in out/site
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python docs/site/pictures.py out/pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open out/site/index.html"

bench: .venv/installed ## measure derivation, compiled equations and integrators
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/derive.py
	$(BIN)/python benchmarks/simulate.py

bench-robots: .venv/installed ## measure recursive dynamics against Pinocchio (installs it)
	$(BIN)/python -m pip install --quiet --group robots
	$(BIN)/python benchmarks/recursive.py --plot out/recursive

# modules are compiled to bytecode when they are first imported: compiling all of them takes longer than the demo
.venv/runtime: pyproject.toml hatch_build.py $(wildcard viewer/* viewer/src/* viewer/src/*/* viewer/src/*/*/*)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --editable .
	touch $@

# groups of dependencies need pip 25.1
.venv/installed: .venv/runtime
	$(BIN)/python -m pip install --quiet --no-compile --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --no-compile --group dev
	touch $@

clean: ## remove the environment and everything that was built
	rm -rf .venv out .pytest_cache .ruff_cache .hypothesis
