"""`dalembert verify`."""

from __future__ import annotations

from dalembert.formalisms import catalog

FEW = ("--states", "10", "--engine", "python")


def test_formalisms_agree(run):
    found = run("verify", "cart-pendulum", *FEW)
    assert (found.code, found.err) == (0, "")
    for key in catalog.KEYS:
        verdict = "refused" if key == "dirac" else "agrees"  # the wheel is nonholonomic
        assert any(line.split()[:2] == [key, verdict] for line in found.out.splitlines())
    sentence = f"{len(catalog.KEYS) - 1} formalisms of 4 independent lineages agree at 10 states of 'cart-pendulum'"
    assert sentence in " ".join(found.out.split())


def test_table_is_grouped_by_lineage(run):
    lines = run("verify", "simple-pendulum", *FEW).out.splitlines()
    begins = [line.split()[0] for line in lines if line.split()[1:2] == ["agrees"]]
    assert begins[:4] == ["lagrange", "boltzmann_hamel", "routh", "poincare"]
    assert begins[-1] == "recursion"
    assert any(line.startswith("gauss") and "T, V, free motion" in line for line in lines)


def test_as_json(run):
    found = run("verify", "cart-pendulum", *FEW, "--json").data
    assert found["agrees"] is True
    assert (found["states"], found["n_lineages"]) == (10, 4)
    assert {
        "facts": ["T", "V", "free motion"],
        "by": ["maggi", "udwadia_kalaba", "gauss", "phong", "nullspace"],
    } in found["lineages"]
    assert found["engines"] == ["python"]
    assert found["max_difference"] < 1e-10
    assert found["formalisms"]["kane"]["status"] == "agrees"


def test_differences_exit_with_code_1(run):
    found = run("verify", "cart-pendulum", *FEW, "--tolerance", "1e-30")
    assert found.code == 1
    assert "The formalisms differ on 'cart-pendulum'" in found.out
    found = run("verify", "cart-pendulum", *FEW, "--tolerance", "1e-30", "--json")
    assert found.code == 1
    assert found.data["agrees"] is False


def test_reports_why_formalisms_do_not_apply(run, tmp_path):
    (tmp_path / "free.toml").write_text(
        'name = "free"\n[coordinates]\nx = {}\n[energies]\nkinetic = "dot(x)**2/2"\npotential = "x"\n'
    )
    found = run("verify", "free.toml", *FEW)
    assert found.code == 0
    line = next(line for line in found.out.splitlines() if line.startswith("gibbs_appell"))
    assert "refused" in line
    assert "the model is defined by energies" in line


def test_energy_models_have_two_independent_lineages(run, tmp_path):
    (tmp_path / "free.toml").write_text(
        'name = "free"\n[coordinates]\nx = {}\n[energies]\nkinetic = "dot(x)**2/2"\npotential = "x"\n'
    )
    assert "formalisms of 2 independent lineages agree at 10 states" in " ".join(
        run("verify", "free.toml", *FEW).out.split()
    )


def test_unknown_engine(run):
    found = run("verify", "cart-pendulum", "--engine", "natve")
    assert found.code == 2
    assert "argument --engine: got 'natve', expected native or python. Did you mean 'native'?" in found.err


def test_wrong_numbers(run):
    assert "--states: got '0', expected an int from 1 to" in run("verify", "cart-pendulum", "--states", "0").err
    assert "--tolerance: got '-1', expected a positive" in run("verify", "cart-pendulum", "--tolerance=-1").err
