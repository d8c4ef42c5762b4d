"""The mutation matrix: every shared quantity is mutated in turn, and each entry states which check must detect it.

Checks:

    formalisms   two formalisms of different lineage give other accelerations or reactions than each other
    recursion    the O(n) recursion gives other accelerations than Lagrange's equations
    principle    the result of Lagrange's equations violates d'Alembert's principle, which shares no code with them

A quantity used by one formalism is checked by the others; one that all of them share is checked by the principle alone.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import symengine as se

import dalembert as dl
from dalembert.api.equations import Equations
from dalembert.errors import InconsistentStateError, SingularError
from dalembert.evidence import _principle
from dalembert.formalisms import catalog, kane
from dalembert.formalisms.shared import common_quantities, phase_space
from dalembert.mechanics import state_batch
from dalembert.model import joints as kinds
from dalembert.model import loads as pushing
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.contacts.distance import Distance
from dalembert.model.contacts.gear import Gear
from dalembert.model.contacts.knife_edge import KnifeEdge
from dalembert.model.contacts.point_in_plane import PointInPlane
from dalembert.model.contacts.point_on_line import PointOnLine
from dalembert.model.contacts.point_on_surface import PointOnSurface
from dalembert.model.contacts.rolling_disk import RollingDisk
from dalembert.model.joints import base
from dalembert.model.loads.base import Load
from dalembert.model.model import Model
from dalembert.recursive._transforms import times
from dalembert.recursive.link_states import MotionAxis
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.right_hand_side import RightHandSide
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.symbolic import rotations
from dalembert.symbolic.rotations import roll_pitch_yaw

# some of these modules hold a function of their own name
constraints, energies, motion, speeds = (
    import_module(f"dalembert.mechanics.{name}")
    for name in (
        "constraint_levels",
        "energies",
        "motion",
        "generalized_speeds",
    )
)
forward, frames, inverse, links, mass, recursive_loads, recursive_rows, recursive_speeds = (
    import_module(f"dalembert.recursive.{name}")
    for name in (
        "forward",
        "_link_frames",
        "inverse",
        "link_states",
        "composite_inertia",
        "load_forces",
        "constraint_batch",
        "joint_speeds",
    )
)

FORMALISMS = ("lagrange", "kane", "newton_euler")  # energies; partial velocities; wrenches
DETECTED, QUIET = 1e-6, 1e-9
SOLID: dict[str, Any] = {"mass": 1.3, "center": (0.2, 0.1, -0.1), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}
ROD: dict[str, Any] = {"mass": 0.8, "center": (0.4, 0.05, 0.1), "inertia": (0.02, 0.1, 0.11, 0.01, 0.0, 0.005)}
PLACE: dict[str, Any] = {"position": (0.3, -0.1, 0.2), "rotation": (0.2, -0.3, 0.5)}


# small models in which the mutated quantity matters


def arm(*more: str) -> Model:
    """Two bodies on axes at a general angle."""
    model = Model("arm", gravity=(1.0, -9.81, 2.0)).coordinates("a", "b", *more).start({"a": 0.3, "b": -0.4}, {})
    model.body("upper", joint=model.revolute((0, 0, 1), "a", position=(0.1, 0, 0)), **SOLID)
    return model.body("lower", parent="upper", joint=model.revolute((1, 2, 2), "b", **PLACE), **ROD)


def driven() -> Model:
    """Joints with prescribed motion, a damper between them, and a rheonomic holonomic constraint."""
    model = Model("driven", gravity=(0, 0, -9.81)).coordinates("a", "x").start([0.3, 0.2], [0.1, 0])
    model.body("base", joint=model.revolute((0, 1, 0), "a + 0.3*sin(2*t)"), **SOLID)
    model.body("slider", parent="base", joint=model.prismatic((1, 0, 0), "x + 0.1*cos(3*t)", **PLACE), **ROD)
    return model.damper(("world", "slider"), damping=0.7, points=((0, 0, 3), (0.1, 0, 0)))


@cache
def jointed(kind: str) -> Callable[[], Model]:
    """A body on a joint of one type, on a rotating base, with a load in the joint."""
    counts = {"revolute": 1, "prismatic": 1, "screw": 1, "cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3}

    def make() -> Model:
        names = [f"r{i}" for i in range(counts.get(kind, 0))]
        model = Model(kind, gravity=(1.0, -9.81, 2.0)).coordinates("q", *names)
        model.start({"q": 0.4, **dict.fromkeys(names, 0.3)}, {"q": 0.5})
        model.body("base", joint=model.revolute((0, 1, 0), "q"), **SOLID)
        joint = {
            "revolute": lambda a: model.revolute((1, 2, 2), a, **PLACE),
            "prismatic": lambda a: model.prismatic((1, 2, 2), a, **PLACE),
            "screw": lambda a: model.screw((1, 2, 2), a, 0.8, **PLACE),
            "cylindrical": lambda a, b: model.cylindrical((1, 2, 2), a, b, **PLACE),
            "universal": lambda a, b: model.universal(((0, 0, 1), (1, 1, 0)), (a, b), **PLACE),
            "planar": lambda a, b, c: model.planar((1, 2, 2), (a, b), c, **PLACE),
            "spherical": lambda a, b, c: model.spherical((a, b, c), "zxy", **PLACE),
        }[kind]
        return model.body("link", parent="base", joint=joint(*names), **ROD)

    make.__name__ = f"on {kind}"
    return make


def ball() -> Model:
    """A body on a point, by a quaternion."""
    model = Model("ball", gravity=(1.0, -9.81, 2.0)).coordinates("w", "x", "y", "z").start({"w": 1}, {"x": 0.3})
    model.body("body", joint=model.spherical(quaternion=("w", "x", "y", "z"), **PLACE), **SOLID)
    return model


def floating() -> Model:
    """A free body by Euler angles."""
    names = ("X", "Y", "Z", "a", "b", "c")
    model = Model("floating", gravity=(0, 0, -9.81)).coordinates(*names).start({"b": 0.4}, {"a": 0.3})
    return model.body("body", joint=model.free(("X", "Y", "Z"), ("a", "b", "c"), "zxy", **PLACE), **SOLID)


@cache
def loaded(kind: str) -> Callable[[], Model]:
    """The arm with one load of a type."""
    ends = {"bodies": ("upper", "lower"), "points": ((0.1, -1.5, 0.2), (0.6, 0.3, 0))}

    def make() -> Model:
        model = arm()
        match kind:
            case "force":
                model.force("lower", ("2*cos(t)", 1, "-b"), point=(0.5, 0.1, 0), frame="upper")
            case "torque":
                model.torque("lower", ("2*cos(t)", 1, "-b"), frame="lower", reaction="upper")
            case "joint_torque":
                model.joint_torque("lower", "3*sin(t) - 0.4*dot(a)")
            case "joint_spring":
                model.joint_spring("lower", stiffness=4, rest=0.3)
            case "joint_damper":
                model.joint_spring("lower", damping=0.6)
            case "joint_friction":
                model.joint_friction("lower", viscous=0.3, coulomb=0.5, smoothing=0.2)
            case "spring":
                model.spring(stiffness=8, natural_length=0.4, **ends)
            case "loose spring":
                model.spring(stiffness=8, **ends)
            case "damper":
                model.damper(damping=2, **ends)
            case "strut":
                model.strut(pull="3*(length - 1/2)**3 + 2*rate*length", **ends)
            case "joint_strut":
                model.joint_strut(
                    "lower", pull="3*position**3 + 0.7*rate*cos(t)", rate_curve=[[-3, -1], [0, 0], [4, 3]]
                )
            case "bushing":
                six = {"stiffness": (8, 5, 3, 2, 4, 1), "damping": (1, 2, 3, 0.3, 0.2, 0.1)}
                model.bushing(rotations=((0.1, 0.2, 0.3), (0.4, 0, 0)), **six, **ends)
            case "motor":
                model.motor("lower", stall_torque=3, no_load_speed=5, command="sin(t)")
            case "dc_motor":
                model.dc_motor(
                    "lower", voltage="3*sin(t) - a", resistance=2, torque_constant=0.4, back_emf=0.5, ratio=3
                )
            case "drag":
                model.drag("lower", density=1.2, area=2, coefficient=0.7, wind=(1, "t", 0), point=(0.6, 0.3, 0))
            case "point_gravity":
                model.point_gravity(("upper", "lower"), mu=4, point=(0.2, 1, 0))
            case "tire":
                model.tire("lower", radius=0.3, load="5 + a", stiffness=(3, 2), mu=0.8, normal=(0.2, 1, 0.3))
            case "sphere_on_plane":
                law = {"stiffness": 7, "damping": 0.4, "friction": 0.3, "smoothing": 0.5}
                model.sphere_on_plane("lower", radius=3, center=(0.6, 0.3, 0), ground="upper", normal=(1, 2, 2), **law)
            case "rotor":
                model.rotor("lower", 0.05, ratio=3)
            case "non_ideal":
                model.holonomic("a + 0.5*sin(b) - 0.1", name="tie").non_ideal({"a": "0.7*dot(a) + 1", "b": "-2*sin(t)"})
        return model

    make.__name__ = f"with {kind}"
    return make


def by_energies() -> Model:
    """A bead on a tilted line that oscillates, by its energies."""
    model = Model("by-energies").parameters(m=1.3, k=4.0).coordinates("x", "y").start([0.4, 0.2], [1, 0])
    return model.set_energies(
        "m*(dot(x)**2 + (1 + x**2)*dot(y)**2 + x*dot(x)*dot(y)*cos(t))/2", "k*(x**2 + y**4)/2", ["-dot(x)", 0]
    )


def tied() -> Model:
    """The arm with a rheonomic holonomic constraint and a nonholonomic one; one more body has a prismatic joint."""
    model = arm("x")
    model.body("slider", joint=model.prismatic((1, 0, 0), "x"), mass=1.1)
    model.holonomic("a + 0.5*sin(b)*x - 0.2*cos(t)", name="tie")
    return model.nonholonomic("(1 + x**2)*dot(x) - 0.5*dot(b) + 0.1*sin(t)", name="gear")


def served() -> Model:
    """The arm with servo constraints."""
    model = arm()
    model.holonomic("a + 0.5*sin(b) - 0.2*cos(t)", feedback=(4.0, 3.0))
    return model


def four_bars(feedback=None) -> Model:
    """A planar loop with prescribed motion of its far pivot."""
    model = Model("bars", gravity=(1.0, -9.81, 0)).coordinates("a", "b", "c")
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), **ROD)
    model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(0.5, 0, 0)), **SOLID)
    pivot = [model.prismatic((1, 0, 0), "1.5 + 0.05*sin(3*t)"), model.revolute((0, 0, 1), "c")]
    model.body("rocker", joint=pivot, **ROD)
    cut = model.revolute((0, 0, 1), 0, position=(1.4, 0, 0))
    model.loop("cut", ("coupler", "rocker"), cut, position=(0.9, 0, 0), feedback=feedback)
    return dl.assemble_model(model.start([1.0, -0.7, 1.3], [2, 0, 0]))


def served_bars() -> Model:
    """The same loop with Baumgarte stabilization."""
    return four_bars(feedback=(9.0, 6.0))


def hooke() -> Model:
    """Two shafts at 0.5 rad, connected by a universal joint."""
    model = Model("hooke", gravity=(1.0, -9.81, 2.0)).coordinates("a", "b")
    model.body("first", joint=model.revolute((1, 0, 0), "a"), **SOLID)
    model.body("second", joint=model.revolute((1, 0, 0), "b", rotation=(0, 0, 0.5)), **ROD)
    model.loop("cut", ("first", "second"), model.universal(((0, 1, 0), (0, 0, 1)), (0, 0)))
    return dl.assemble_model(model.start([0.3, 0.3], [2, 2]))


def sleigh() -> Model:
    """A blade on a body that slides in the plane."""
    model = Model("sleigh").coordinates("x", "y", "turn").start([0, 0, 0.3], [1, 0.3, 0.5])
    model.body("sleigh", joint=model.planar((0, 0, 1), ("x", "y"), "turn"), **SOLID)
    return model.knife_edge("sleigh", (0.2, 1, 0), point=(-0.3, 0.1, 0))


def rolling() -> Model:
    """A disk that rolls with a fixed lean."""
    model = Model("disc", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "yaw", "spin")
    joints = [model.free(("x", "y", "z"), ("yaw", 0.3, "spin"), "zxy")]
    model.body("disc", joint=joints, mass=1.5, center=(0.02, 0, 0.01), inertia=(0.1, 0.2, 0.12))
    return model.rolling_disk("disc", 0.5).start([0, 0, 0.5 * np.cos(0.3), 0.2, 0], [1, 0, 0, 0.3, 2])


@cache
def holding(kind: str) -> Callable[[], Model]:
    """The arm and a free ball, connected by one coupling, rod, slot, plane or surface."""
    ends = {"bodies": ("lower", "ball"), "points": ((0.1, -0.3, 0.2), (0, 0, 0))}

    def make() -> Model:
        model = arm("x", "y", "z").start({"a": 0.3, "b": -0.4, "x": 0.5, "y": 0.4, "z": 0.6}, {"a": 1.0})
        slides = [model.prismatic(axis, name) for axis, name in zip(np.eye(3), "xyz", strict=True)]
        model.body("ball", joint=slides, mass=0.6)
        match kind:
            case "gear":
                model.gear(("upper", "lower"), 2.5)
            case "distance":
                model.distance(length=0.7, **ends)
            case "point_on_line":
                model.point_on_line(axis=(1, 2, 2), **ends)
            case "point_in_plane":
                model.point_in_plane(normal=(1, 2, 3), **ends)
            case "point_on_surface":
                model.point_on_surface(surface="x**2 + 2*y**2 - sin(z)/3", **ends)
        return model

    make.__name__ = f"held by {kind}"
    return make


# detection


@dataclass(frozen=True)
class Found:
    """Accelerations and reactions; None if a formalism rejects the model."""

    qdd: np.ndarray | None
    reaction: np.ndarray | None


def by_formalism(space: Workspace, key: str, states: state_batch.States) -> Found:
    try:
        eom = Equations(derivation_of(space.setup, key))
        return Found(*(f(states.q, states.qd, states.t) for f in (eom.accelerations, eom.reactions)))
    except (InconsistentStateError, SingularError):
        return Found(None, None)


def by_recursion(model: Model, states: state_batch.States) -> Found:
    try:
        return Found(dl.forward_dynamics(model, states.q, states.qd, None, states.t, friction=True), None)
    except (InconsistentStateError, SingularError):
        return Found(None, None)


def apart(a: np.ndarray | None, b: np.ndarray | None) -> float:
    if a is None or b is None:
        return np.inf
    size = max(np.abs(a).max(), np.abs(b).max())
    return float(np.abs(a - b).max() / size) if size > 1e-9 else 0.0


def detections(model: Model, limit: float, more: tuple[str, ...] = ()) -> dict[str, float]:
    """The difference of each check from Lagrange's equations, if it exceeds the limit."""
    space = workspace_of(setup(model, "python"))
    states = state_batch.consistent_states(space.model, 4, seed=7)
    known = by_formalism(space, "lagrange", states)
    seen = {"formalisms": 0.0, "recursion": 0.0}
    for key in (*FORMALISMS[1:], *more):
        if catalog.unsupported_reason(catalog.find(key).ABOUT, space.model, space.facts) is None:
            other = by_formalism(space, key, states)
            gap = max(apart(known.qdd, other.qdd), apart(known.reaction, other.reaction))
            seen["formalisms"] = max(seen["formalisms"], gap)
    if model.bodies:
        seen["recursion"] = apart(known.qdd, by_recursion(model, states).qdd)
    assert known.qdd is not None
    seen["principle"] = _principle.residual(model, states, known.qdd, known.reaction).worst
    return {who: size for who, size in seen.items() if size > limit}


# mutations


def _reversed(axis: MotionAxis) -> MotionAxis:
    """A reversed motion."""
    return MotionAxis(times(-1, axis.about), times(-1, axis.along))


def everywhere(patch: pytest.MonkeyPatch, right: Callable, wrong: Callable) -> None:
    """Replace a function in every module that has it under its name."""
    owners = [
        (module, name)
        for key, module in list(sys.modules.items())
        if key.startswith("dalembert")
        for name, value in list(vars(module).items())
        if value is right
    ]
    assert owners
    for module, name in owners:
        patch.setattr(module, name, wrong)


def after(right: Callable, change: Callable) -> Callable:
    """The function with its result changed."""
    return lambda *arguments, **options: change(right(*arguments, **options))


def function(right: Callable, change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change what a function returns, wherever it is used."""
    return lambda patch: everywhere(patch, right, after(right, change))


def method(owner: type, name: str, change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change what a method returns."""
    return lambda patch: patch.setattr(owner, name, after(getattr(owner, name), change))


def getter(owner: type, name: str, change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change what a property returns."""
    right = vars(owner)[name]
    read = right.func if hasattr(right, "func") else right.fget
    return lambda patch: patch.setattr(owner, name, property(lambda self: change(read(self))))


def body(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change facts of moving bodies."""
    return method(motion._Recursion, "visit", lambda b: replace(b, **{k: f(getattr(b, k)) for k, f in changes.items()}))


def declared_body(change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Let the traversal read another body than the declared one."""
    right = motion._Recursion.visit
    return lambda patch: patch.setattr(motion._Recursion, "visit", lambda self, b: right(self, change(b)))


def load(kind: type[Load], change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change the records of an applied load."""
    return method(kind, "applied", lambda found: [change(one) for one in found])


def gravity(change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change the records of gravity."""
    return function(energies._gravity, lambda found: [change(one) for one in found])


LOADS = {
    "force": pushing.Force,
    "torque": pushing.Torque,
    "joint_torque": pushing.JointTorque,
    "joint_spring": pushing.JointSpring,
    "joint_damper": pushing.JointSpring,
    "joint_friction": pushing.JointFriction,
    "spring": pushing.Spring,
    "loose spring": pushing.Spring,
    "damper": pushing.Damper,
}
MORE_LOADS = {
    "strut": pushing.Strut,
    "joint_strut": pushing.JointStrut,
    "bushing": pushing.Bushing,
    "motor": pushing.Motor,
    "dc_motor": pushing.DcMotor,
    "drag": pushing.Drag,
    "point_gravity": pushing.PointGravity,
    "tire": pushing.Tire,
    "sphere_on_plane": pushing.SphereOnPlane,
}


def stronger(one, factor=1.5):
    """The force and everything derived from it times a factor: a consistent change."""
    wrenches = tuple(replace(w, force=w.force * factor, moment=w.moment * factor) for w in one.wrenches)
    potential = None if one.potential is None else one.potential * factor
    return replace(one, force=one.force * factor, potential=potential, wrenches=wrenches)


def negated(x):
    return -x


def transposed(R):
    return R.T


def first_row_doubled(A):
    out = A.copy()
    out[0] = out[0] * 2
    return out


def shifted(x):
    return x + 0.1


def levels(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change a level of the constraints defined by formulas."""
    return function(
        constraints.levels, lambda known: replace(known, **{k: f(getattr(known, k)) for k, f in changes.items()})
    )


def loop_row(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change the first row of a loop."""

    def changed(found):
        return [replace(found[0], **{k: f(getattr(found[0], k)) for k, f in changes.items()}), *found[1:]]

    return function(constraints.loop_rows, changed)


def first_shifted(b):
    """The first entry off by 0.1; without entries unchanged."""
    out = b.copy()
    out[:1] = [x + 0.1 for x in out[:1]]
    return out


def both(*steps: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    def patched(patch: pytest.MonkeyPatch) -> None:
        for step in steps:
            step(patch)

    return patched


def frame(name: str, position: int, change: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Change one of the parts that a method of a frame returns."""

    def changed(found):
        if isinstance(found, tuple):
            return (*found[:position], change(found[position]), *found[position + 1 :])
        return found

    return method(motion.Frame, name, changed)


def unturned(self, algebra, position, angles):
    """A fixed frame without the rotation of the angular velocity into its axes."""
    p, J, c = self.point(position)
    return motion.Frame(self.R @ roll_pitch_yaw(algebra, angles), p, J, c, self.D, self.E)


def longer(model):
    """A quaternion whose squares sum to 1.2 instead of 1."""
    mutated = tuple(replace(c, formula=c.phi - se.RealDouble(0.1)) for c in model.holonomic_constraints)
    return model.replaced(holonomic_constraints=mutated)


@dataclass(frozen=True)
class Mutation:
    fact: str
    model: Callable[[], Model]
    falsify: Callable[[pytest.MonkeyPatch], None]
    must: str  # checks that must detect it, by their first letters: F, R, P
    more: tuple[str, ...] = ()  # formalisms that use the quantity, in addition to the usual ones


MATRIX = (
    # bodies
    Mutation("mass", arm, body(mass=lambda m: m * 1.1), "RP"),
    Mutation("inertia entry", arm, body(inertia=lambda J: J * 1.1), "RP"),
    Mutation("sign of products of inertia", arm, body(inertia=lambda J: 2 * np.diag(np.diag(J)) - J), "RP"),
    Mutation("mass centre", arm, declared_body(lambda b: replace(b, center=(0, 0, 0))), "RP"),
    Mutation("mass in the tree", arm, function(links._body, lambda b: replace(b, m=b.m * 1.1)), "R"),
    Mutation(
        "inertia in the tree",
        arm,
        function(links._body, lambda b: replace(b, inertia=tuple(x + 1 for x in b.inertia))),
        "R",
    ),
    Mutation("axes in the tree", arm, function(links._axes, lambda a: tuple(_reversed(axis) for axis in a)), "R"),
    Mutation("own frames", arm, function(frames._in_frame, lambda b: replace(b, h=times(1.1, b.h))), "R"),
    Mutation("moment of mass in the tree", arm, function(links._body, lambda b: replace(b, h=times(-1, b.h))), "R"),
    # joints: rotation and displacement against the velocities they give
    *(
        Mutation(f"turn of {kind.kind}", model, method(kind, "rotation_matrix", transposed), "P")
        for kind, model in (
            (kinds.Revolute, arm),
            (kinds.Screw, jointed("screw")),
            (kinds.Cylindrical, jointed("cylindrical")),
            (kinds.Universal, jointed("universal")),
            (kinds.Planar, jointed("planar")),
            (kinds.Spherical, jointed("spherical")),
            (kinds.Quaternion, ball),
            (kinds.Free, floating),
        )
    ),
    *(
        # the energy of one revolute joint does not depend on its sense; the recursion reads axes from the joint steps
        Mutation(f"angular velocity of {kind.kind}", model, method(kind, "angular_motion_subspace", negated), must)
        for must, kind, model in (
            ("F", kinds.Revolute, jointed("revolute")),
            ("FR", kinds.Screw, jointed("screw")),
            ("FR", kinds.Cylindrical, jointed("cylindrical")),
            ("FR", kinds.Universal, jointed("universal")),
            ("FR", kinds.Planar, jointed("planar")),
            ("FR", kinds.Spherical, jointed("spherical")),
            ("FR", kinds.Free, floating),
        )
    ),
    *(
        Mutation(f"velocity of {kind.kind}", model, method(kind, "linear_motion_subspace", negated), "P")
        for kind, model in (
            (kinds.Prismatic, jointed("prismatic")),
            (kinds.Screw, jointed("screw")),
            (kinds.Cylindrical, jointed("cylindrical")),
            (kinds.Planar, jointed("planar")),
            (kinds.Free, floating),
        )
    ),
    *(
        Mutation(f"displacement of {kind.kind}", model, method(kind, "translation", negated), "P")
        for kind, model in (
            (kinds.Prismatic, jointed("prismatic")),
            (kinds.Screw, jointed("screw")),
            (kinds.Cylindrical, jointed("cylindrical")),
            (kinds.Planar, jointed("planar")),
            (kinds.Free, floating),
        )
    ),
    Mutation(
        "axis of revolute, everywhere",
        arm,
        both(
            method(kinds.Revolute, "rotation_matrix", transposed),
            method(kinds.Revolute, "angular_motion_subspace", negated),
        ),
        "P",
    ),
    Mutation("sense of rotations", arm, function(rotations.about_axis, transposed), "P"),
    Mutation("placement of joints", arm, function(rotations.roll_pitch_yaw, transposed), "P"),
    Mutation("cross product", arm, function(rotations.skew, negated), "FRP"),
    # motion
    Mutation("placed frame", arm, lambda patch: patch.setattr(motion.Frame, "fixed_frame", unturned), "F"),
    Mutation(
        "velocity along turned axes",
        arm,
        method(
            motion._MovingFrame,
            "at",
            lambda place: replace(place, own=(place.own[0] * 1.1, place.own[1] * 1.1)),
        ),
        "FRP",
    ),
    Mutation(
        "turns of the axes",
        arm,
        method(
            motion._MovingFrame,
            "rotating",
            lambda place: replace(place, axes=replace(place.axes, w=place.axes.w * 1.1)),
        ),
        "FRP",
    ),
    Mutation("position of a point", arm, frame("point", 0, lambda p: p * 1.1), "RP"),
    Mutation("lever arm of a point", arm, frame("point", 1, lambda J: J * 1.1), "FRP"),
    Mutation("drift of a point", driven, frame("point", 2, lambda c: c * 1.1), "RP"),
    Mutation("drift of joints", driven, method(motion._Recursion, "_motion", lambda j: replace(j, drift=0)), "RP"),
    Mutation(
        "gradient of joints",
        arm,
        method(motion._Recursion, "_motion", lambda j: replace(j, gradient=j.gradient * 1.1)),
        "RP",
    ),
    Mutation(
        "rotor of a motor",
        loaded("rotor"),
        function(motion._particle_on_line, lambda b: replace(b, mass=b.mass * 3)),
        "RP",
    ),
    # gravity
    Mutation("gravity's force", arm, gravity(lambda g: replace(g, force=-g.force)), "F"),
    Mutation("gravity's potential", arm, gravity(lambda g: replace(g, potential=-g.potential)), "FRP"),
    Mutation("gravity's wrench", arm, gravity(lambda g: replace(g, wrenches=stronger(g).wrenches)), "F"),
    Mutation("gravity", arm, gravity(stronger), "RP"),
    Mutation("gravity in the tree", arm, function(links.moving, lambda m: replace(m, gravity=m.gravity * 1.1)), "R"),
    # loads
    *(Mutation(f"size of {kind}", loaded(kind), load(name, stronger), "P") for kind, name in LOADS.items()),
    Mutation(
        "joint spring counted twice",
        loaded("joint_spring"),
        method(pushing.JointSpring, "applied", lambda f: f * 2),
        "P",
    ),
    Mutation("reaction of a torque", loaded("torque"), method(pushing.Torque, "applied", lambda f: f[:1]), "P"),
    Mutation("force of a spring", loaded("spring"), load(pushing.Spring, lambda s: replace(s, force=-s.force)), "F"),
    Mutation(
        "potential of a spring",
        loaded("spring"),
        load(pushing.Spring, lambda s: replace(s, potential=-s.potential)),
        "FRP",
    ),
    Mutation(
        "potential of a joint spring",
        loaded("joint_spring"),
        load(pushing.JointSpring, lambda s: replace(s, potential=-s.potential)),
        "FRP",
    ),
    *(
        Mutation(
            f"wrench of a {kind}",
            loaded(kind),
            load(LOADS[kind], lambda s: replace(s, wrenches=stronger(s).wrenches)),
            "F",
        )
        for kind in ("force", "torque", "spring", "damper")
    ),
    Mutation("place of a force", loaded("force"), load(pushing.Force, lambda f: replace(f, J=f.J * 1.1)), "FP"),
    Mutation("non-ideal forces", loaded("non_ideal"), function(energies.non_ideal_forces, negated), "P"),
    Mutation("applied forces in sum", loaded("force"), function(energies.generalized_forces, negated), "FRP"),
    Mutation("active forces", arm, function(energies.active_forces, negated), "F"),
    # contacts
    Mutation(
        "direction of a blade",
        sleigh,
        method(KnifeEdge, "formulas", lambda f: ({}, {k: psi + se.Symbol("dot(x)") for k, psi in f[1].items()})),
        "P",
    ),
    Mutation(
        "lowest point of a disc",
        rolling,
        method(RollingDisk, "lowest", lambda found: (found[0] * 0.8, found[1])),
        "P",
    ),
    Mutation(
        "height of a disc",
        rolling,
        method(RollingDisk, "formulas", lambda f: ({k: phi - 0.01 for k, phi in f[0].items()}, f[1])),
        "P",
    ),
    Mutation("norm of a quaternion", ball, function(constraints.with_contacts, longer), "P"),
    # constraints by formulas
    Mutation("position level of formulas", tied, levels(phi=lambda f: tuple(x + se.RealDouble(0.1) for x in f)), "P"),
    Mutation(
        "velocity level of formulas", tied, levels(velocity=lambda f: tuple(x + se.RealDouble(0.1) for x in f)), "P"
    ),
    Mutation("A of formulas", tied, levels(A=lambda A: (tuple(2 * x for x in A[0]), *A[1:])), "P"),
    Mutation("β of formulas", tied, levels(beta=lambda b: tuple(x + se.RealDouble(0.1) for x in b)), "P"),
    Mutation("feedback", served, method(Holonomic, "pull", negated), "P"),
    # loops
    Mutation("position level of loops", four_bars, loop_row(phi=shifted), "P"),
    Mutation("a of loops", four_bars, loop_row(a=lambda a: a * np.array([1, 1, 2])), "P"),
    Mutation("b of loops", four_bars, loop_row(b=lambda b: b * 2), "P"),
    Mutation("β of loops", four_bars, method(constraints.Constraints, "_loop_beta", first_shifted), "RP"),
    Mutation("β of loops in the recursion", four_bars, function(recursive_rows._loop_beta, first_shifted), "R"),
    Mutation(
        "feedback of loops",
        served_bars,
        method(constraints.Constraints, "_loop_beta", lambda b: [0 * x for x in b]),
        "RP",
    ),
    Mutation(
        "rows of a joint",
        four_bars,
        function(base.together, lambda r: [replace(r[0], phi=r[0].phi - 0.05), *r[1:]]),
        "P",
    ),
    Mutation(
        "wrench of a row",
        hooke,
        function(base.across, lambda row: replace(row, moment=row.moment + 0.1 * row.moment[::-1])),
        "P",
    ),
    # quantities shared by formalisms
    Mutation("kinetic energy", arm, function(energies.kinetic, lambda T: T * 1.1), "FRP"),
    Mutation("potential energy", arm, function(energies.potential, lambda V: V * 1.1), "FRP"),
    Mutation("user kinetic energy", by_energies, function(energies._user_kinetic, lambda T: T * 1.1), "P"),
    Mutation("user potential energy", by_energies, function(energies.potential, lambda V: V * 1.1), "P"),
    Mutation("user forces", by_energies, function(energies.generalized_forces, negated), "P"),
    Mutation(
        "free motion", arm, function(common_quantities.free_equations, lambda f: (f[0], f[1] * 1.1)), "F", ("maggi",)
    ),
    Mutation(
        "Legendre transform",
        arm,
        function(phase_space.canonical_of, lambda c: replace(c, H_q=c.H_q * 1.1)),
        "F",
        ("hamilton",),
    ),
    Mutation("speeds", tied, function(speeds.invert, lambda s: replace(s, X=s.X + 0.1)), "F"),
    # reactions
    Mutation("multipliers' reaction", tied, method(RightHandSide, "reactions", negated), "P"),
    Mutation("reaction from energies", tied, function(common_quantities.reaction_residual, negated), "F", ("maggi",)),
    Mutation("Kane's reaction", tied, function(kane.reaction, negated), "F"),
    # the recursion
    Mutation("loads in the recursion", loaded("force"), function(recursive_loads.load_forces, negated), "R"),
    Mutation("inverse recursion", tied, function(inverse.newton_euler, lambda w: (times(1.1, w[0]), w[1])), "R"),
    Mutation("articulated bodies", arm, function(forward.accelerate, lambda a: (a[0], a[1] * 1.1)), "R"),
    Mutation("composite bodies", tied, function(mass.composites, lambda f: [M + M for M in f]), "R"),
    Mutation("rates of quaternions", ball, function(recursive_speeds.part_rates, lambda H: H * 1.1), "R"),
)
# couplings and point constraints
HELD = (
    *(
        Mutation(
            f"formula of {member.kind}",
            holding(member.kind),
            method(member, "formulas", lambda f: ({k: phi + se.Symbol("a") ** 2 / 9 for k, phi in f[0].items()}, {})),
            "P",
        )
        for member in (Gear, Distance, PointOnLine, PointInPlane, PointOnSurface)
    ),
    Mutation(
        "phase of a gear",
        holding("gear"),
        method(Gear, "formulas", lambda f: ({k: phi - 0.01 for k, phi in f[0].items()}, {})),
        "P",
    ),
)
NAMES = {"F": "formalisms", "R": "recursion", "P": "principle"}


def some_each_day(all_of_them: Iterable[Any]) -> list:
    """Every other one daily, and all of them nightly."""
    return [pytest.param(one, marks=pytest.mark.nightly if k % 2 else ()) for k, one in enumerate(all_of_them)]


def at_night(all_of_them: Iterable[Any]) -> list:
    return [pytest.param(one, marks=pytest.mark.nightly) for one in all_of_them]


@pytest.mark.parametrize("mutation", [*some_each_day(MATRIX), *at_night(HELD)], ids=lambda mutation: mutation.fact)
def test_a_mutation_is_detected(mutation: Mutation, monkeypatch: pytest.MonkeyPatch):
    model = mutation.model()
    mutation.falsify(monkeypatch)
    found = detections(model, DETECTED, mutation.more)
    assert {NAMES[letter] for letter in mutation.must} <= set(found), found


@pytest.mark.nightly
@pytest.mark.parametrize("kind", MORE_LOADS)
@pytest.mark.parametrize("what", ["size", "wrench", "nothing"])
def test_a_mutated_load_is_detected_and_the_original_is_not(kind, what, monkeypatch: pytest.MonkeyPatch):
    change = {"size": stronger, "wrench": lambda s: replace(s, wrenches=stronger(s).wrenches), "nothing": lambda s: s}
    load(MORE_LOADS[kind], change[what])(monkeypatch)
    found = detections(loaded(kind)(), QUIET if what == "nothing" else DETECTED, ("hamilton", "maggi"))
    must = {"size": "P", "wrench": "" if issubclass(MORE_LOADS[kind], pushing.InJoint) else "F", "nothing": ""}[what]
    assert {NAMES[letter] for letter in must} <= set(found)
    assert found or must == ""
    assert not found or must != ""


@pytest.mark.parametrize("kind", LOADS)
def test_a_load_with_a_relative_error_of_1e_9_is_detected(kind, monkeypatch: pytest.MonkeyPatch):
    model = loaded(kind)()
    load(LOADS[kind], lambda one: stronger(one, 1 + 1e-8 if "damper" in kind else 1 + 1e-9))(monkeypatch)
    space = workspace_of(setup(model, "python"))
    states = state_batch.consistent_states(space.model, 20, seed=7)
    found = by_formalism(space, "kane", states)
    assert found.qdd is not None
    assert "motion" in _principle.residual(model, states, found.qdd, found.reaction).broken


@pytest.mark.parametrize(
    "make",
    [
        *some_each_day(dict.fromkeys(mutation.model for mutation in MATRIX)),
        *at_night(dict.fromkeys(mutation.model for mutation in HELD)),
    ],
    ids=lambda make: make.__name__,
)
def test_no_mutation_gives_no_detection(make):
    assert detections(make(), QUIET, ("hamilton", "maggi")) == {}


def test_the_matrix_has_the_documented_size():
    assert len({mutation.fact for mutation in MATRIX}) == len(MATRIX) >= 25
