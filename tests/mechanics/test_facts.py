"""Structural facts: ignorable coordinates, independent constraints, choice of speeds."""

import numpy as np
import pytest
from gallery_models import by_size

import dalembert as dl
from dalembert.errors import InputError
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import Constraints, levels, with_contacts
from dalembert.mechanics.facts import facts_of
from dalembert.mechanics.generalized_speeds import speed_map
from dalembert.mechanics.state_batch import formulas_at
from dalembert.model.joints.base import Joint
from dalembert.model.model import Model
from dalembert.symbolic.floats import numbers


def plane(*more: str) -> Model:
    """A point in the plane at (x, y), away from the origin."""
    model = Model("plane").parameters(m=2.0).coordinate("x", 1.0).coordinate("y", 0.5)
    joints: list[Joint] = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    for name in more:
        model.coordinate(name)
        joints.append(model.revolute((0, 0, 1), name))
    return model.body("point", joint=joints, mass="m", inertia=(0.3, 0.3, 0.3))


def orbit() -> Model:
    """A point in polar coordinates on a spring to the origin."""
    model = Model("orbit").parameters(m=2.0, k=3.0).coordinate("r", 1.0, 0.2).coordinate("phi", 0.3, 0.9)
    joints = [model.revolute((0, 0, 1), "phi"), model.prismatic((1, 0, 0), "r")]
    return model.body("point", joint=joints, mass="m").spring(("world", "point"), stiffness="k", natural_length=0.2)


def ignorable(model: Model) -> tuple[str, ...]:
    return tuple(model.coordinate_names[i] for i in facts_of(model).ignorable)


def chosen_map(model: Model) -> np.ndarray:
    """[Y; a] at random states, (K, n, n)."""
    known, states = facts_of(model), state_batch.consistent_states(model, 20, seed=7)
    motion = formulas_at(model, states)
    Y = numbers(speed_map(motion, known.speeds)[0], 20)
    a = numbers(Constraints(motion, levels(motion.model)).A[list(known.rows)], 20)
    return np.moveaxis(np.concatenate([Y, a]), -1, 0)


# ignorable coordinates: Definition 1 of papers/volterra


def test_coordinate_that_enters_only_by_its_velocity_is_ignorable():
    assert ignorable(plane()) == ("x", "y")


def test_coordinate_in_canceling_terms_is_ignorable():
    # T = ½ m (ṙ² + r²φ̇²) after sin²φ + cos²φ = 1, and the spring's length is r after the same
    assert ignorable(orbit()) == ("phi",)


def test_a_coordinate_in_the_energies_that_cancels_is_ignorable():
    model = Model.from_energies(
        "cancel", coordinates=["x", "y"], kinetic="dot(x)**2 + (sin(x)**2 + cos(x)**2)*dot(y)**2", potential="y**2"
    )
    assert ignorable(model) == ("x",)


def refutations(model: Model) -> dict[str, str]:
    known = facts_of(model)
    found = {model.coordinate_names[i] for i in known.ignorable}
    return {name: reason for name, reason in known.reasons.items() if name not in found}


def test_a_coordinate_in_the_lagrangian_is_not_ignorable():
    assert refutations(orbit()) == {"r": "the Lagrangian depends on r"}


def test_gravity_refutes_the_coordinate_along_it():
    model = Model("falling", gravity=(0, -9.81, 0)).coordinates("x", "y")
    model.body("stone", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    assert refutations(model) == {"y": "the Lagrangian depends on y"}
    assert ignorable(model) == ("x",)


def test_a_coordinate_with_a_column_in_a_constraint_is_not_ignorable():
    model = plane("theta").nonholonomic("sin(theta)*dot(x) - cos(theta)*dot(y)", name="blade")
    # theta is in the constraint, but only its velocity would give it a column
    assert refutations(model) == {
        "x": "the constraint 'blade' has a non-zero column for x",
        "y": "the constraint 'blade' has a non-zero column for y",
    }


def test_a_coordinate_with_a_generalized_force_is_not_ignorable():
    model = plane().force("point", ("0.1*sin(t)", 0, 0), name="push")
    assert refutations(model) == {"x": "the generalized force on x is not zero"}
    assert ignorable(model) == ("y",)


def test_partially_undefined_force_counts_as_force():
    # sqrt(1.5 − x) has no value at some random states around x = 1
    model = plane().force("point", ("sqrt(1.5 - x)", 0, 0), name="pull")
    assert refutations(model) == {"x": "the generalized force on x is not zero"}


def test_forces_that_cancel_leave_a_coordinate_ignorable():
    model = plane().force("point", (2, 0, 0), name="push").force("point", (-2, 0, 0), name="pull")
    assert ignorable(model) == ("x", "y")


@pytest.mark.parametrize("name", by_size(dl.gallery.names()))
def test_every_coordinate_has_a_proof_or_a_refutation(name):
    model = with_contacts(dl.load(name))
    known = facts_of(model)
    found = {model.coordinate_names[i] for i in known.ignorable}
    assert set(known.reasons) == set(model.coordinate_names)
    assert {name for name, reason in known.reasons.items() if reason.startswith("ignorable")} == found


# speeds


def test_chosen_speeds_are_well_conditioned():
    # with ẏ = −10⁻⁴ ẋ the velocity of x is free; ẏ would be a bad choice
    model = plane().nonholonomic("0.0001*dot(x) + dot(y)")
    known = facts_of(model)
    assert known.chosen
    assert [str(u) for u in known.speeds] == ["dot(x)"]
    assert np.linalg.cond(chosen_map(model)).max() < 10


@pytest.mark.parametrize("seed", range(5))
def test_chosen_speeds_of_random_models_determine_the_velocities(random_tree, seed):
    model = random_tree(seed, bodies=4, coordinates=6, holonomic=1, nonholonomic=1)
    assert np.linalg.cond(chosen_map(model)).max() < 1e4


def test_user_speeds_are_completed():
    known = facts_of(plane("theta").speed("dot(x) + dot(y)", name="sum"))
    assert known.speed_names[0] == "sum"
    assert known.d == 3
    assert not known.chosen


def test_names_of_added_speeds_are_free():
    model = Model("names").coordinates("u1", "u3")
    model.body("point", joint=[model.prismatic((1, 0, 0), "u1"), model.prismatic((0, 1, 0), "u3")], mass=1)
    assert facts_of(model).speed_names == ("u2", "u4")


def test_rejects_too_many_speeds():
    model = plane().nonholonomic("dot(x) + dot(y)").speeds("dot(x)", "dot(y)")
    with pytest.raises(InputError) as caught:
        facts_of(model)
    assert str(caught.value) == (
        "model 'plane': 2 generalized speeds for 1 degrees of freedom (2 coordinates, 1 independent constraints). "
        "Define at most 1 speeds, or none."
    )


def test_rejects_dependent_speeds():
    with pytest.raises(InputError) as caught:
        facts_of(plane().speed("dot(x) + dot(y)", name="a").speed("2*dot(x) + 2*dot(y)", name="b"))
    assert str(caught.value) == (
        "model 'plane': the speeds a, b are linearly dependent on each other or on the constraints. "
        "Expected independent combinations of the velocities. Replace one of them."
    )


def test_rejects_speed_prescribed_by_constraints():
    with pytest.raises(InputError, match="linearly dependent on each other or on the constraints"):
        facts_of(plane().nonholonomic("dot(x) + dot(y)").speeds("dot(x) + dot(y)"))


@pytest.mark.parametrize("speeds", [("dot(r) + dot(phi)",), ("dot(phi) - dot(r)", "r*dot(phi) + 2*dot(r)")])
def test_speeds_may_mix_ignorable_and_other_velocities(speeds):
    model = orbit().speeds(*speeds)
    reduced = dl.derive(model, "volterra_reduced", engine="python")
    assert (reduced.n_dynamic, reduced.ignorable) == (1, ("phi",))
    r, phi, rd, phid = 1.3, 0.4, 0.7, -0.8
    qdd = reduced.accelerations([r, phi], [rd, phid])
    assert np.allclose(qdd, [r * phid**2 - 3.0 / 2.0 * (r - 0.2), -2 * rd * phid / r], rtol=1e-12)


# redundant constraints


def test_redundant_constraints_are_dropped_and_named():
    model = plane("theta").nonholonomic("dot(x) - dot(y)", name="first").start([1.0, 0.5, 0.0], [0, 0, 0])
    model.nonholonomic("dot(theta) + x*dot(y)", name="second")
    model.nonholonomic("2*dot(x) + 3*dot(theta) - 2*dot(y) + 3*x*dot(y)", name="both")
    known = facts_of(model)
    assert len(known.rows) == 2
    assert known.d == 1
    assert len(known.dropped) == 1
    eom = dl.derive(model, "lagrange", engine="python")
    assert eom.notes == (f"redundant constraints dropped: {known.dropped[0]}; multipliers have minimum norm",)


def test_a_redundant_constraint_changes_nothing():
    single = plane().holonomic("x - 2*y", name="line").start([1.0, 0.5], [0, 0]).force("point", (3, 1, 0))
    double = single.copy().holonomic("3*x - 6*y", name="again")
    q, qd = [1.0, 0.5], [0.4, 0.2]
    once, twice = (dl.derive(model, "lagrange", engine="python") for model in (single, double))
    assert facts_of(double).dropped == ("again",)
    assert np.allclose(once.accelerations(q, qd), twice.accelerations(q, qd))
    assert np.allclose(once.reactions(q, qd), twice.reactions(q, qd))
    # the smallest λ with Aᵀλ = reaction shares the load between both rows
    (lam,) = once.multipliers(q, qd)
    assert np.allclose(twice.multipliers(q, qd), [lam / 10, 3 * lam / 10])
