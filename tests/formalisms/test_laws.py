"""The motion satisfies the final equations of every formulation."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
import symengine as se

import dalembert as dl
from dalembert.api.derive import equations_of
from dalembert.api.equation_display import DerivationDisplay
from dalembert.api.equations import Equations
from dalembert.io import gallery
from dalembert.symbolic.symbols import SymbolKind

MODELS = ("double-pendulum", "cart-pendulum", "slider-crank-2", "spherical-pendulum", "heavy-top", "rough-surface")
KEYS = (
    "lagrange",
    "kane",
    "gibbs_appell",
    "boltzmann_hamel",
    "volterra",
    "volterra_reduced",
    "routh",
    "poincare",
    "hamilton",
    "dirac",
)
PAIRS = [
    pytest.param(model, key, marks=() if model in MODELS[:3] else pytest.mark.nightly)
    for model, key in itertools.product(MODELS, KEYS)
    if (model, key) != ("slider-crank-2", "dirac")
]
PAIRS.append(pytest.param("slider-crank-2", "dirac", marks=pytest.mark.slow(2)))


@cache
def derived(model: str, key: str) -> Equations | None:
    description = gallery.load(model)
    try:
        return equations_of(description, key)
    except dl.NotApplicableError:
        return None


@cache
def reading(model: str, key: str) -> DerivationDisplay | None:
    eom = derived(model, key)
    return None if eom is None else eom._display


def moving(eom: Equations, state: dict[str, float]) -> dict[str, float]:
    """Values of the velocity variables of a form, their rates, and its constants of the motion."""
    form, system = eom.symbolic, eom.symbolic.system
    values = form.velocity.v_from_qd
    rates = system.derivative(values)
    out = {}
    for symbol, value, rate in zip(form.velocity.v, values, rates, strict=True):
        if str(symbol) not in state:
            out |= {str(symbol): number(value, state), SymbolKind.RATE.of(symbol): number(rate, state)}
    for symbol, value in zip(form.constants.symbols, form.constants.values, strict=True):
        out[str(symbol)] = number(value, state)
    return out


def number(value: object, at: dict[str, float]) -> float:
    expression = se.sympify(value)
    return float(expression.subs({s: at[str(s)] for s in expression.free_symbols}).n(53, real=True))


def in_motion(model: str) -> dict[str, float]:
    """A state on the constraints with the accelerations of Lagrange's equations."""
    eom = derived(model, "lagrange")
    assert eom is not None
    names, rng = eom.model.coordinate_names, np.random.default_rng(5)
    start = dl.assemble_state(eom.model)
    q, qd = np.array(start.q), np.array(start.qd)
    if not len(eom.constraint_names):
        q, qd = q + rng.uniform(0.2, 0.5, len(q)), qd + rng.uniform(0.2, 0.5, len(q))
    qdd = eom.accelerations(q, qd)
    out = {"t": 0.0, **eom.model.parameter_values}
    for i, name in enumerate(names):
        out |= {name: q[i], SymbolKind.RATE.of(name): qd[i], SymbolKind.ACCELERATION.of(name): qdd[i]}
    return {name: float(value) for name, value in out.items()}


@pytest.mark.parametrize(("model", "key"), PAIRS)
def test_motion_satisfies_the_laws(model: str, key: str) -> None:
    found, eom = reading(model, key), derived(model, key)
    if found is None or eom is None:
        return
    state = in_motion(model)
    state |= moving(eom, state)
    for name, meaning in found.meanings.items():  # each in terms of the preceding ones
        state[name] = number(meaning, state)
    rows = [(a - b) for law in found.laws for a, b in zip(law.left, law.right, strict=True)]
    unknown = sorted({s for row in rows for s in row.free_symbols if str(s) not in state}, key=str)
    assert all(str(s).startswith(("lambda[", "Lambda[", "S_c[")) for s in unknown), unknown
    rest = np.array([number(row.subs(dict.fromkeys(unknown, 0)), state) for row in rows])
    slopes = np.array([[number(row.diff(s), state) for s in unknown] for row in rows]).reshape(len(rows), len(unknown))
    if unknown:
        force = np.linalg.lstsq(slopes, -rest, rcond=None)[0]
        rest = rest + slopes @ force
    scale = max(1.0, *(abs(value) for value in state.values()))
    assert np.abs(rest).max(initial=0) <= 1e-9 * scale
