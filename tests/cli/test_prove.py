"""`dalembert prove`: tables, summary, JSON and exit codes."""

from dataclasses import replace

from dalembert.formalisms import catalog


def test_prints_tables_and_a_summary(run):
    found = run("prove", "cart-pendulum")
    assert found.code == 0
    assert found.out.count("proved") >= len(catalog.KEYS) - 1
    assert "energy rate = power" in found.out
    assert "17 formalisms of 'cart-pendulum' are identical functions of state and time" in " ".join(found.out.split())
    assert "nonholonomic" in found.out  # the reason why dirac does not apply


def test_proof_as_json(run):
    found = run("prove", "simple-pendulum", "--formalism", "kane", "--json")
    assert found.code == 0
    data = found.data
    assert data["proved"] is True
    assert list(data["formalisms"]) == ["lagrange", "kane"]
    assert data["probability"] <= 2.0**-60


def test_unknown_formalism(run):
    found = run("prove", "simple-pendulum", "--formalism", "kain")
    assert found.code == 2
    assert "Did you mean 'kane'?" in found.err


def test_different_functions_exit_with_code_1(run, monkeypatch):
    module = catalog.find("hamilton")
    right = module.derive

    def wrong(*args, **named):
        found = right(*args, **named)
        linear = replace(found.form.linear, f=found.form.linear.f * 1.000000001)
        return replace(found, form=replace(found.form, linear=linear))

    monkeypatch.setattr(module, "derive", wrong)
    found = run("prove", "double-pendulum", "--formalism", "hamilton")
    assert found.code == 1
    assert "different" in found.out
