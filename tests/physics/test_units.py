"""Invariance under units: every gallery model with lengths, masses and times × 10^±6 has the same structure and motion.

`scaled` rewrites a model in other units (conftest.py). The daily run uses a few small models, the nightly run all of them.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.api.trajectory import Trajectory
from dalembert.formalisms import catalog
from dalembert.io.gallery import names
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.facts import Facts, facts_of
from dalembert.model.description import Elements
from dalembert.model.model import Model

# one of each type: open and closed chains, wheels and blades, prescribed and nonlinear constraints, motors, redundancy
USUAL = (
    "cart-pendulum",
    "knife-edge",
    "over-constrained",
    "rough-surface",
    "two-link-robot",
    "vertical-disk",
)
SCALINGS = [(unit, size) for unit in ("length", "mass", "time") for size in (Fraction(10**6), Fraction(1, 10**6))]
SHARE = 0.05  # of the duration: before chaos multiplies rounding
# the quarter car is at rest before its bump; two impacts of the woodpecker multiply rounding by 100
SHARES = {
    "quarter-car": 0.25,
    "woodpecker": 0.03,
    # until impacts have ended and stick-slip has occurred
    "bouncing-ball": 0.95,
    "incline-block": 0.5,
    "painleve-rod": 0.9,
    "stick-slip-oscillator": 0.5,
}
CONTACTS = ("bouncing-ball", "painleve-rod", "stick-slip-oscillator")


def _models(usual: tuple[str, ...]) -> list:
    return [pytest.param(name, marks=() if name in usual else pytest.mark.nightly) for name in names()]


def _label(unit: str, size: Fraction) -> str:
    return f"{unit}{'+' if size > 1 else '-'}"


def _models_in_other_units(usual: tuple[str, ...]) -> list:
    """The usual models in all units, every other model in two of them: a large and a small unit of different dimensions."""
    out = []
    for position, name in enumerate(names()):
        chosen = SCALINGS if name in usual else [SCALINGS[(position + shift) % 6] for shift in (0, 3)]
        marks = () if name in usual else pytest.mark.nightly
        out += [pytest.param(name, *each, marks=marks, id=f"{_label(*each)}-{name}") for each in chosen]
    return out


every_model = pytest.mark.parametrize("name", _models(USUAL))
MOVING = ("cart-pendulum", "knife-edge", "over-constrained", "slider-crank-3", *CONTACTS)
in_other_units = pytest.mark.parametrize(("unit", "size"), SCALINGS, ids=[_label(*each) for each in SCALINGS])


@cache
def known(name: str) -> dict:
    return findings(dl.load(name))


@cache
def motion(name: str) -> Trajectory:
    model = dl.load(name)
    return dl.simulate(model, SHARES.get(name, SHARE) * model.duration, samples=11)


def findings(model: Model) -> dict:
    """The structure of a model before any formalism, without dimensional numbers."""
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
        "completing": [_velocities(u) for u in facts.completing],
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


def _applicable(model: Elements, facts: Facts) -> list[str]:
    return [key for key in catalog.KEYS if catalog.unsupported_reason(catalog.find(key).ABOUT, model, facts) is None]


def gap(found: np.ndarray, expected: np.ndarray, lengths: np.ndarray) -> float:
    """The largest difference in SI, relative to the largest value of all lengths or of all angles.

    Where these are only rounding errors compared with the others, a thousandth of the others is used instead.
    """
    least = 1e-3 * np.abs(expected).max()
    groups = [group for group in (lengths, ~lengths) if group.any()]
    return max(
        float(np.abs(found[group] - expected[group]).max() / max(np.abs(expected[group]).max(), least))
        for group in groups
    )


@every_model
def test_a_model_in_other_units_is_the_same_model(scaled, name):
    # by recursion, which needs no structural analysis
    model = dl.load(name)
    other = scaled(model, length=2, mass=3, time=5)
    states = state_batch.consistent_states(with_contacts(model), 3, include_initial=True)
    qdd = dl.forward_dynamics(model, states.q, states.qd, None, states.t, friction=True)
    q, qd, t = other.positions(states.q), other.velocities(states.qd), other.times(states.t)
    found = dl.forward_dynamics(other.model, q, qd, None, t, friction=True)
    assert gap(other.accelerations_before(found), qdd, other.lengths) < 1e-11


def test_conversion_covers_lengths_masses_and_times(scaled):
    model = dl.load("cart-pendulum")
    for unit in ("length", "mass", "time"):
        other = scaled(model, **{unit: 7})
        assert str(other.model.bodies) != str(model.bodies) or str(other.model.gravity) != str(model.gravity)
        assert str(other.model.loads) != str(model.loads)  # a torque has all three


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "unit", "size"), _models_in_other_units(USUAL))
def test_structure_is_independent_of_units(scaled, name, unit, size):
    assert findings(scaled(dl.load(name), **{unit: size}).model) == known(name)


@pytest.mark.parametrize(("name", "unit", "size"), _models_in_other_units(MOVING))
def test_motion_is_independent_of_units(scaled, name, unit, size):
    expected = motion(name)
    other = scaled(dl.load(name), **{unit: size})
    found = dl.simulate(other.model, SHARES.get(name, SHARE) * other.model.duration, samples=11)
    assert gap(other.positions_before(found.q), expected.q, other.lengths) < 1e-8
    assert gap(other.velocities_before(found.qd), expected.qd, other.lengths) < 1e-8
    assert switchings_after_the_start(found) == switchings_after_the_start(expected)


def switchings_after_the_start(run: Trajectory) -> list[bool]:
    """Which of the events are switchings; their names contain formulas, which differ between units.

    At the start a foot may touch the ground to rounding, which decides whether contact begins at t = 0 or exists already.
    """
    return [each.switching for each in run.records if each.t > 0]


def block_on_feet(**law) -> Model:
    """A block that begins to slide at contact: initially neither normal force nor slip is determined."""
    model = Model("block", gravity=(0, 0, -9.81)).coordinates("x", "y").coordinate("z", 0.1)
    rails = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y"), model.prismatic((0, 0, 1), "z")]
    model.body("block", joint=rails, mass=2).force("block", (3, 4, 0))
    return model.sphere_on_plane("block", radius=0.1, stiffness=2000, friction=0.1, **law).simulation(0.1)


@pytest.mark.parametrize("law", [{"viscous": 50, "damping": 20}, {"exponent": "3/2"}], ids=["viscous", "hertz"])
@in_other_units
def test_contact_onset_is_independent_of_units(scaled, law, unit, size):
    model = block_on_feet(**law)
    expected = dl.simulate(model, samples=5)
    other = scaled(model, **{unit: size})
    found = dl.simulate(other.model, samples=5)
    assert gap(other.positions_before(found.q), expected.q, other.lengths) < 1e-11
    assert switchings_after_the_start(found) == switchings_after_the_start(expected)


@cache
def agreed(name: str) -> dict[str, str]:
    """The status of every formalism in the units of the model."""
    found = dl.verify(dl.load(name), states=20, engines=["python"])
    return {key: verdict.status for key, verdict in found.formalisms.items()}


@pytest.mark.parametrize(
    "name",
    [
        "knife-edge",
        "slider-crank-3",
        *(pytest.param(n, marks=pytest.mark.nightly) for n in ("cart-pendulum", "over-constrained")),
    ],
)
@in_other_units
def test_all_formalisms_agree_in_other_units(scaled, name, unit, size):
    agreement = dl.verify(scaled(dl.load(name), **{unit: size}).model, states=20, engines=["python"])
    assert agreement.agrees, agreement.to_dict()
    assert agreement.states == 20
    assert {key: verdict.status for key, verdict in agreement.formalisms.items()} == agreed(name)


def two_clocks() -> Model:
    """A slow mass on a spring and an uncoupled fast pendulum."""
    model = Model("two-clocks", gravity=(0, -9.81, 0)).coordinate("x", 1.0).coordinate("a", 0.5)
    model.body("slow", joint=model.prismatic((1, 0, 0), "x"), mass=1).joint_spring("slow", stiffness=1)
    model.body("fast", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0, -0.05, 0))
    return model.simulation(10.0)


@pytest.mark.parametrize("integrator", ["taylor", pytest.param("dop853", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("size", [Fraction(10**9), Fraction(1, 10**9)], ids=["length+", "length-"])
def test_large_values_do_not_degrade_small_ones(scaled, size, integrator):
    engine = "python" if integrator == "dop853" else None
    options = {"samples": 11, "integrator": integrator}
    model = two_clocks()
    expected = dl.derive(model, engine=engine).simulate(**options)
    assert np.allclose(expected.q[0], np.cos(expected.t), atol=1e-8)
    other = scaled(model, length=size)
    found = dl.derive(other.model, engine=engine).simulate(**options)
    tolerance = 1e-12 if integrator == "taylor" else 1e-8
    assert np.abs(other.positions_before(found.q) - expected.q).max() < tolerance


@pytest.mark.nightly
@pytest.mark.parametrize("formalism", ["hamilton", "kane", "volterra_reduced"])
@in_other_units
def test_momenta_and_speeds_in_other_units(scaled, formalism, unit, size):
    model = dl.load("cart-pendulum")
    expected = dl.simulate(model, 2.0, formalism=formalism, samples=5)
    other = scaled(model, **{unit: size})
    found = dl.simulate(other.model, other.times(2.0), formalism=formalism, samples=5)
    assert gap(other.positions_before(found.q), expected.q, other.lengths) < 1e-8


@pytest.mark.parametrize("reach", [1.0, 1e-6, 1e6])
def test_nonlinear_speed_is_rejected_in_any_units(reach):
    model = Model("wire").parameters(r=reach).coordinate("x", 0.0).coordinate("y", 0.5 * reach)
    rail = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    model.body("bead", joint=rail, mass=1).speed("sqrt(r**2 - x**2 - y**2)*dot(y)**2")
    assert any("not linear" in str(problem) for problem in model.check())


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_initial_state_off_the_constraints_is_rejected_in_any_units(unit):
    def wire(y: float) -> Model:
        model = Model("wire", gravity=(0, -9.81 * unit, 0)).coordinate("x", 0.6 * unit).coordinate("y", y)
        rail = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
        model.body("bead", joint=rail, mass=1)
        return model.parameters(r=unit).holonomic("x**2 + y**2 - r**2")

    dl.simulate(wire(-0.8 * unit), 0.1, samples=2)
    with pytest.raises(dl.InconsistentStateError, match="does not satisfy"):
        dl.simulate(wire(-0.8 * unit * (1 + 1e-5)), 0.1, samples=2)
