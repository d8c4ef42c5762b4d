"""Closed loops by sweeps over the links, `execution="rolled"`: Lagrange's equations, a long chain, identities."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen.function import function_of
from dalembert.errors import InconsistentStateError, InputError
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.model import Model
from dalembert.recursive import execution
from dalembert.recursive._constrained_forward import ConstrainedSweeps
from dalembert.recursive.constraint_batch import rows_of
from dalembert.recursive.joint_speeds import to_rates
from dalembert.recursive.plan import plan_of
from dalembert.recursive.traced import task_program
from dalembert.symbolic.floats import FLOATS, numbers


def arc(links: int, span: float = 0.7) -> Model:
    """A chain of length 1 between two pins, as an arc: every link is rotated against the last one by the same angle."""
    low, high, turn, length = 1e-3, 6.0, 0.0, 1 / links
    for _ in range(60):  # the chord of n links with the total angle θ is sin(θ/2) / (n sin(θ/2n))
        turn = (low + high) / 2
        chord = np.sin(turn / 2) / (links * np.sin(turn / (2 * links)))
        low, high = (turn, high) if chord > span else (low, turn)
    model, parent = Model("arc", gravity=(0, -9.81, 0)), "world"
    for i in range(links):
        model.coordinate(f"q{i}", turn / links if i else (turn / links - turn) / 2)
        joint = model.revolute((0, 0, 1), f"q{i}", position=(length if i else 0, 0, 0))
        body, inertia = f"link{i}", (0, length**3 / 12, length**3 / 12)
        model.body(body, parent=parent, joint=joint, mass=length, center=(length / 2, 0, 0), inertia=inertia)
        parent = body
    nail = model.spherical((0, 0, 0), position=(length, 0, 0))
    return model.loop("nail", (parent, "world"), nail, position=(span, 0, 0))


# rolling-disk rolls, rough-surface is not ideal; four-bar and robotic-leg have redundant rows
@pytest.mark.parametrize(
    "name",
    [
        *("four-bar", "slider-crank", "3-rrr", "robotic-leg", "rolling-disk", "rough-surface"),
        pytest.param("stewart-platform", marks=pytest.mark.nightly),
    ],
)
def test_loops_agree_with_lagrange(name):
    model = dl.load(name)
    states = state_batch.consistent_states(with_contacts(model), 3, seed=2)
    known = dl.derive(model, engine="python").accelerations(states.q, states.qd, states.t)
    call = dl.dynamics(model, execution="rolled")._calls["forward", True]
    ours, valid = call.evaluate_batch([states.q, states.qd, 0 * states.qd], states.t, None, 1)
    assert valid
    assert ours == pytest.approx(known, abs=1e-10 * max(1.0, np.abs(known).max()))


@pytest.mark.parametrize("name", ["four-bar", "pair on a wire"])
def test_rows_by_recursion_agree_with_the_kinematics(name, make, draw):
    """J, β, φ and its rate off the constraints, with feedback, against positions differentiated by complex steps."""
    model = make(name).stabilized(3.0, 2.0)
    plan = plan_of(model)
    q, s, _, t = draw(model, 4, seed=1)
    qd = numbers(to_rates(plan.tree, FLOATS, list(q), list(s)), 4)
    known = rows_of(plan, q, qd, s, t)
    found = function_of(task_program(plan, "rows"), "python")(np.concatenate([q, s, t[None]]), np.zeros(0))[:-1]
    expected = np.concatenate([known.A.reshape(-1, 4), known.beta, known.velocity, known.phi])
    assert found == pytest.approx(expected, abs=1e-12 * np.abs(expected).max())


@pytest.mark.slow(5)
def test_a_long_chain_between_two_pins():
    """Its accelerations close the loop, and the open tree needs only forces of the pin to produce them."""
    model = arc(200)
    known = dl.dynamics(model)
    q, s = model.initial[0], np.linspace(-1, 1, 200)
    plan = known.plan
    rows = rows_of(plan, q[:, None], s[:, None], s[:, None], np.zeros(1))
    A = rows.A[:2, :, 0]
    assert isinstance(known._calls["forward", False].function, ConstrainedSweeps)
    s = s - A.T @ np.linalg.solve(A @ A.T, A @ s)
    beta = rows_of(plan, q[:, None], s[:, None], s[:, None], np.zeros(1)).beta[:2, 0]
    tau = np.sin(np.arange(200.0)) * 1e-3
    sd = known.forward(q, s, tau)
    assert A @ sd == pytest.approx(beta, abs=1e-12 * np.abs(sd).max())
    need = dl.inverse_dynamics(model.description.replaced(loops=()), q, s, sd) - tau
    force = np.linalg.lstsq(A.T, need, rcond=None)[0]
    assert A.T @ force == pytest.approx(need, abs=1e-11 * np.abs(need).max())
    batch = known.forward(*(np.repeat(x[:, None], 3, axis=1) for x in (q, s, tau)))
    assert batch == pytest.approx(np.repeat(sd[:, None], 3, axis=1), rel=1e-7)


def test_sweeps_and_the_mass_matrix_agree():
    model = arc(12)
    q, s = model.initial[0] + 0.01, np.linspace(1, -1, 12)
    known = dl.forward_dynamics(model, q, s)
    assert dl.dynamics(model, execution="rolled").forward(q, s) == pytest.approx(known, abs=1e-10 * np.abs(known).max())


def test_massless_links_in_a_loop():
    """The tree alone has no inertia along a speed, so the sweeps fail; the loop provides inertia."""
    model = Model("light rocker", gravity=(0, -9.81, 0)).coordinates("a", "c")
    pin = model.revolute((0, 0, 1), "a")
    model.body("crank", joint=pin, mass=1, center=(0.5, 0, 0), inertia=(0, 0.08, 0.08))
    slot = model.revolute((0, 0, 1), "c", position=(0.2, 0, 0))
    model.body("rocker", joint=slot, mass=0).joint_spring("rocker", stiffness=1)
    model.holonomic("c - 2*a")
    q, s = [0.1, 0.2], [0.3, 0.6]
    found = dl.dynamics(model, execution="rolled").forward(q, s)
    turning = -(9.81 * 0.5 * np.cos(0.1) + 2 * 0.2) / (
        0.08 + 0.5**2
    )  # gravity and the spring, which rotates twice as fast
    assert found == pytest.approx([turning, 2 * turning], abs=1e-12)


def test_too_many_links_for_the_program_of_constraints_are_rejected(monkeypatch):
    monkeypatch.setattr(execution, "LARGEST_CLOSED", 11)
    with pytest.raises(
        InputError, match=r"'arc' has 12 speeds, too many for one program of its constraints\. Expected at most 11"
    ):
        execution.traced_task(plan_of(arc(12)), "forward", execution="rolled")


@pytest.mark.nightly
def test_rollouts_satisfy_the_constraints_and_agree_with_the_equations():
    """rk4 with half the step is about 16 times closer to the derived equations, integrated by an adaptive method."""
    model = dl.load("four-bar")
    q, qd = model.initial
    known, states = dl.dynamics(model), (np.stack([q, q], axis=1), np.stack([qd, qd], axis=1))
    sure = dl.derive(model, "lagrange").simulate(0.05, samples=2, integrator="dop853", rtol=1e-11, atol=1e-12)
    errors = []
    for steps in (10, 20):
        run = known.rollout(*states, None, 0.05 / steps, steps, every=steps, friction=True)
        rows = rows_of(known.plan, run.q[:, 1], run.qd[:, 1], run.qd[:, 1], np.zeros(2))
        assert max(np.abs(rows.phi).max(), np.abs(rows.velocity).max()) < 1e-12
        errors.append(np.abs(run.q[:, :, 1] - sure.q).max() + np.abs(run.qd[:, :, 0] - sure.qd).max())
    assert errors[1] < 1e-4
    assert 10 < errors[0] / errors[1] < 25


def test_a_chain_between_two_pins_conserves_energy():
    """T + V from the positions of the links, along a rollout with the sweeps."""
    model = arc(20)
    known, (q, qd) = dl.dynamics(model, execution="rolled"), model.initial
    run = known.rollout(q, qd, None, 1e-3, 20, every=10)
    levels = [_energy(run.q[:, k], run.qd[:, k]) for k in range(3)]
    assert np.ptp(levels) < 1e-9
    assert np.abs(run.qd[:, 2]).max() > 0.1
    rough = known.rollout(q, qd, None, 1e-3, 20, every=10, method="semi_implicit")
    assert rough.q == pytest.approx(run.q, abs=1e-2)


def _energy(q, s):
    """T + V of a planar chain of equal links from their positions."""
    angles, rates, length = np.cumsum(q), np.cumsum(s), 1 / len(q)
    steps, turns = (
        length * np.stack([np.cos(angles), np.sin(angles)]),
        length * np.stack([-np.sin(angles), np.cos(angles)]),
    )
    y = np.cumsum(steps[1]) - steps[1] / 2
    v = np.cumsum(turns * rates, axis=1) - turns * rates / 2
    return length * (9.81 * y.sum() + (v**2).sum() / 2 + length**2 / 24 * (rates**2).sum())


@pytest.mark.nightly
def test_a_pair_on_a_wire_rolls_out(make):
    """A quaternion among the coordinates: its norm and the constraints are satisfied."""
    model = make("pair on a wire")
    known = dl.dynamics(model)
    states = state_batch.consistent_states(with_contacts(model), 2, seed=2)
    run = known.rollout(states.q, states.qd, None, 1e-3, 5)
    for k in (2, 5):
        qd = known.rates(run.q[:, k], run.qd[:, k])
        rows = rows_of(known.plan, run.q[:, k], qd, run.qd[:, k], np.zeros(2))
        assert max(np.abs(rows.phi).max(), np.abs(rows.velocity).max()) < 1e-11
        assert (run.q[3:7, k] ** 2).sum(axis=0) == pytest.approx(1, abs=1e-14)
    with pytest.raises(InconsistentStateError, match="position"):
        known.rollout(states.q + 0.1 * (np.arange(13) < 3)[:, None], states.qd, None, 1e-3, 1)
