"""Random states satisfy all kinds of constraints."""

import re

import numpy as np
import pytest
from gallery_models import by_size

import dalembert as dl
from dalembert.errors import InconsistentStateError
from dalembert.io import gallery
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.model import Model
from dalembert.model.scales import scales_of
from dalembert.symbolic.symbols import rate


def residuals(model, states):
    """φ, φ̇ and ψ at every state, by substitution into the formulas themselves; φ̇ by differences.

    Their step is wide, since a bicycle that is nearly flat on the ground loses digits in the root of its lowest point.
    """
    out, h = [], 4e-5
    names = model.coordinate_names
    for q, qd, t in zip(states.q.T, states.qd.T, states.t, strict=True):

        def table(s, q=q, qd=qd, t=t):
            rates = {rate(name): v for name, v in zip(names, qd, strict=True)}
            return {**model.parameter_values, **dict(zip(names, q + s * h * qd, strict=True)), **rates, "t": t + s * h}

        for constraint in model.holonomic_constraints:
            a, b, here, c, d = (float(constraint.phi.subs(table(s))) for s in (-2, -1, 0, 1, 2))
            out += [here, (8 * (c - b) - (d - a)) / (12 * h)]  # of fourth order
        out += [float(constraint.psi.subs(table(0))) for constraint in model.nonholonomic_constraints]
    return np.array(out)


@pytest.mark.parametrize("seed", range(6))
def test_states_of_random_models_are_consistent(random_tree, seed):
    model = random_tree(seed, coordinates=6, bodies=4, holonomic=1, nonholonomic=1)
    states = state_batch.consistent_states(model, 15)
    assert len(states) == 15
    assert np.abs(residuals(model, states)).max(initial=0) < 1e-8


@pytest.mark.parametrize("name", by_size(gallery.names()))
def test_states_of_the_gallery_are_consistent(name):
    model = with_contacts(gallery.load(name))
    states = state_batch.consistent_states(model, 10)
    servo = any(c.feedback for c in (*model.holonomic_constraints, *model.nonholonomic_constraints))
    assert servo or np.abs(residuals(model, states)).max(initial=0) < 1e-8
    far = np.abs(states.q - model.initial[0][:, None]).max(axis=1) / scales_of(model).positions
    assert model.holonomic_constraints or model.loops or far.max() <= 1 + 1e-12


def test_servo_constraints_are_sampled_off_their_target():
    model = gallery.load("tracking")
    assert np.abs(residuals(model, state_batch.consistent_states(model, 10))).min() > 1e-6


def ring(radius: float = 1.0) -> Model:
    model = Model("ring").parameters(l=radius).coordinate("x", 1.0).coordinate("y")
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    return model.holonomic("x**2 + y**2 - l**2", name="ring")


def test_nonlinear_constraints_are_satisfied_on_both_levels():
    model = ring().nonholonomic("dot(x)**2 + dot(y)**2 - 2", name="pace").start([1, 0], [0, np.sqrt(2)])
    states = state_batch.consistent_states(model, 20)
    assert np.allclose(np.hypot(*states.q), 1, atol=1e-10)
    assert np.allclose(np.sum(states.q * states.qd, axis=0), 0, atol=1e-9)
    assert np.allclose(np.sum(states.qd**2, axis=0), 2, atol=1e-9)


def test_the_same_seed_gives_the_same_states():
    first, again, other = (state_batch.consistent_states(ring(), 5, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.q, again.q)
    assert not np.array_equal(first.q, other.q)


def test_initial_state_comes_first_on_request():
    states = state_batch.consistent_states(ring(), 4, include_initial=True)
    assert len(states) == 4
    assert states.q[:, 0].tolist() == [1.0, 0.0]
    assert states.t[0] == 0


def test_parameters_can_differ_from_the_model():
    states = state_batch.consistent_states(ring(), 5, parameters={"l": 2.0})
    assert np.allclose(np.hypot(*states.q), 2)


def test_reports_unsatisfiable_constraints():
    model = ring().holonomic("x - 5 - t**2", name="far")
    with pytest.raises(InconsistentStateError) as caught:
        state_batch.consistent_states(model, 3)
    found = re.fullmatch(
        r"model 'ring': only 0 of 3 random states could be projected onto the constraints; "
        r"the nearest has a residual of (\S+) in '(ring|far)' at position level\. "
        r"Expected a neighborhood of the initial state in which the constraints can be satisfied\. "
        r"Start the model from a state that satisfies them\.",
        str(caught.value),
    )
    # on the ring x ≤ 1, and on the line x ≥ 5
    assert found is not None
    assert abs(float(found[1])) > 1


def test_states_with_undefined_formulas_are_omitted():
    model = Model("root").coordinate("x", 1.0)
    model.body("mass", joint=model.prismatic((1, 0, 0), "x"), mass=1).force("mass", ("sqrt(1.5 - x)", 0, 0))
    states = state_batch.consistent_states(model, 30)
    assert len(states) == 30
    assert states.q.max() <= 1.5


@pytest.mark.parametrize("pace", [314.0, 1e4])
def test_a_fast_drive_is_followed(pace):
    model = Model("rotor").coordinate("q", 0.0, pace).coordinate("x", 0.2)
    model.body("rotor", joint=model.revolute((0, 0, 1), "q"), mass=1, inertia=(1, 1, 1))
    model.body("arm", parent="rotor", joint=model.prismatic((1, 0, 0), "x"), mass=1).drive("q", f"{pace}*t")
    states = state_batch.consistent_states(model, 20)
    assert states.t.max() > 5
    assert np.allclose(states.q[0], pace * states.t, rtol=1e-12)
    assert np.allclose(states.qd[0], pace, rtol=1e-12)
    agreement = dl.verify(model, states=10, engines=["python"])
    assert (agreement.states, agreement.agrees) == (10, True)


def test_a_fast_crank_rotates_a_loop_in_all_positions():
    model = gallery.load("crank-rocker")
    name = model.coordinate_names[0]
    q0, _ = model.initial
    model.drive(name, f"{q0[0]} + 314*t")
    states = state_batch.consistent_states(model, 20)
    assert np.allclose(states.q[0], q0[0] + 314 * states.t, rtol=1e-12)
    assert np.ptp(np.cos(states.q[0])) > 1.5


def test_times_are_those_of_the_model():
    model = ring().simulation(duration=0.01)
    assert state_batch.consistent_states(model, 30).t.max() <= 0.01
    table = ring().torque_table("bead", [0, 40], [0, 1], joint=1)
    assert state_batch.consistent_states(table, 60).t.max() > 20


@pytest.mark.parametrize("unit", [1e-9, 1e6])
def test_random_positions_scale_with_the_size_of_the_model(unit):
    model = ring(unit).start([unit, 0], [0, 0])
    states = state_batch.consistent_states(model, 20)
    assert np.allclose(np.hypot(*states.q), unit, rtol=1e-12)
    assert np.ptp(states.q[1]) > unit


def test_few_states_of_a_linkage_with_singular_branches_are_found():
    """The first of four states lie on a singular branch of the linkage, which was mistaken for a regular one."""
    model = with_contacts(dl.load("bricard").description)
    assert len(state_batch.consistent_states(model, 4, seed=0)) == 4
