"""dl.dynamics with loops over links against evaluation in floats and against unrolled programs."""

import pickle
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InconsistentStateError, InputError, SingularError
from dalembert.model.model import Model
from dalembert.recursive.execution import LARGEST, LARGEST_MATRIX, MANY, choose_execution

pytest.importorskip("llvmlite")

AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8))


def chain(n, *, loads=False, base=False):
    """A random chain of n revolute links, optionally on a floating base."""
    random = np.random.default_rng(n)
    model = Model("chain", gravity=(0.3, -9.81, 1.0))
    parent: dict[str, Any] = {}
    if base:
        for name in "xyzwijk":
            model.coordinate(name, float(name == "w"))
        joint = model.free(("x", "y", "z"), quaternion=("w", "i", "j", "k"))
        model.body("base", joint=joint, mass=2, center=(0.1, 0, 0), inertia=(0.3, 0.4, 0.5))
        parent = {"parent": "base"}
    for i in range(n):
        model.coordinate(f"q{i}")
        at: dict[str, Any] = {
            "position": tuple(random.uniform(-0.5, 0.5, 3)),
            "rotation": tuple(random.uniform(-2, 2, 3)),
        }
        joint = model.revolute(AXES[random.integers(4)], f"q{i}", **at)
        body: dict[str, Any] = {"mass": random.uniform(0.5, 2), "center": tuple(random.uniform(-0.3, 0.3, 3))}
        model.body(f"b{i}", joint=joint, inertia=tuple(random.uniform(0.2, 0.3, 3)), **body, **parent)
        parent = {"parent": f"b{i}"}
    if loads:
        model.joint_spring("b1", stiffness=40, rest=0.2, damping=3)
        model.joint_torque("b2", "20*cos(t) - dot(q3)").joint_friction("b3", viscous=4, coulomb=2)
    return model


def random_states(model, count=5):
    known = dl.dynamics(model)
    random = np.random.default_rng(4)
    q = random.uniform(-1, 1, (len(model.coordinate_names), count))
    for attitude in known.plan.tree.attitudes:
        q[list(attitude.parts)] /= np.linalg.norm(q[list(attitude.parts)], axis=0)
    return q, *random.uniform(-1, 1, (2, len(known.speed_names), count))


def off(found, known):
    return np.abs(found - known).max() / np.abs(known).max()


@pytest.mark.parametrize("friction", [False, True])
def test_rolled_long_chains_agree_with_floats(friction):
    """100 links, and loads inside joints."""
    model = chain(100, loads=True)
    known, t = dl.dynamics(model), 0.7
    assert choose_execution(known.plan, "forward", None) == "rolled"
    q, s, sd = random_states(model)
    tau = known.inverse(q, s, sd, t, friction=friction)
    assert off(tau, dl.inverse_dynamics(model, q, s, sd, t, friction=friction)) <= 1e-9
    forces = 10 * sd
    found = known.forward(q, s, forces, t, friction=friction)
    assert off(found, dl.forward_dynamics(model, q, s, forces, t, friction=friction)) <= 1e-9
    assert off(known.forward(q, s, tau, t, friction=friction), sd) <= 1e-6
    free = model.description.replaced(loads=())
    assert off(known.bias(q, s), dl.inverse_dynamics(free, q, s, 0 * s)) <= 1e-9
    assert off(known.gravity(q), dl.inverse_dynamics(free, q, 0 * s, 0 * s)) <= 1e-9


def test_one_state_a_batch_and_threads_have_the_same_bits():
    model = chain(100, loads=True)
    known, (q, s, x) = dl.dynamics(model), random_states(model, 70)
    for call, arguments in (
        (known.inverse, (q, s, x)),
        (known.forward, (q, s, x)),
        (known.bias, (q, s)),
        (known.gravity, (q,)),
    ):
        many = call(*arguments)
        assert np.array_equal(call(*arguments, threads=3), many)
        out = np.empty(many.shape)
        assert call(*arguments, out=out) is out
        assert np.array_equal(out, many)
        for k in (0, 69):
            assert np.array_equal(call(*(np.ascontiguousarray(a[:, k]) for a in arguments)), many[:, k])
    assert known.inverse(q[:, :0], s[:, :0], x[:, :0]).shape == (100, 0)


@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("loads", [False, True])
def test_one_state_runs_in_machine_code(loads, base):
    """Loads, zero speeds and validity check as in a batch, without NumPy in between."""
    model = chain(9, loads=loads, base=base)
    known, (q, s, x) = dl.dynamics(model, execution="rolled"), random_states(model, 8)
    for task, arguments in (("inverse", (q, s, x)), ("forward", (q, s, x)), ("bias", (q, s)), ("gravity", (q,))):
        call: Any = known._calls[task, True]
        many, valid = call.evaluate_batch(arguments, 0.7, None, 1)
        single = [np.ascontiguousarray(a[:, 3]) for a in arguments]
        assert valid
        assert np.array_equal(call.single_state(*single, 0.7), many[:, 3])
        for i in range(len(arguments)):
            wrong = [a.copy() for a in single]
            wrong[i][0] = np.nan
            assert call.single_state(*wrong, 0.7) is None
        if base:
            assert call.single_state(1.01 * single[0], *single[1:], 0.7) is None  # not a unit quaternion


def test_both_executions_are_the_same_functions():
    model = chain(12, loads=True, base=True)
    rolled, unrolled = (dl.dynamics(model, execution=name) for name in ("rolled", "unrolled"))
    assert rolled != unrolled
    q, s, x = random_states(model)
    for friction in (False, True):
        tau = unrolled.inverse(q, s, x, 0.7, friction=friction)
        assert off(rolled.inverse(q, s, x, 0.7, friction=friction), tau) <= 1e-13
        expected = unrolled.forward(q, s, 10 * x, 0.7, friction=friction)
        assert off(rolled.forward(q, s, 10 * x, 0.7, friction=friction), expected) <= 1e-10
    assert off(rolled.bias(q, s), unrolled.bias(q, s)) <= 1e-13
    assert off(rolled.gravity(q), unrolled.gravity(q)) <= 1e-13
    qd = rolled.rates(q, s)  # with rates of the quaternion
    assert off(rolled.forward(q, qd, x), unrolled.forward(q, qd, x)) <= 1e-10


def test_rolled_dynamics_pickles():
    model = chain(8)
    known = dl.dynamics(model, execution="rolled")
    again = pickle.loads(pickle.dumps(known))  # noqa: S301 (our own)
    q, s, x = random_states(model)
    assert again == known
    assert np.array_equal(again.forward(q, s, x), known.forward(q, s, x))


def test_the_validity_check_fails():
    """Invalid states, and links without inertia, are reported as in unrolled programs."""
    known = dl.dynamics(chain(3, base=True), execution="rolled")
    q, s, x = random_states(chain(3, base=True))
    with pytest.raises(InputError, match="qd contains values that are not finite"):
        known.bias(q, s * np.nan)
    with pytest.raises(InputError, match="t contains values that are not finite"):
        known.gravity(q[:, 0].copy(), float("nan"))
    q[3:7, 4] *= 1.1
    with pytest.raises(InconsistentStateError, match="quaternion q of 'base'"):
        known.inverse(q, s, x)
    model = Model("idle").coordinates("a", "b")
    model.body("bob", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    model.body("ring", parent="bob", joint=model.revolute((1, 0, 0), "b"), mass=1)
    idle = dl.dynamics(model, execution="rolled")
    for zero in (np.zeros(2), np.zeros((2, 9))):
        with pytest.raises(SingularError, match=r"there is no inertia along dot\(b\)"):
            idle.forward(zero, zero)


def test_models_that_cannot_run_rolled_are_reported(make):
    def rejected(model, reason, **options):
        with pytest.raises(InputError, match=rf"cannot run rolled: {reason}.*Use execution='unrolled'"):
            dl.dynamics(model, execution="rolled", **options)

    rejected(make("every joint"), "it has loads on bodies")
    rejected(chain(2), "the engine 'python' does not support loops", engine="python")
    crank = Model("crank").coordinates("a")
    rejected(
        crank.body("crank", joint=crank.revolute((0, 0, 1), "2*a"), mass=1), r"'crank' is moved by the formula 2\*a"
    )


def test_small_trees_and_tasks_without_loops_are_unrolled():
    plan = dl.dynamics(chain(MANY)).plan
    assert choose_execution(plan, "forward", None) == "unrolled"
    assert choose_execution(plan, "forward", "rolled") == "rolled"
    assert choose_execution(plan, "mass_matrix", "rolled") == "unrolled"
    assert dl.dynamics(chain(3), execution="rolled").mass_matrix(np.zeros(3)).shape == (3, 3)


@pytest.mark.slow(3)
def test_programs_that_would_compile_for_hours_are_rejected():
    large, zero = dl.dynamics(chain(LARGEST_MATRIX + 1)), np.zeros(LARGEST_MATRIX + 1)
    with pytest.raises(
        InputError, match=r"mass_matrix, unrolled: .* Expected at most 150\. Alternatives: inverse, forward"
    ):
        large.mass_matrix(zero)
    assert np.isfinite(large.gravity(zero)).all()
    huge, zero = dl.dynamics(chain(LARGEST + 1), execution="unrolled"), np.zeros(LARGEST + 1)
    with pytest.raises(InputError, match=r"bias, unrolled: .* has 401 speeds, .* Expected at most 400"):
        huge.bias(zero, zero)
