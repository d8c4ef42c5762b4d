"""Units do not matter: every gallery model with lengths, masses and times × 10^±6 has the same facts and the same motion.

`scaled` rewrites a model in other units (conftest.py). The usual run takes a dozen small models, `make nightly` all of them.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert import formalisms
from dalembert.gallery import names
from dalembert.handles.trajectory import Trajectory
from dalembert.kinematics.contacts import with_contacts
from dalembert.model import Model
from dalembert.structure import Facts, facts_of, samples

# one of each sort: open and closed chains, wheels and blades, prescribed and nonlinear constraints, motors, redundancy
USUAL = (
    "appell-hamel",
    "bead-on-wire-cartesian",
    "cart-pendulum",
    "knife-edge",
    "over-constrained",
    "phong-disk",
    "rough-surface",
    "rp-robot",
    "slider-crank-3",
    "spherical-pendulum",
    "two-link-robot",
    "vertical-disk",
)
SCALINGS = [(unit, size) for unit in ("length", "mass", "time") for size in (Fraction(10**6), Fraction(1, 10**6))]
SHARE = 0.05  # of the duration: before chaos multiplies rounding


def _models(usual: tuple[str, ...]) -> list:
    return [pytest.param(name, marks=() if name in usual else pytest.mark.nightly) for name in names()]


every_model = pytest.mark.parametrize("name", _models(USUAL))
in_other_units = pytest.mark.parametrize(
    ("unit", "size"), SCALINGS, ids=[f"{unit}{'+' if size > 1 else '-'}" for unit, size in SCALINGS]
)


@cache
def known(name: str) -> dict:
    return findings(dl.load(name))


@cache
def motion(name: str) -> Trajectory:
    model = dl.load(name)
    return dl.simulate(model, SHARE * model.duration, samples=11)


def findings(model: Model) -> dict:
    """All that is found of a model before any formalism begins, without numbers that have units."""
    written = with_contacts(model)
    facts = facts_of(written)
    report = dl.mobility(model)
    return {
        "rows": facts.rows,
        "dropped": facts.dropped,
        "ignorable": facts.ignorable,
        "reasons": set(facts.reasons),
        "speeds": [_velocities(u) for u in facts.speeds],
        "reduced": facts.reduced,
        "completing": facts.completing,
        "dependent": facts.dependent,
        "regular mass": facts.regular_mass,
        "degrees of freedom": report.degrees_of_freedom,
        "redundant": report.redundant,
        "rank at the start": report.rank_at_start,
        "warnings": len(report.warnings),
        "formalisms": _applicable(written, facts),
    }


def _velocities(speed) -> list[str]:
    return sorted(symbol.name for symbol in speed.free_symbols if symbol.name.startswith("dot("))


def _applicable(model: Model, facts: Facts) -> list[str]:
    return [key for key in formalisms.KEYS if formalisms.refusal(formalisms.find(key).ABOUT, model, facts) is None]


def gap(found: np.ndarray, expected: np.ndarray, lengths: np.ndarray) -> float:
    """The largest difference in SI, relative to the largest value of all lengths or of all angles.

    Where those are nothing but rounding beside the others, a thousandth of the others takes their place.
    """
    least = 1e-3 * np.abs(expected).max()
    groups = [group for group in (lengths, ~lengths) if group.any()]
    return max(
        float(np.abs(found[group] - expected[group]).max() / max(np.abs(expected[group]).max(), least))
        for group in groups
    )


@pytest.mark.parametrize("name", names())
def test_a_model_in_other_units_is_the_same_model(scaled, name):
    # by recursion from body to body, which has no need of facts
    model = dl.load(name)
    other = scaled(model, length=2, mass=3, time=5)
    states = samples.consistent(with_contacts(model), 3, include_initial=True)
    qdd = dl.forward_dynamics(model, states.q, states.qd, None, states.t, friction=True)
    q, qd, t = other.positions(states.q), other.velocities(states.qd), other.times(states.t)
    found = dl.forward_dynamics(other.model, q, qd, None, t, friction=True)
    assert gap(other.accelerations_before(found), qdd, other.lengths) < 1e-12


def test_the_rewriting_reaches_lengths_masses_and_times(scaled):
    model = dl.load("cart-pendulum")
    for unit in ("length", "mass", "time"):
        other = scaled(model, **{unit: 7})
        assert str(other.model.bodies) != str(model.bodies) or str(other.model.gravity) != str(model.gravity)
        assert str(other.model.loads) != str(model.loads)  # a torque has all three


@every_model
@in_other_units
def test_the_same_facts_in_other_units(scaled, name, unit, size):
    assert findings(scaled(dl.load(name), **{unit: size}).model) == known(name)


@every_model
@in_other_units
def test_the_same_motion_in_other_units(scaled, name, unit, size):
    expected = motion(name)
    other = scaled(dl.load(name), **{unit: size})
    found = dl.simulate(other.model, SHARE * other.model.duration, samples=11)
    assert gap(other.positions_before(found.q), expected.q, other.lengths) < 1e-8
    assert gap(other.velocities_before(found.qd), expected.qd, other.lengths) < 1e-8


@pytest.mark.parametrize("name", ["cart-pendulum", "knife-edge", "over-constrained", "slider-crank-3"])
@in_other_units
def test_all_formalisms_agree_in_other_units(scaled, name, unit, size):
    agreement = dl.verify(scaled(dl.load(name), **{unit: size}).model, states=20, engines=["portable"])
    assert agreement.agrees, agreement.to_dict()
    assert agreement.states == 20
    expected = dl.verify(dl.load(name), states=20, engines=["portable"])
    status = {key: verdict.status for key, verdict in agreement.formalisms.items()}
    assert status == {key: verdict.status for key, verdict in expected.formalisms.items()}
