# Each target sets up all it needs in a local virtual environment (.venv).
PYTHON ?= python3
BIN := .venv/bin
# the tests start many programs: they keep their bytecode, whatever the machine's usual is
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check unit nightly robots exports docs bench bench-robots clean

demo: .venv/installed
	$(BIN)/dalembert compare cart-pendulum --duration 50 --plot out/cart-pendulum

test: .venv/installed
	$(MAKE) --no-print-directory -j 2 check unit

check: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python viewer/build.py --check

unit: .venv/installed
	$(BIN)/python -m pytest -n auto --dist worksteal

# all models in all units and all proofs, every sheet through pdflatex, and ten times as many random examples in the tests that draw them
nightly: .venv/installed
	@command -v pdflatex >/dev/null || { echo "pdflatex is missing: apt-get install texlive-latex-base" >&2; exit 1; }
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n auto --dist loadgroup -m "nightly or hypothesis"

# exported code of every language that runs here against the package, the tutorials that use it, linear equations in python-control;
# installs JAX, CasADi, FMPy and control
exports: .venv/installed
	$(BIN)/python -m pip install --quiet --group exports
	$(BIN)/python -m pytest -n auto --dist worksteal -m "nightly or not nightly" tests/exports

# the vendors' robots of example-robot-data and 500 random trees against Pinocchio, contact and modes against MuJoCo and Exudyn; installs all
robots: .venv/installed
	$(BIN)/python -m pip install --quiet --group robots
	$(BIN)/python -m pytest -n auto --dist worksteal -m "nightly or not nightly" tests/robots

# the documentation site, to be opened from out/site/index.html; a warning is an error
docs: .venv/installed
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python docs/site/pictures.py out/pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open out/site/index.html"

bench: .venv/installed
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/derive.py
	$(BIN)/python benchmarks/simulate.py

# the recursive dynamics against Pinocchio; installs it and its robots
bench-robots: .venv/installed
	$(BIN)/python -m pip install --quiet --group robots
	$(BIN)/python benchmarks/recursive.py --plot out/recursive

.venv/installed: pyproject.toml hatch_build.py $(wildcard viewer/* viewer/src/* viewer/src/*/* viewer/src/*/*/*)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

clean:
	rm -rf .venv out .pytest_cache .ruff_cache .hypothesis
