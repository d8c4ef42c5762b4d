"""An unsupported model raises an error with the element, the reason, and the formulations that support it."""

import re

import pytest

import dalembert as dl
from dalembert.errors import NotApplicableError
from dalembert.formalisms import catalog


def message_of(name: str, key: str) -> str:
    with pytest.raises(NotApplicableError) as caught:
        dl.derive(dl.load(name), key, engine="python")
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "key", "reason"),
    [
        ("cart-pendulum", "dirac", "the constraint 'wheel' is nonholonomic, and a stationary action"),
        ("appell-hamel", "kane", "is nonlinear in the velocities"),
        ("appell-hamel", "gibbs_appell", "is nonlinear in the velocities"),
        ("tracking", "volterra", "has feedback, so its velocity level is violated until it converges"),
        ("rolling-disk", "dirac", "is nonholonomic"),
    ],
)
def test_message_contains_the_element_and_the_alternatives(name, key, reason):
    message = message_of(name, key)
    assert message.startswith(f"formalism '{key}' cannot treat model '{name}': ")
    assert reason in message
    able = re.search(r"Formalisms that can: (.*)\.$", message)
    assert able is not None
    others = able.group(1).split(", ")
    assert key not in others
    assert set(others) <= set(catalog.KEYS)
    assert "lagrange" in others


def test_suggested_formalisms_support_the_model():
    model = dl.load("tracking")
    able = message_of("tracking", "kane").rsplit(": ", 1)[1].rstrip(".").split(", ")
    q, qd = model.initial
    known = dl.derive(model, "lagrange", engine="python").accelerations(q, qd)
    for key in able:
        assert dl.derive(model, key, engine="python").accelerations(q, qd) == pytest.approx(known, abs=1e-9)


def test_energy_models_do_not_support_formalisms_of_bodies():
    model = dl.Model.from_energies("spring", coordinates=["x"], kinetic="dot(x)**2/2", potential="x**2/2")
    for key in ("kane", "gibbs_appell", "volterra", "newton_euler", "denoc", "dalembert"):
        with pytest.raises(NotApplicableError, match="the model is defined by energies"):
            dl.derive(model, key, engine="python")


def test_large_models_skip_slow_compilation():
    model = dl.load("rope", links=61)
    reason = catalog.slow_compilation_reason(catalog.find("hamilton").ABOUT, model)
    assert reason == "61 coordinates and 0 constraints make its equations too long to compile quickly"
    assert catalog.slow_compilation_reason(catalog.find("lagrange").ABOUT, model) is None
    for key in catalog.KEYS:
        assert catalog.slow_compilation_reason(catalog.find(key).ABOUT, dl.load("stewart-platform")) is None


def test_verify_lists_skipped_formalisms(monkeypatch):
    monkeypatch.setattr(catalog, "MAX_QUICK_COMPILE", 1)
    found = dl.verify(dl.load("double-pendulum"), states=3, engines=["python"])
    left = {key for key, verdict in found.formalisms.items() if verdict.status == "left out"}
    assert left == {key for key in catalog.KEYS if catalog.find(key).ABOUT.compiles == "small"}
    assert {"maggi", "volterra"} < left
    assert not left & {"lagrange", "kane"}
    assert "2 coordinates and 0 constraints" in found.formalisms["maggi"].reason  # pyright: ignore[reportOperatorIssue]
    assert found.agrees
    complete = dl.verify(dl.load("double-pendulum"), states=3, engines=["python"], everything=True)
    assert {verdict.status for verdict in complete.formalisms.values()} == {"agrees"}
