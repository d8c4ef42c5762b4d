"""Sheets fit their page: measured widths in daily runs, and pdflatex on every sheet in nightly runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from gallery_models import equations, up_to

from dalembert.api.derive import equations_of
from dalembert.display.math import latex
from dalembert.formalisms import catalog
from dalembert.io import gallery
from dalembert.simulation.workspace import setup, workspace_of

TEXT_WIDTH = 483.7  # 17 cm, in points
MOST = 8  # maximum coordinates of models with complete sheets
TINY = 10.0  # tolerance in points


def sheets(name: str, key: str) -> Iterator[str]:
    """LaTeX page and steps of a model by a formulation."""
    reading = equations(name, key)._display
    yield latex.page(reading.page)
    yield "\n\n".join(step.to_latex() for step in reading.steps())


def applicable(name: str) -> list[str]:
    space = workspace_of(setup(gallery.load(name)))
    return list(catalog.applicable(space.model, space.facts))


def pdflatex_problems(found: list[tuple[str, str]], folder: Path) -> list[str]:
    """Errors of pdflatex, and boxes that are too wide or too tall."""
    if shutil.which("pdflatex") is None:
        pytest.fail("pdflatex is missing, so no sheet was tried. Install it: apt-get install texlive-latex-base.")
    body = "\n\n".join(f"\\typeout{{@@ {where}}}\n{sheet}" for where, sheet in found)
    (folder / "all.tex").write_text(latex.document([body]), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "all.tex"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300)
    out, where = [], ""
    for line in (folder / "all.log").read_text(encoding="utf-8", errors="replace").splitlines():
        over = re.match(r"Overfull \\[hv]box \(([\d.]+)pt", line)
        if line.startswith("@@"):
            where = line[3:]
        elif line.startswith("!") or (over and float(over[1]) > TINY):
            out.append(f"{where}: {line}")
    assert (folder / "all.pdf").exists()
    return out


def malformed(sheet: str) -> list[str]:
    """Malformed LaTeX: powers in parentheses, words as products of letters, unmatched braces."""
    out = re.findall(r"\^\(.{0,20}|non_\{.{0,20}|\\mathbf\{[A-Z]\}(?: [a-z]\b){2,}", sheet)
    depth = list(accumulate({"{": 1, "}": -1}[brace] for brace in re.findall(r"(?<!\\)[{}]", sheet)))
    return out if not depth or (min(depth) >= 0 and depth[-1] == 0) else [*out, "braces do not match"]


def test_malformed_latex_is_detected() -> None:
    for wrong in (r"\mathbf{M}_{s}^(-1/2)", r"\mathrm{non}_{ideal}", r"$\mathbf{P} o i n c a r e$", r"\dot{q", r"}{"):
        assert malformed(wrong.replace(r"\mathrm{non}_", "non_")), wrong
    assert malformed(r"\mathbf{M}_{s}^{-1/2} \{ a") == []


@pytest.mark.parametrize("key", ["poincare", "udwadia_kalaba"])
def test_powers_and_text_of_non_ideal_constraints(key: str) -> None:
    blocks = equations_of(gallery.load("rough-surface"), key)._display.blocks
    assert {"C", "S_nonideal"} & set(blocks)
    assert [problem for sheet in sheets("rough-surface", key) for problem in malformed(sheet)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", up_to(MOST))
def test_every_sheet_compiles_and_fits(name: str, tmp_path: Path) -> None:
    found = [(f"{name} by {key}", sheet) for key in applicable(name) for sheet in sheets(name, key)]
    assert pdflatex_problems(found, tmp_path) == []
    assert [f"{where}: {problem}" for where, sheet in found for problem in malformed(sheet)] == []


@pytest.mark.nightly
def test_overfull_boxes_are_detected(tmp_path: Path) -> None:
    wide = "\\begin{align*}\nx &= " + " + ".join(f"a_{{{k}}}" for k in range(40)) + "\n\\end{align*}"
    assert any("Overfull" in line for line in pdflatex_problems([("wide", wide)], tmp_path))
    assert any("Undefined" in line for line in pdflatex_problems([("wrong", r"$\nosuchsign$")], tmp_path))


@pytest.mark.parametrize(
    ("name", "key"), [("cart-pendulum", "hamilton"), ("double-pendulum-urdf", "kane"), ("simple-pendulum", "denoc")]
)
def test_lines_are_measured_to_fit(name: str, key: str) -> None:
    for sheet in sheets(name, key):
        assert sheet.isascii()
        lines = [
            line for each in re.findall(r"\\begin{align\*}\n(.*?)\n\\end", sheet, re.S) for line in each.split("\n")
        ]
        assert lines
        for line in lines:
            if "bmatrix" not in line:
                assert latex.width(line.replace("&", "").removesuffix(r"\\")) <= TEXT_WIDTH, line


def test_document_is_complete() -> None:
    eom = equations_of(gallery.load("simple-pendulum"), "lagrange")
    document = eom.latex(standalone=True)
    assert document.startswith(r"\documentclass")
    assert r"\usepackage{amsmath" in document
    assert document.rstrip().endswith(r"\end{document}")
    assert eom.latex() in document
    assert r"\documentclass" not in eom.latex()


def test_long_parts_are_factors() -> None:
    import symengine as se

    terms: Any = se.symbols("a1:40")
    long = sum(terms[:30], start=terms[30])
    assert r"\frac{1}" not in latex.expression(1 / long)
    assert latex.expression(1 / long).endswith(")^{-1}")
    assert latex.expression(se.sqrt(long)).endswith(")^{1/2}")
    assert latex.expression(terms[0] / terms[1]) == r"\frac{a_{1}}{a_{2}}"
    lines = latex.broken([("x", latex.expression(terms[35] / long))])
    assert len(lines) > 2
    assert all(latex.width(line) <= TEXT_WIDTH for line in lines)
