"""D'Alembert's principle: accepts correct accelerations of every kind of model and detects relative errors of 1e-6."""

from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.cli.entry_point import main
from dalembert.evidence import _principle
from dalembert.evidence._principle import body_poses, move_model
from dalembert.mechanics import state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.motion import move
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Elements
from dalembert.model.joints import JOINTS
from dalembert.model.joints.base import Joint
from dalembert.model.joints.fixed import Fixed
from dalembert.model.loads.joint_spring import JointSpring
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, to_numeric

LOADS = ("force", "torque", "joint_torque", "spring", "damper")
SOLID = {"mass": 1.3, "center": (0.2, 0.1, -0.1), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}


def examined(model: Model, key: str = "lagrange", count: int = 6) -> tuple[States, np.ndarray, np.ndarray]:
    """States on the constraints, accelerations and reactions."""
    eom = dl.derive(model, key, engine="python")
    states = state_batch.consistent_states(eom.model, count)
    here = (states.q, states.qd, states.t)
    return states, eom.accelerations(*here), eom.reactions(*here)


def left(model: Elements, states: States, qdd: np.ndarray, reactions: np.ndarray | None = None) -> float:
    """The largest residual of motion, accelerations and reactions at states that satisfy the constraints."""
    found = dict(_principle.residual(model, states, qdd, reactions).largest)
    assert max(found.pop("position"), found.pop("velocity")) < 1e-8
    return max(found.values())


# positions


def chain(joint: Joint, names: tuple[str, ...] = ()) -> Model:
    model = Model("chain").coordinates("q", *names)
    model.body("base", joint=model.revolute((1, 2, 2), "q", position=(0.1, 0.2, 0), rotation=(0.4, -0.3, 0.9)), **SOLID)
    return model.body("link", parent="base", joint=joint, **SOLID)


POSE: dict[str, Any] = {"position": (0.3, -0.1, 0.2), "rotation": (0.2, -0.3, 0.5)}
BUILDER = Model("maker").coordinates("a", "b", "c", "d", "w", "x", "y", "z")
KINDS = {
    "fixed": BUILDER.fixed(**POSE),
    "revolute": BUILDER.revolute((1, 2, 2), "a", **POSE),
    "prismatic": BUILDER.prismatic((1, 2, 2), "a", **POSE),
    "screw": BUILDER.screw((1, 2, 2), "a", 0.8, **POSE),
    "cylindrical": BUILDER.cylindrical((1, 2, 2), "a", "b", **POSE),
    "universal": BUILDER.universal(((0, 0, 1), (1, 1, 0)), ("a", "b"), **POSE),
    "planar": BUILDER.planar((1, 2, 2), ("a", "b"), "c", **POSE),
    "spherical": BUILDER.spherical(("a", "b", "c"), "zxz", **POSE),
    "quaternion": BUILDER.spherical(quaternion=("w", "x", "y", "z"), **POSE),
    "free": BUILDER.free(("a", "b", "c"), quaternion=("w", "x", "y", "z"), **POSE),
}


@pytest.mark.parametrize("kind", [joint.kind for joint in JOINTS])
def test_both_traversals_give_the_same_poses(kind):
    joint = KINDS[kind]
    names = tuple(str(value) for value in joint.values)
    model = chain(joint, names)
    random = np.random.default_rng(5)
    q = random.uniform(-1, 1, len(names) + 1)
    motion = move(model, FLOATS, 0.0, vector(list(q)), vector(list(0 * q)), {})
    own = body_poses(model, FLOATS, dict(zip(model.coordinate_names, q, strict=True)))
    for name in ("base", "link"):
        assert to_numeric(own.frames[name].p) == pytest.approx(to_numeric(motion.frames[name].p), abs=1e-14)
        assert to_numeric(own.frames[name].R) == pytest.approx(to_numeric(motion.frames[name].R), abs=1e-14)


def test_joint_must_define_its_displacement_for_the_principle():
    class Other(Joint):
        kind = "wobble"
        values = motions = ()  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
        closure, reference_residuals = Fixed.closure, Fixed.reference_residuals

    with pytest.raises(TypeError, match="reference_pose"):
        Other((0, 0, 0), (0, 0, 0))  # type: ignore[abstract]


def test_second_derivatives_match_finite_differences_of_positions():
    model = chain(KINDS["spherical"], ("a", "b", "c"))
    random = np.random.default_rng(3)
    q, qd, qdd = (random.uniform(-1, 1, 4) for _ in range(3))
    moving = move_model(model, States(q[:, None], qd[:, None], np.zeros(1)), qdd[:, None])
    point = moving.traced(lambda here: here.point("link", (0.3, -0.2, 0.5)))

    def at(s):
        values = dict(zip(model.coordinate_names, q + qd * s + 0.5 * qdd * s**2, strict=True))
        return to_numeric(body_poses(model, FLOATS, values).point("link", (0.3, -0.2, 0.5)))

    h, weights = 0.02, np.array([2, -27, 270, -490, 270, -27, 2]) / 180
    stencil = sum(w * at(k * h) for k, w in zip(range(-3, 4), weights, strict=True)) / h**2
    assert point.second[:, 0] == pytest.approx(stencil, rel=1e-8)


# correct accelerations pass


@pytest.mark.parametrize("key", ["lagrange", "kane", "newton_euler"])
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_under_every_load_satisfy_the_principle(random_tree, seed, key):
    model = random_tree(seed, loads=LOADS)
    states, qdd, reactions = examined(model, key)
    assert left(model, states, qdd, reactions) < 1e-12


OPTIONS = {
    "constrained": {"holonomic": 1, "nonholonomic": 1},
    "driven to zero": {"holonomic": 1, "nonholonomic": 1, "servo": True},
    "redundant": {"holonomic": 1, "redundant": True},
    "not ideal": {"holonomic": 1, "non_ideal": True},
    "nonlinear": {"nonlinear": True},
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", OPTIONS)
def test_random_trees_with_constraints_satisfy_the_principle(random_tree, seed, kind):
    model = random_tree(seed, loads=("spring",), **OPTIONS[kind])
    states, qdd, reactions = examined(model)
    assert left(model, states, qdd, reactions) < 1e-10


NAMES = (
    "rolling-disk",
    "knife-edge",
    "floating-arm",
    "slider-crank",
    "tracking",
    "rough-surface",
    "puma560",
    pytest.param("rope", marks=pytest.mark.slow(4)),
)


@pytest.mark.parametrize("name", NAMES)
def test_gallery_models_satisfy_the_principle(name):
    model = dl.load(name)
    states, qdd, reactions = examined(model, count=3)
    assert left(model, states, qdd, reactions) < 1e-11


def test_contacts_written_as_formulas_are_equivalent():
    model = dl.load("rolling-disk")
    states, qdd, reactions = examined(model)
    assert left(with_contacts(model), states, qdd, reactions) < 1e-11


def test_energies_satisfy_the_principle_in_lagranges_form():
    model = Model("given").parameters(m=1.3).coordinates("x", "y").start([0.4, 0.2], [1, 0])
    model.set_energies("m*(dot(x)**2 + (1 + x**2)*dot(y)**2 + x*dot(x)*cos(t))/2", "x**2 + y**4", ["-dot(x)", "t"])
    model.holonomic("x + y**2 - 0.5")
    states, qdd, reactions = examined(model)
    assert left(model, states, qdd, reactions) < 1e-12
    assert left(model, states, qdd + 1e-6, reactions) > 1e-8


def test_coordinate_without_inertia_is_weighted_by_its_constraints():
    model = Model("massless").coordinates("x", "y").start([0.3, 0.6], [1, 2])
    model.body("heavy", joint=model.prismatic((1, 0, 0), "x"), mass=2.0)
    model.body("light", joint=model.prismatic((1, 0, 0), "y"))
    model.holonomic("y - 2*x").force("light", (3, 0, 0))
    states = States(np.array([[0.3], [0.6]]), np.array([[1.0], [2.0]]), np.zeros(1))
    # 2 ẍ = 2 · 3 through the lever
    assert left(model, states, np.array([[3.0], [6.0]])) < 1e-15
    assert _principle.residual(model, states, np.array([[2.9], [5.8]])).motion[0] > 1e-3


# wrong accelerations fail


@pytest.mark.parametrize("name", ["double-pendulum", "slider-crank", "rolling-disk", "cart-pendulum"])
def test_detects_a_relative_error_of_1e_6(name):
    model = dl.load(name)
    states, qdd, reactions = examined(model)
    size = np.abs(qdd).max()
    for i in range(len(qdd)):
        wrong = qdd.copy()
        wrong[i] += 1e-6 * size
        assert left(model, states, wrong) > 1e-9
    found = _principle.residual(model, states, qdd, reactions + 1e-6 * np.abs(qdd).max())
    assert found.reaction is not None
    assert found.reaction.max() > 1e-9
    assert max(found.motion.max(), found.acceleration.max()) < 1e-12


def test_detects_states_that_violate_the_constraints():
    model = dl.load("slider-crank")
    states, qdd, _ = examined(model)
    off = States(states.q + 1e-5, states.qd, states.t)
    assert _principle.residual(model, off, qdd).position.max() > 1e-7
    fast = States(states.q, 1.001 * states.qd + 1e-5, states.t)
    assert _principle.residual(model, fast, qdd).velocity.max() > 1e-7


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_residuals_are_independent_of_the_unit_of_length(unit):
    def make(length: float) -> Model:
        model = Model("bars", gravity=(0, -9.81 * length, 0)).coordinates("x", "a").start([0.1 * length, 0.3], [0, 1])
        model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=2.0)
        rod = {"mass": 1.0, "center": (0, -0.5 * length, 0), "inertia": (0, 0, 0.1 * length**2)}
        return model.body("rod", parent="cart", joint=model.revolute((0, 0, 1), "a"), **rod)

    q, qd = np.array([[0.1], [0.3]]), np.array([[0.2], [1.1]])
    scale = np.array([[unit], [1.0]])
    wrong = np.array([[1.0], [2.0]])
    small = _principle.residual(make(1.0), States(q, qd, np.zeros(1)), wrong).motion[0]
    other = _principle.residual(make(unit), States(scale * q, scale * qd, np.zeros(1)), scale * wrong).motion[0]
    assert other == pytest.approx(small, rel=1e-9)
    assert small > 0.1


# the row of verify


@pytest.fixture
def spring_counted_twice(monkeypatch):
    right = JointSpring.applied
    monkeypatch.setattr(JointSpring, "applied", lambda load, motion: right(load, motion) * 2)


def sprung() -> Model:
    model = Model("sprung").coordinates("a").start([0.3], [0])
    model.body("rod", joint=model.revolute((0, 0, 1), "a"), **SOLID)
    return model.joint_spring("rod", stiffness=3)


def test_verify_reports_the_principle():
    found = dl.verify(sprung(), states=5, engines=["python"])
    assert found.principle is not None
    assert found.principle.status == "agrees"
    assert found.to_dict()["principle"]["status"] == "agrees"


@pytest.mark.usefixtures("spring_counted_twice")
def test_verify_detects_a_spring_that_counts_twice_in_every_formalism():
    found = dl.verify(sprung(), states=5, engines=["python"])
    assert {verdict.status for verdict in found.formalisms.values()} == {"agrees"}
    assert found.recursion is not None
    assert found.recursion.status == "agrees"
    assert not found
    assert found.principle is not None
    assert found.principle.status == "differs"
    assert found.principle.reason == "the forces do virtual work on admissible displacements"


@pytest.mark.usefixtures("spring_counted_twice")
def test_command_reports_the_principle(tmp_path, capsys):
    path = tmp_path / "sprung.toml"
    path.write_text(SPRUNG_TOML, encoding="utf-8")
    assert main(["verify", str(path), "--states", "3", "--engine", "python"]) == 1
    out = capsys.readouterr().out
    assert "d'Alembert's principle" in out
    assert "The formalisms differ on 'sprung' (d'Alembert's principle)" in " ".join(out.split())


SPRUNG_TOML = """
name = "sprung"
[coordinates]
a = { start = 0.3 }
[[body]]
name = "rod"
mass = 1.3
center = [0.2, 0, 0]
inertia = [0.3, 0.4, 0.35]
[[body.joint]]
type = "revolute"
axis = [0, 0, 1]
angle = "a"
[[joint_spring]]
body = "rod"
stiffness = 3
"""
