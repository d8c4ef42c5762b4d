"""`dalembert derive`."""

from __future__ import annotations

import json
import os

import pytest


def test_text_with_counts_and_notes(run):
    found = run("derive", "double-pendulum", "--formalism", "kane")
    assert found.code == 0
    assert "2 dynamic equations, 4 states" in found.out
    assert "cos(θ₁ − θ₂)" in found.out
    assert "operations, including the linear solve" in found.out
    assert "Note: speeds chosen automatically: u1 = dot(theta1), u2 = dot(theta2)." in found.out


def test_notes_are_printed_once(run):
    found = run("derive", "double-pendulum", "--formalism", "volterra_reduced").out
    assert " ".join(found.split()).lower().count("no coordinate is ignorable") == 1


def test_lagrange_is_the_default(run):
    assert run("derive", "simple-pendulum", "--json").data["formalism"] == "lagrange"


def test_reports_an_exceeded_budget(run):
    found = run("derive", "double-pendulum", "--blocks", "M", "--budget", "1e-9")
    assert found.code == 0
    assert "note: lagrange: the budget of 1e-09 s was exceeded" in found.err
    assert "--budget" in found.err
    assert "budget" not in run("derive", "double-pendulum", "--blocks", "M").err


def test_latex(run):
    found = run("derive", "cart-pendulum", "--formalism", "volterra_reduced", "--format", "latex")
    assert found.code == 0
    assert found.out.startswith(r"\documentclass")
    assert "\n% cart-pendulum by volterra_reduced: 1 dynamic, 4 states, " in found.out
    assert r"\begin{align*}" in found.out
    snippet = run("derive", "cart-pendulum", "--formalism", "volterra_reduced", "--format", "latex", "--snippet").out
    assert snippet.startswith("% cart-pendulum by volterra_reduced: 1 dynamic, 4 states, ")
    assert snippet.strip() in found.out


@pytest.mark.parametrize("more", [(), ("--steps",), ("--blocks", "M")])
def test_documents_of_equations_steps_and_blocks(run, more):
    sheet = run("derive", "simple-pendulum", "--formalism", "lagrange", "--format", "latex", *more).out
    assert sheet.startswith(r"\documentclass")
    assert sheet.rstrip().endswith(r"\end{document}")
    page = run("derive", "simple-pendulum", "--formalism", "lagrange", "--format", "html", *more).out
    assert page.startswith("<!DOCTYPE html>")
    assert "<math" in page
    part = run("derive", "simple-pendulum", "--formalism", "lagrange", "--format", "html", "--snippet", *more).out
    assert part.startswith("<section>")
    assert part.strip() in page


def test_json(run):
    found = run("derive", "cart-pendulum", "--formalism", "gibbs_appell", "--json")
    assert found.data["n_dynamic"] == 2
    assert found.data["n_states"] == 5
    assert found.data["ignorable"] == ["x"]
    assert len(found.data["mass_matrix"]) == 2
    assert found.data["operations"] > 0
    assert run("derive", "cart-pendulum", "--formalism", "gibbs_appell", "--format", "json").out == found.out


def test_several_formalisms(run):
    found = run("derive", "cart-pendulum", "--formalism", "lagrange,maggi", "--formalism", "kane", "--json").data
    assert [each["formalism"] for each in found["equations"]] == ["lagrange", "maggi", "kane"]
    text = run("derive", "simple-pendulum", "--formalism", "lagrange", "--formalism", "kane").out
    assert text.count("simple-pendulum: ") == 2


def test_output_to_a_file(run, tmp_path):
    found = run("derive", "simple-pendulum", "--format", "latex", "--output", "new/equations.tex")
    assert (found.code, found.out) == (0, "written: new/equations.tex\n")
    assert (tmp_path / "new/equations.tex").read_text(encoding="utf-8").startswith(r"\documentclass")
    assert len(list((tmp_path / "new").iterdir())) == 1


def test_json_to_a_file_and_to_stdout(run, tmp_path):
    found = run("derive", "simple-pendulum", "--json", "--output", "e.json")
    assert json.loads((tmp_path / "e.json").read_text()) == found.data


def test_files_are_written_atomically(run, tmp_path, monkeypatch):
    (tmp_path / "e.tex").write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    found = run("derive", "simple-pendulum", "--output", "e.tex")
    assert (found.code, found.out) == (1, "")
    assert "e.tex: cannot write the file (No space left on device)." in found.err
    assert [path.name for path in tmp_path.iterdir()] == ["e.tex"]
    assert (tmp_path / "e.tex").read_text() == "old"


def test_unknown_formalism(run):
    found = run("derive", "cart-pendulum", "--formalism", "lagrnge")
    assert found.code == 2
    assert "there is no formalism 'lagrnge'. Did you mean 'lagrange'?" in found.err


def test_unknown_format(run):
    found = run("derive", "cart-pendulum", "--format", "xml")
    assert found.code == 2
    assert "argument --format: got 'xml', expected text, latex, html or json" in found.err


def test_output_below_a_file_is_refused(run, tmp_path):
    (tmp_path / "file").write_text("here")
    found = run("derive", "cart-pendulum", "--output", "file/equations.tex")
    assert found.code == 2
    assert "--output file/equations.tex: 'file' is not a directory." in found.err


def test_formalism_that_does_not_apply(run, tmp_path):
    (tmp_path / "free.toml").write_text(
        'name = "free"\n[coordinates]\nx = {}\n[energies]\nkinetic = "dot(x)**2/2"\npotential = 0\n'
    )
    found = run("derive", "free.toml", "--formalism", "gibbs_appell", "--json")
    assert (found.code, found.data["kind"]) == (2, "NotApplicableError")
    assert "Formalisms that can: lagrange" in found.err
