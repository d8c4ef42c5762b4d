"""Loops: every row of every kind of cut joint against complex steps, and its constraint forces against virtual work."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.mechanics.constraint_levels import Constraints, displacement, ends, levels, loop_rows
from dalembert.mechanics.motion import move
from dalembert.model.joints import JOINTS
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, numbers

STEP = 1e-30
PLACE = {"position": (0.3, -0.2, "l"), "rotation": (0.4, -0.7, 1.1)}
OBLIQUE = (2, -1, 2)

CUTS = {
    "fixed": lambda m: m.fixed(**PLACE),
    "revolute": lambda m: m.revolute(OBLIQUE, 0, **PLACE),
    "revolute about z": lambda m: m.revolute((0, 0, 1), 0),
    "prismatic": lambda m: m.prismatic(OBLIQUE, 0, **PLACE),
    "screw": lambda m: m.screw(OBLIQUE, 0, 0.8, **PLACE),
    "cylindrical": lambda m: m.cylindrical(OBLIQUE, 0, 0, **PLACE),
    "universal": lambda m: m.universal(((0, 0, 1), (1, 1, 0)), (0, 0), **PLACE),
    "planar": lambda m: m.planar(OBLIQUE, (0, 0), 0, **PLACE),
    "spherical": lambda m: m.spherical((0, 0, 0), "zxz", **PLACE),
}
ENDS = [("left", "right"), ("left", "hand"), ("hand", "left"), ("world", "hand"), ("hand", "world"), ("arm", "hand")]
every_cut = pytest.mark.parametrize("cut", CUTS)


def frame(cut: str, ends: tuple[str, str], feedback=None) -> Model:
    """Two chains on the world, moving by many kinds of joints and by time, and a loop between two of their bodies."""
    model = Model("frame", gravity=(0.3, -2.0, -9.0)).parameters(l=0.4)
    for i, start in enumerate((0.3, -0.2, 0.5, 0.1, 0.4, -0.6, 0.2, -0.3, 0.7)):
        model.coordinate(f"q{i + 1}", start)
    solid = {"mass": 1.2, "center": (0.1, 0.2, -0.1), "inertia": (0.2, 0.3, 0.25)}
    model.body("left", joint=model.universal(((1, 0, 0), (0, 1, 0)), ("q1", "q2 + 0.1*sin(3*t)")), **solid)
    slide = model.cylindrical((0, 1, 1), "q3", "q4 + 0.05*t", position=(0.5, 0, 0), rotation=(0, 0.3, 0))
    model.body("arm", parent="left", joint=slide, **solid)
    hinge = [
        model.fixed((0, 0, 0.2)),
        model.revolute((1, 2, 0), "q5 - 0.3*q3"),
        model.prismatic((0, 0, 1), "0.2*cos(t)"),
    ]
    model.body("hand", parent="arm", joint=hinge, **solid)
    ball = model.spherical(("q6", "q7", "q8 + q9**2/2"), "zyx", position=(0, 1, 0))
    model.body("right", joint=[ball, model.prismatic((1, 0, 0), "q9")], **solid)
    other = {"position": ("l", 0.1, -0.2), "rotation": (-0.3, 0.2, 0.9)}
    return model.loop("ring", ends, CUTS[cut](model), feedback=feedback, **other)


def at(model, q, qd, t):
    return move(model, FLOATS, t, vector(list(q)), vector(list(qd)), model.parameter_values)


def as_floats(array):
    return numbers(np.asarray(array, dtype=object), 1)[..., 0]


def state(model, seed):
    random = np.random.default_rng(seed)
    n = len(model.coordinate_names)
    return random.uniform(-1.2, 1.2, n), random.uniform(-1, 1, n), random.uniform(0, 5)


def phi(model, q, t):
    rows: Any = loop_rows(at(model, q, 0 * np.real(q), t))
    return np.array([complex(np.ravel(row.phi)[0]) for row in rows])


def test_the_table_of_this_file_is_complete():
    made = {make(Model("m").parameters(l=1.0)).kind for make in CUTS.values()}
    assert made == {joint.kind for joint in JOINTS} - {
        "quaternion",
        "free",
    }  # these need coordinates, or constrain no motion


@every_cut
@pytest.mark.parametrize("ends", ENDS, ids=lambda ends: "-".join(ends))
def test_a_and_b_are_the_derivatives_of_the_row(cut, ends):
    model = frame(cut, ends)
    for seed in (1, 2):
        q, qd, t = state(model, seed)  # far off the constraint
        rows: Any = loop_rows(at(model, q, qd, t))
        by_q = np.array([np.imag(phi(model, q + 1j * STEP * unit, t)) / STEP for unit in np.eye(len(q))]).T
        by_t = np.imag(phi(model, q, t + 1j * STEP)) / STEP
        assert len(rows) == len(model.constraint_names)
        assert np.abs([row.phi for row in rows]).max() > 1e-3
        assert np.allclose([as_floats(row.a) for row in rows], by_q, atol=1e-12)
        assert np.allclose([row.b for row in rows], by_t, atol=1e-12)


@every_cut
def test_the_velocity_level_is_the_rate_of_the_position_level(cut):
    model = frame(cut, ("left", "hand"))
    q, qd, t = state(model, 3)
    known = Constraints(at(model, q, qd, t), levels(model))
    rate = np.imag(phi(model, q + 1j * STEP * qd, t + 1j * STEP)) / STEP
    assert np.allclose(as_floats(known.velocity), rate, atol=1e-12)
    assert np.allclose(as_floats(known.A) @ qd + as_floats(known.b), rate, atol=1e-12)


@every_cut
@pytest.mark.parametrize("ends", [("right", "hand"), ("world", "hand"), ("hand", "world")], ids=lambda e: "-".join(e))
def test_wrench_of_a_row_matches_virtual_work(cut, ends):
    # a unit wrench on the second body at its point, and the opposite on the first
    model = frame(cut, ends)
    q, qd, t = state(model, 4)
    motion = at(model, q, qd, t)
    for row in loop_rows(motion):
        work = np.zeros(len(q))
        for name, sign in zip(ends, (-1, 1), strict=True):
            body = motion.frames[name]
            _, J, _ = body.point(body.R.T @ (row.point - body.p))
            work += sign * (as_floats(row.force) @ as_floats(J) + as_floats(row.moment) @ as_floats(body.R @ body.D))
        assert np.allclose(as_floats(row.a), work, atol=1e-12)


def test_rows_are_between_formulas_in_order_of_declaration():
    model = frame("spherical", ("left", "right"))
    model.holonomic("q1 - q2", name="tie").nonholonomic("dot(q3) - q1*dot(q4)", name="skate")
    model.loop("second", ("world", "hand"), model.planar((0, 0, 1), (0, 0), 0))
    names = ("tie", "ring, x", "ring, y", "ring, z", "second, height", "second, tilt 1", "second, tilt 2", "skate")
    assert model.constraint_names == names
    q, qd, t = state(model, 5)
    motion = at(model, q, qd, t)
    known = Constraints(motion, levels(model))
    rows = loop_rows(motion)
    assert tuple(row.name for row in rows) == names[1:-1]
    assert known.levels.n_holonomic == 7
    A = as_floats(known.A)
    assert np.array_equal(A[0], [1, -1, 0, 0, 0, 0, 0, 0, 0])
    assert np.allclose(A[1:7], [as_floats(row.a) for row in rows])
    assert np.allclose(A[7], [0, 0, 1, -q[0], 0, 0, 0, 0, 0])
    assert as_floats(known.velocity)[7] == pytest.approx(qd[2] - q[0] * qd[3])


def test_batch_of_states_equals_single_states():
    model = frame("screw", ("left", "right"))
    q, qd, t = (np.stack([state(model, seed)[i] for seed in range(4)], axis=-1) for i in range(3))
    together = Constraints(at(model, q, qd, t), levels(model))
    for k in range(4):
        alone = Constraints(at(model, q[:, k], qd[:, k], t[k]), levels(model))
        assert np.allclose(numbers(together.phi, 4)[:, k], as_floats(alone.phi), atol=1e-14)
        assert np.allclose(numbers(together.A, 4)[..., k], as_floats(alone.A), atol=1e-14)
        assert np.allclose(numbers(together.velocity, 4)[:, k], as_floats(alone.velocity), atol=1e-14)


# displacement of a cut joint


BETWEEN = {
    "fixed": ((), lambda m: m.fixed(**PLACE)),
    "revolute": ((0.7,), lambda m, a: m.revolute(OBLIQUE, a, **PLACE)),
    "prismatic": ((0.25,), lambda m, a: m.prismatic(OBLIQUE, a, **PLACE)),
    "screw": ((7.4,), lambda m, a: m.screw(OBLIQUE, a, 0.8, **PLACE)),
    "cylindrical": ((0.7, -0.3), lambda m, a, b: m.cylindrical(OBLIQUE, a, b, **PLACE)),
    "universal": ((0.5, -0.8), lambda m, a, b: m.universal(((0, 0, 1), (1, 1, 0)), (a, b), **PLACE)),
    "planar": ((0.2, 0.4, -0.9), lambda m, a, b, c: m.planar(OBLIQUE, (a, b), c, **PLACE)),
    "spherical": ((0.3, 0.9, -0.4), lambda m, a, b, c: m.spherical((a, b, c), "zxz", **PLACE)),
}


@pytest.mark.parametrize("kind", BETWEEN)
def test_cut_joint_measures_its_displacement(kind):
    # the same joint in the tree, moved by known values, and cut once more between the same two bodies
    values, make = BETWEEN[kind]
    names = [f"s{i}" for i in range(len(values))]
    model = Model("pair").parameters(l=0.4).coordinates("a", *names)
    model.body("base", joint=model.revolute((1, 0, 0), "a"), mass=1)
    behind: dict[str, Any] = {"position": (0.1, 0.2, 0.3), "rotation": (0.2, -0.4, 0.6)}
    model.body("top", parent="base", joint=[make(model, *names), model.fixed(**behind)], mass=1)
    # M is on the body at the start of the fixed placement
    back = Rotation.from_euler("xyz", behind["rotation"]).inv()
    place = {"position": -back.apply(behind["position"]), "rotation": back.as_euler("xyz")}
    model.loop("cut", ("base", "top"), make(model, *[0] * len(values)), **{k: v.tolist() for k, v in place.items()})
    motion = at(model, [0.6, *values], np.zeros(1 + len(values)), 0.0)
    assert np.allclose([row.phi for row in loop_rows(motion)], 0, atol=1e-14)  # pyright: ignore[reportArgumentType]
    found = model.loops[0].joint.measure(*displacement(*ends(model.loops[0], motion)))
    assert np.allclose(found, values, atol=1e-12)


# the acceleration level, with the accelerations of a formulation


def after(model, q, qd, qdd, t):
    """d/dt of the velocity level along (q̇, q̈, 1), and the levels themselves."""
    moved = Constraints(at(model, q + 1j * STEP * qd, qd + 1j * STEP * qdd, t + 1j * STEP), levels(model))
    here = Constraints(at(model, q, qd, t), levels(model))
    return np.imag(as_floats(moved.velocity)) / STEP, as_floats(here.velocity), as_floats(here.phi)


@pytest.mark.parametrize("cut", ["spherical", "universal", "screw"])
def test_accelerations_satisfy_the_velocity_level(cut):
    model = frame(cut, ("left", "right"))
    start = dl.assemble_state(model, *state(model, 6)[:2], t=0.7)
    qdd = dl.derive(model, "lagrange").accelerations(start.q, start.qd, 0.7)
    change, *_ = after(model, start.q, start.qd, qdd, 0.7)
    assert np.abs(qdd).max() > 1
    assert np.allclose(change, 0, atol=1e-9 * np.abs(qdd).max())


@pytest.mark.parametrize("cut", ["spherical", "universal"])
def test_stabilization_applies_to_loops(cut):
    # off the constraint: φ̈ + β φ̇ + α φ = 0
    plain_model = frame(cut, ("left", "right"))
    model = plain_model.stabilized(16.0, 9.0)
    q, qd, t = state(model, 7)
    qdd = dl.derive(model, "lagrange").accelerations(q, qd, t)
    change, velocity, position = after(plain_model, q, qd, qdd, t)
    assert np.abs(position).max() > 0.1
    assert np.allclose(change + 9.0 * velocity + 16.0 * position, 0, atol=1e-9 * np.abs(qdd).max())


def test_a_loop_can_have_its_own_feedback():
    model = frame("spherical", ("left", "right"), feedback=(25, 10))
    q, qd, t = state(model, 8)
    qdd = dl.derive(model, "udwadia_kalaba").accelerations(q, qd, t)
    change, velocity, position = after(frame("spherical", ("left", "right")), q, qd, qdd, t)
    assert np.allclose(change + 10 * velocity + 25 * position, 0, atol=1e-9 * np.abs(qdd).max())
    # explicit feedback is not changed
    assert model.stabilized(1.0, 1.0).loops == model.loops


def test_stabilization_closes_an_open_loop():
    # φ̈ + 2·5 φ̇ + 25 φ = 0 from rest: φ = φ₀ (1 + 5t) exp(−5t)
    model = Model("rod and bob", gravity=(0, -9.81, 0)).coordinates("x", "y", "a").start([0.55, -0.8, -0.9], [0, 0, 0])
    model.body("bob", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=1)
    model.body("rod", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0), inertia=(0, 0, 0.1))
    model.loop("pin", ("rod", "bob"), model.revolute((0, 0, 1), 0, position=(1, 0, 0)), feedback=(25, 10))
    run = dl.derive(model, "lagrange").simulate(1.0, samples=11)
    x, y, a = run.q
    gap = np.array([np.cos(a) * (x - np.cos(a)) + np.sin(a) * (y - np.sin(a)), np.cos(a) * y - np.sin(a) * x])
    expected = gap[:, :1] * (1 + 5 * run.t) * np.exp(-5 * run.t)
    assert np.abs(gap[:, 0]).min() > 1e-3
    assert np.allclose(gap, expected, atol=1e-9)
