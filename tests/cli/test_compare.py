"""`dalembert compare`."""

from __future__ import annotations

import re

import pytest

from dalembert.formalisms import catalog

SHORT = ("--duration", "1", "--samples", "11")


def test_counts_of_the_cart_pendulum(run):
    rows = {row["formalism"]: row for row in run("compare", "cart-pendulum", *SHORT, "--json").data["rows"]}
    keys = ["lagrange", "maggi", "gibbs_appell", "volterra_reduced"]
    assert [rows[key]["n_dynamic"] for key in keys] == [3, 3, 2, 1]
    assert [rows[key]["n_states"] for key in keys] == [6, 6, 5, 4]
    assert list(rows["lagrange"]) == [
        "formalism",
        "n_dynamic",
        "n_states",
        "operations",
        "cpu_seconds",
        "energy_error",
        "constraint_error",
        "momentum_error",
        "failure",
    ]


def test_table_lists_every_formalism(run):
    found = run("compare", "cart-pendulum", *SHORT)
    assert (found.code, found.err) == (0, "")
    heading = next(line for line in found.out.splitlines() if line.startswith("formalism"))
    assert heading.split()[1:6] == ["equations", "states", "operations", "CPU", "s"]
    for key in catalog.KEYS:
        assert any(line.split()[:1] == [key] for line in found.out.splitlines())


@pytest.mark.parametrize("columns", ["40", "80"])
def test_table_is_complete_on_narrow_terminals(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    rows = [line.split() for line in run("compare", "cart-pendulum", *SHORT).out.splitlines()]
    found = next(row for row in rows if row[:1] == ["volterra_reduced"])
    assert found[1:3] == ["1", "4"]
    assert len(found) == 8
    assert all(re.fullmatch(r"\d\.\d\de[+-]\d\d", cell) for cell in found[5:])


def test_chosen_formalisms_and_settings(run):
    words = ("--formalism", "maggi", "--formalism", "lagrange", "--integrator", "rk45", "--engine", "python")
    data = run("compare", "cart-pendulum", *words, *SHORT, "--rtol", "1e-6", "--set", "m1=2", "--json").data
    assert [row["formalism"] for row in data["rows"]] == ["maggi", "lagrange"]
    assert (data["integrator"], data["duration"]) == ("rk45", 1.0)


def test_reports_why_formalisms_do_not_apply(run, tmp_path):
    (tmp_path / "free.toml").write_text(
        'name = "free"\n[coordinates]\nx = {}\n[energies]\nkinetic = "dot(x)**2/2"\npotential = "x"\n'
    )
    found = run("compare", "free.toml", *SHORT)
    assert found.code == 0
    assert "gibbs_appell does not apply: the model is defined by energies" in found.out
    selected = run("compare", "free.toml", *SHORT, "--formalism", "gibbs_appell")
    assert selected.code == 2
    assert "formalism 'gibbs_appell' cannot treat model 'free'" in selected.err


def test_plots(run, tmp_path):
    found = run("compare", "cart-pendulum", *SHORT, "--formalism", "lagrange,kane", "--plot", "out/cart-pendulum")
    assert (found.code, found.err) == (0, "")
    last = found.out.splitlines()[-1]
    assert last.startswith("written: out/cart-pendulum")
    written = list((tmp_path / "out/cart-pendulum").iterdir())
    assert written
    assert all(path.stat().st_size > 1000 for path in written)


def test_plots_and_json(run, tmp_path):
    words = ("--formalism", "kane", "--plot", "out", "--panels", "energy", "--json")
    found = run("compare", "simple-pendulum", *SHORT, *words)
    assert found.data["model"] == "simple-pendulum"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["energy.png"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--formalism", "kan"], "there is no formalism 'kan'. Did you mean 'kane'?"),
        (["--integrator", "ode45"], "argument --integrator: got 'ode45', expected auto, taylor,"),
        (["--plot", "file"], "--plot file: 'file' is not a directory."),
        (["--plot", "out", "--panels", "phase"], "there is no panel 'phase'."),
        (["--duration", "-1"], "argument --duration: got '-1'"),
        (["--set", "m9=1"], "there is no parameter 'm9'."),
    ],
)
def test_wrong_input(run, tmp_path, words, message):
    (tmp_path / "file").write_text("here")
    found = run("compare", "cart-pendulum", *words, "--json")
    assert found.code == 2
    assert message in found.data["error"]


def test_failed_simulation_is_a_row_with_exit_code_1(run, tmp_path):
    words = ("phong-pendulum", "--duration", "0.2", "--samples", "5", "--integrator", "collocation")
    found = run("compare", *words, "--formalism", "lagrange", "--formalism", "phong", "--plot", "out")
    assert found.code == 1
    rows = [line.split() for line in found.out.splitlines()]
    failed, done = (next(row for row in rows if row[:1] == [key]) for key in ("lagrange", "phong"))
    assert failed[4:] == ["failed", "-", "-", "-"]
    assert float(done[5]) < 1e-8
    assert "lagrange failed: the integrator 'collocation' requires equations" in found.out
    assert list((tmp_path / "out").iterdir())
    both = run("compare", *words, "--formalism", "lagrange", "--formalism", "phong", "--json")
    assert both.code == 1
    assert [row["failure"] is None for row in both.data["rows"]] == [False, True]
