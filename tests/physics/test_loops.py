"""Closed loops and quaternions: loop joints agree with tree joints, statics in closed form, known motions."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.formalisms import catalog
from dalembert.mechanics import state_batch
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Elements
from dalembert.model.joints import JOINTS
from dalembert.model.joints.free import Free
from dalembert.model.model import Model
from dalembert.symbolic.floats import FLOATS, numbers

G = 9.81
PLACE: dict[str, Any] = {"position": (0.5, -0.1, 0.2), "rotation": (0.2, -0.3, 0.4)}
OBLIQUE = (1, 2, 2)
SOLID: dict[str, Any] = {"mass": 1.3, "center": (0.2, 0.1, -0.1), "inertia": (0.3, 0.4, 0.35, 0.02, -0.03, 0.01)}
EXACT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}

KINDS = {
    "fixed": (0, lambda m: m.fixed(**PLACE)),
    "revolute": (1, lambda m, a: m.revolute(OBLIQUE, a, **PLACE)),
    "prismatic": (1, lambda m, a: m.prismatic(OBLIQUE, a, **PLACE)),
    "screw": (1, lambda m, a: m.screw(OBLIQUE, a, 0.8, **PLACE)),
    "cylindrical": (2, lambda m, a, b: m.cylindrical(OBLIQUE, a, b, **PLACE)),
    "universal": (2, lambda m, a, b: m.universal(((0, 0, 1), (1, 1, 0)), (a, b), **PLACE)),
    "planar": (3, lambda m, a, b, c: m.planar(OBLIQUE, (a, b), c, **PLACE)),
    "spherical": (3, lambda m, a, b, c: m.spherical((a, b, c), "zxy", **PLACE)),
}


def as_floats(array) -> np.ndarray:
    return numbers(np.asarray(array, dtype=object), 1)[..., 0]


def frames_of(model: Elements, q, qd, t=0.0) -> dict:
    state = States(np.array(q, float)[:, None], np.array(qd, float)[:, None], np.array([t]))
    return state_batch.motion_at(model, state).frames


def on_arm(kind: str) -> Model:
    """A link attached to an arm by a tree joint."""
    count, make = KINDS[kind]
    names = [f"r{i}" for i in range(count)]
    model = Model("tree", gravity=(0.4, 0, -G)).coordinates("q", *names)
    model.start([0.3, *[0.3, 0.5, -0.2][:count]], [0.5, *[0.4, -0.3, 0.6][:count]])
    model.body("arm", joint=model.revolute((0, 1, 0), "q"), **SOLID)
    return model.body("link", parent="arm", joint=make(model, *names), **SOLID)


def cut_from_arm(kind: str, by_quaternion: bool, swapped: bool = False) -> Model:
    """The same link as a floating body, attached to the arm by the same joint as a loop joint, in the same state."""
    count, make = KINDS[kind]
    tree = on_arm(kind)
    q, qd = tree.initial
    frame = frames_of(tree, q, qd)["link"]
    R, p, v, w = as_floats(frame.R), as_floats(frame.p), as_floats(frame.J) @ qd, as_floats(frame.D) @ qd
    names = ("w", "x", "y", "z") if by_quaternion else ("yaw", "pitch", "roll")
    model = Model("loop", gravity=(0.4, 0, -G)).coordinates("q", "X", "Y", "Z", *names)
    if by_quaternion:
        attitude = np.roll(Rotation.from_matrix(R).as_quat(), 1)
        joint = model.free(("X", "Y", "Z"), quaternion=names)
    else:
        attitude = Rotation.from_matrix(R).as_euler("ZYX")
        joint = model.free(("X", "Y", "Z"), names, "zyx")
    rates = np.linalg.pinv(joint.attitude.angular_motion_subspace(FLOATS, list(attitude)).astype(float)) @ w
    model.start([q[0], *p, *attitude], [qd[0], *v, *rates])
    model.body("arm", joint=model.revolute((0, 1, 0), "q"), **SOLID)
    model.body("link", joint=joint, **SOLID)
    cut = make(model, *[0] * count)
    if not swapped:
        return model.loop("cut", ("arm", "link"), cut)
    placed = (("position", cut.position), ("rotation", cut.rotation))
    place: dict[str, Any] = {key: [float(x) for x in v] for key, v in placed}
    turned = model.spherical((0, 0, 0))
    return model.loop("cut", ("link", "arm"), turned, **place)


def motion_of_bodies(run) -> np.ndarray:
    """Rotations and origins of arm and link along a run."""
    rows = []
    for q, t in zip(run.q.T, run.t, strict=True):
        frames = frames_of(run.model, q, 0 * q, t)
        rows.append(np.concatenate([as_floats(x).ravel() for b in ("arm", "link") for x in (frames[b].R, frames[b].p)]))
    return np.array(rows)


# a joint in the tree and the same joint as a cut


def test_the_table_of_this_file_is_complete():
    assert set(KINDS) == {joint.kind for joint in JOINTS} - {"quaternion", "free"}


@pytest.mark.nightly
@pytest.mark.parametrize("by_quaternion", [False, True], ids=["angles", "quaternion"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_joint_has_the_motion_and_forces_of_a_tree_joint(kind, by_quaternion):
    tree, loop = on_arm(kind), cut_from_arm(kind, by_quaternion)
    by_tree, by_loop = (dl.derive(m, engine="python").simulate(0.4, samples=9, **EXACT) for m in (tree, loop))
    assert np.allclose(motion_of_bodies(by_tree), motion_of_bodies(by_loop), atol=1e-8)
    for axes in ("world", "parent", "child"):
        by_joint, cut = by_tree.joint_reactions(axes)["link"], by_loop.joint_reactions(axes)["cut"]
        assert (by_joint.body, by_joint.parent, by_joint.frame) == (cut.body, cut.parent, cut.frame)
        assert np.abs(by_joint.force).max() > 1
        assert np.allclose(by_joint.force, cut.force, atol=1e-7)
        assert np.allclose(by_joint.moment, cut.moment, atol=1e-7)
    in_tree, in_loop = by_tree.joint_reactions(), by_loop.joint_reactions()
    assert np.allclose(in_tree["arm"].force, in_loop["arm"].force, atol=1e-7)
    assert np.allclose(in_tree["arm"].moment, in_loop["arm"].moment, atol=1e-7)
    # the free joint of the tree transmits no force
    assert np.allclose(in_loop["link"].force, 0, atol=1e-7)
    assert np.allclose(in_loop["link"].moment, 0, atol=1e-7)


def test_machine_code_gives_the_same_result():
    tree, loop = (dl.derive(m, "lagrange") for m in (on_arm("screw"), cut_from_arm("screw", False)))
    by_joint = tree.simulate(0.4, samples=5).joint_reactions()["link"]
    cut = loop.simulate(0.4, samples=5).joint_reactions()["cut"]
    assert np.allclose(by_joint.force, cut.force, atol=1e-10)
    assert np.allclose(by_joint.moment, cut.moment, atol=1e-10)


def test_reversing_a_spherical_cut_reverses_its_force():
    tree = dl.derive(on_arm("spherical"), engine="python")
    loop = dl.derive(cut_from_arm("spherical", False, swapped=True), engine="python")
    by_joint = tree.simulate(0.4, samples=5, **EXACT).joint_reactions()["link"]
    cut = loop.simulate(0.4, samples=5, **EXACT).joint_reactions()["cut"]
    assert (cut.body, cut.parent) == ("arm", "link")
    assert np.allclose(cut.force, -by_joint.force, atol=1e-7)
    assert np.allclose(cut.moment, 0, atol=1e-7)


def test_a_screw_joint_preserves_its_lead_over_many_revolutions():
    # a nut on a standing spindle under gravity: (m h² + J) φ̈ = −m g h with h the lead
    model = Model("nut", gravity=(0, 0, -G)).coordinates("z", "phi").start([0, 0], [0, 0])
    guide = [model.prismatic((0, 0, 1), "z"), model.revolute((0, 0, 1), "phi")]
    model.body("nut", joint=guide, mass=2.0, inertia=(0.1, 0.1, 0.05))
    model.loop("thread", ("world", "nut"), model.screw((0, 0, 1), 0, 0.6))
    lead = 0.6 / (2 * math.pi)
    run = dl.derive(model, "lagrange").simulate(2.0, samples=41)
    pace = -2.0 * G * lead / (2.0 * lead**2 + 0.05)
    assert np.allclose(run.q[1], pace * run.t**2 / 2, rtol=1e-10, atol=1e-11)
    assert abs(run.q[1, -1]) > 8 * 2 * math.pi
    assert np.allclose(run.q[0], lead * run.q[1], atol=1e-11)
    pushed = run.joint_reactions()["thread"]
    assert np.allclose(pushed.force[2], 2.0 * (G + lead * pace), rtol=1e-9)
    assert np.allclose(pushed.moment[2], 0.05 * pace, rtol=1e-9)


# statics in closed form


def test_a_beam_on_two_supports():
    # shoes on a rail support the beam on pins; the beam carries two loads in addition to its weight
    span, weight, extra = 3.0, 4.0 * G, ((1.0, 50.0), (2.2, 20.0))
    model = Model("beam", gravity=(0, -G, 0)).coordinates("a", "tilt", "b").start([0, 0, span], [0, 0, 0])
    model.body("left", joint=model.prismatic((1, 0, 0), "a"), mass=1)
    model.body(
        "beam", parent="left", joint=model.revolute((0, 0, 1), "tilt"), mass=4, center=(1.2, 0, 0), inertia=(0, 3, 3)
    )
    model.body("right", joint=model.prismatic((1, 0, 0), "b"), mass=1)
    for place, load in extra:
        model.force("beam", (0, -load, 0), point=(place, 0, 0))
    model.loop("pin", ("beam", "right"), model.revolute((0, 0, 1), 0, position=(span, 0, 0)))
    eom = dl.derive(model, "lagrange")
    q, qd = model.initial
    assert np.allclose(eom.accelerations(q, qd), 0, atol=1e-12)
    found = eom.joint_reactions(q, qd)
    at_right = (weight * 1.2 + sum(place * load for place, load in extra)) / span
    at_left = weight + sum(load for _, load in extra) - at_right
    # the beam presses on the right shoe, and the left one carries the beam
    assert np.allclose(found["pin"].force, [0, -at_right, 0], atol=1e-9)
    assert np.allclose(found["pin"].moment, 0, atol=1e-9)
    assert np.allclose(found["beam"].force, [0, at_left, 0], atol=1e-9)
    assert np.allclose(found["right"].force, [0, at_right + G, 0], atol=1e-9)
    assert np.allclose(found["left"].force, [0, at_left + G, 0], atol=1e-9)


def test_a_three_hinged_arch_has_thrust():
    # two rods of weight W, half span b, height h: the crown is pushed by H = W b / (2 h), with no vertical force
    b, h, mass = 2.0, 1.5, 6.0
    slope, length = math.atan2(h, b), math.hypot(b, h)
    model = Model("arch", gravity=(0, -G, 0)).coordinates("l", "r").start([slope, math.pi - slope], [0, 0])
    rod = {"mass": mass, "center": (length / 2, 0, 0), "inertia": (0, 1, 1)}
    model.body("left", joint=model.revolute((0, 0, 1), "l"), **rod)
    model.body("right", joint=model.revolute((0, 0, 1), "r", position=(2 * b, 0, 0)), **rod)
    crown = model.revolute((0, 0, 1), 0, position=(length, 0, 0))
    model.loop("crown", ("left", "right"), crown, position=(length, 0, 0))
    assert dl.mobility(model).degrees_of_freedom == 0
    found = dl.derive(model, "lagrange", engine="python").joint_reactions(*model.initial)
    thrust = mass * G * b / (2 * h)
    assert np.allclose(found["crown"].force, [thrust, 0, 0], atol=1e-9)
    assert np.allclose(found["left"].force, [thrust, mass * G, 0], atol=1e-9)
    assert np.allclose(found["right"].force, [-thrust, mass * G, 0], atol=1e-9)


def bracket(cut: bool, swapped: bool = False) -> Model:
    """A bracket fixed to the wall by a tree joint or a loop joint, with a pendulum on it that hangs or swings."""
    model = Model("bracket", gravity=(0, 0, -G)).coordinates("swing")
    where: dict[str, Any] = {"position": (0, 0, 1.0), "rotation": (0, 0, 0.5)}
    if cut:
        model.coordinates("x", "y", "z", "a", "b", "c").start({"z": 1.0, "c": 0.5}, {})
        joint = model.free(("x", "y", "z"), ("a", "b", "c"), "xyz")
    else:
        joint = model.fixed(**where)
    model.body("bracket", joint=joint, mass=3.0, center=(0.4, 0, 0), inertia=(0.1, 0.2, 0.2))
    hinge = model.revolute((1, 0, 0), "swing", position=(0.9, 0.2, 0))
    model.body("bob", parent="bracket", joint=hinge, mass=2.0, center=(0, 0, -0.5), inertia=(0.05, 0.05, 0.01))
    if cut and swapped:
        model.loop("wall", ("bracket", "world"), model.fixed(), **where)
    elif cut:
        model.loop("wall", ("world", "bracket"), model.fixed(**where))
    return model


def test_a_bracket_on_a_fixed_loop_joint_supports_its_weight():
    model = bracket(cut=True)
    found = dl.derive(model, "lagrange", engine="python").joint_reactions(*model.initial)
    out = Rotation.from_euler("z", 0.5)
    arm, hinge = out.apply([0.4, 0, 0]), out.apply([0.9, 0.2, 0])
    moment = -np.cross(arm, [0, 0, -3 * G]) - np.cross(hinge, [0, 0, -2 * G])
    assert np.allclose(found["wall"].force, [0, 0, 5 * G], atol=1e-9)
    assert np.allclose(found["wall"].moment, moment, atol=1e-9)
    assert np.allclose(found["bracket"].force, 0, atol=1e-9)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_shaken_bracket_has_equal_forces_by_tree_and_by_cut(swapped):
    tree, loop = (
        dl.derive(model, engine="python").simulate(0.8, samples=9, qd0={"swing": 3.0}, **EXACT)
        for model in (bracket(cut=False), bracket(cut=True, swapped=swapped))
    )
    assert np.allclose(tree.q[0], loop.q[0], atol=1e-8)
    by_joint, cut = tree.joint_reactions()["bracket"], loop.joint_reactions()["wall"]
    sign = -1 if swapped else 1
    assert np.ptp(by_joint.force) > 10
    assert np.allclose(by_joint.force, sign * cut.force, atol=1e-7)
    assert np.allclose(by_joint.moment, sign * cut.moment, atol=1e-7)


# conserved quantities of closed chains


def four_bars(on: str = "world") -> Model:
    """Four bars in the plane, on the ground or on a plate that floats."""
    model = Model("four bars", gravity=(0, -G, 0) if on == "world" else (0, 0, 0)).coordinates("a", "b", "c")
    if on != "world":
        model.coordinates("x", "y", "turn")
        model.body(
            on, joint=model.planar((0, 0, 1), ("x", "y"), "turn"), mass=3, center=(0.6, 0.1, 0), inertia=(0, 0, 0.5)
        )
    rod = {"mass": 1.0, "inertia": (0.01, 0.05, 0.05)}
    model.body("crank", parent=on, joint=model.revolute((0, 0, 1), "a"), center=(0.25, 0, 0), **rod)
    elbow = model.revolute((0, 0, 1), "b", position=(0.5, 0, 0))
    model.body("coupler", parent="crank", joint=elbow, center=(0.7, 0.2, 0), **rod)
    pivot = model.revolute((0, 0, 1), "c", position=(1.5, 0, 0))
    model.body("rocker", parent=on, joint=pivot, center=(0.45, 0, 0), **rod)
    pin = model.revolute((0, 0, 1), 0, position=(1.4, 0, 0))
    model.loop("pin", ("coupler", "rocker"), pin, position=(0.9, 0, 0))
    return dl.assemble_model(model.start({"a": 1.0, "b": -0.7, "c": 1.3}, {"a": 4.0}))


@pytest.mark.parametrize("key", ["lagrange", "kane", "hamilton", "volterra", "newton_euler"])
def test_a_closed_chain_conserves_energy_and_closure(key):
    run = dl.derive(four_bars(), key).simulate(3.0, samples=61)
    assert np.ptp(run.q[0]) > 2
    assert np.allclose(run.energy, run.energy[0], rtol=1e-11)
    assert np.abs(run.violation).max() < 1e-11


def test_a_floating_closed_chain_conserves_momenta():
    run = dl.derive(four_bars("plate"), "lagrange").simulate(2.0, samples=21, qd0=None)
    assert np.ptp(run.q[5]) > 0.2
    assert np.allclose(run.linear_momentum, run.linear_momentum[:, :1], atol=1e-11)
    assert np.allclose(run.angular_momentum, run.angular_momentum[:, :1], atol=1e-11)
    assert np.allclose(run.energy, run.energy[0], rtol=1e-11)


def test_ground_reactions_equal_the_rate_of_momentum():
    # force and moment of both pivots against Σ m a − m g, with accelerations by central differences
    run = dl.derive(four_bars(), "lagrange").simulate(times=np.linspace(0, 0.8, 801))
    h = run.t[1] - run.t[0]
    weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60 * h)
    force = np.array([np.convolve(row, weights[::-1], mode="valid") for row in run.linear_momentum])
    moment = np.array([np.convolve(row, weights[::-1], mode="valid") for row in run.angular_momentum])
    found = run.joint_reactions()
    crank, rocker = found["crank"], found["rocker"]
    carried = (crank.force + rocker.force)[:, 3:-3] + np.array([[0], [-3.0 * G], [0]])
    assert np.allclose(carried, force, atol=1e-6)
    centers = sum(np.array([as_floats(b.p_WG)[0] for b in bodies]) for bodies in moving(run, 3))
    about = (crank.moment + rocker.moment)[2, 3:-3] + 1.5 * rocker.force[1, 3:-3] - G * centers
    assert np.allclose(about, moment[2], atol=1e-6)


def moving(run, margin: int) -> list:
    """The three bodies of the four bars at the inner samples, body by body."""
    inner = slice(margin, -margin)
    at = [
        state_batch.motion_at(run.model, States(q[:, None], 0 * q[:, None], np.array([t])))
        for q, t in zip(run.q.T[inner], run.t[inner], strict=True)
    ]
    return [[motion.body(name) for motion in at] for name in ("crank", "coupler", "rocker")]


def test_stabilization_maintains_a_loop_without_projection():
    model = four_bars()
    free = dl.derive(model, "lagrange").simulate(
        3.0, samples=31, integrator="rk45", project=False, rtol=1e-5, atol=1e-6
    )
    stabilized = dl.derive(model, "lagrange").simulate(
        3.0, samples=31, integrator="rk45", stabilization=(100.0, 20.0), rtol=1e-5, atol=1e-6
    )
    drift, residual = (np.abs(run.position_violation[:, -1]).max() for run in (free, stabilized))
    assert residual < drift / 5
    assert residual < 1e-4


# quaternions


def spinning(center=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0)) -> Model:
    model = Model("body", gravity=gravity).coordinates("w", "x", "y", "z").start([1, 0, 0, 0], [0, 0, 0, 0])
    ball = model.spherical(quaternion=("w", "x", "y", "z"))
    return model.body("body", joint=ball, mass=1.7, center=center, inertia=(0.2, 0.5, 0.6, 0.02, 0.0, -0.03))


def rates_of(omega) -> list[float]:
    """q̇ for ω in body axes at q = 1."""
    return [0.0, *(0.5 * np.array(omega))]


def by_scipy(inertia, mass, center, gravity, omega, times):
    """Euler's equations with the attitude, about the fixed point, as (quaternion scalar first, ω)."""
    center = np.array(center)
    I = np.array(inertia) + mass * (center @ center * np.eye(3) - np.outer(center, center))  # noqa: E741

    def f(_, s):
        q, w = s[:4], s[4:]
        R = Rotation.from_quat(np.roll(q, -1)).as_matrix()
        torque = np.cross(center, mass * R.T @ np.array(gravity))
        half = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return [*half, *np.linalg.solve(I, torque - np.cross(w, I @ w))]

    found = solve_ivp(f, (0, times[-1]), [1, 0, 0, 0, *omega], "DOP853", times, rtol=1e-13, atol=1e-14)
    return found.y[:4], found.y[4:]


INERTIA = [[0.2, 0.02, 0.0], [0.02, 0.5, -0.03], [0.0, -0.03, 0.6]]


@pytest.mark.slow(4)  # kane
@pytest.mark.parametrize("key", ["kane", "lagrange", "hamilton", "boltzmann_hamel", "gauss"])
def test_a_free_rigid_body_obeys_eulers_equations(key):
    # rotation about the intermediate axis of inertia: it tumbles repeatedly
    omega = (0.05, 3.0, 0.02)
    model = spinning().start([1, 0, 0, 0], rates_of(omega))
    run = dl.derive(model, key).simulate(12.0, samples=61)
    q, w = by_scipy(INERTIA, 1.7, (0, 0, 0), (0, 0, 0), omega, run.t)
    assert w[1].min() < -2.5
    assert np.allclose(run.q, q, atol=1e-8)
    assert np.allclose(body_rates(run), w, atol=1e-8)
    assert np.allclose((run.q**2).sum(axis=0), 1, atol=1e-13)
    assert np.allclose(run.energy, run.energy[0], rtol=1e-12)
    assert np.allclose(run.angular_momentum, run.angular_momentum[:, :1], atol=1e-11)


def body_rates(run, body: str = "body") -> np.ndarray:
    motion = state_batch.motion_at(run.model, States(run.q, run.qd, run.t))
    frame = motion.body(body)
    return numbers(frame.D @ motion.qd + frame.E, len(run.t))


def test_a_body_on_a_spherical_joint_obeys_eulers_equations():
    center, gravity, omega = (0.1, -0.2, 0.3), (0.0, 2.0, -G), (1.0, -2.0, 0.5)
    model = spinning(center, gravity).start([1, 0, 0, 0], rates_of(omega))
    run = dl.derive(model, "kane").simulate(5.0, samples=51)
    q, w = by_scipy(INERTIA, 1.7, center, gravity, omega, run.t)
    assert np.allclose(run.q, q, atol=1e-8)
    assert np.allclose(body_rates(run), w, atol=1e-7)
    assert np.allclose(run.energy, run.energy[0], atol=1e-11)


def test_angular_velocity_is_chosen_as_speed_for_all_attitudes():
    # a full tumble passes every attitude at which some q̇ vanishes or some Euler angles are singular
    omega = (0.05, 3.0, 0.02)
    model = spinning().start([1, 0, 0, 0], rates_of(omega))
    eom = dl.derive(model, "kane")
    assert len(eom.speeds) == 3
    run = eom.simulate(12.0, samples=241)
    turned = np.abs(run.q).min(axis=1)
    assert (turned < 0.05).all()
    assert np.allclose(run.speeds, body_rates(run), atol=1e-12)
    assert run.notes == ()


def test_a_quaternion_joint_transmits_no_moment_and_its_norm_no_work():
    model = spinning((0.1, -0.2, 0.3), (0, 0, -G)).start([1, 0, 0, 0], rates_of((1.0, -2.0, 0.5)))
    run = dl.derive(model, "lagrange").simulate(2.0, samples=21)
    assert run.violation_names == ("norm of body, position", "norm of body, velocity")
    assert np.allclose(run.joint_reactions()["body"].moment, 0, atol=1e-10)
    assert np.allclose(np.sum(run.reactions * run.qd, axis=0), 0, atol=1e-10)


def test_quaternion_norm_drift_without_projection_is_harmless():
    omega = (0.05, 3.0, 0.02)
    model = spinning().start([1, 0, 0, 0], rates_of(omega))
    run = dl.derive(model, "lagrange").simulate(6.0, samples=31, project=False)
    _, w = by_scipy(INERTIA, 1.7, (0, 0, 0), (0, 0, 0), omega, run.t)
    assert np.allclose(body_rates(run), w, atol=1e-8)


def heavy_top() -> Model:
    """Reference data of the multibody literature: R = 1 and ω = (0, 150, −4.61538) in body axes at the start."""
    model = Model("heavy top", gravity=(0, 0, -G)).coordinates("w", "x", "y", "z")
    ball = model.spherical(quaternion=("w", "x", "y", "z"))
    model.body("body", joint=ball, mass=15, center=(0, 1, 0), inertia=(0.234375, 0.46875, 0.234375))
    return model.start([1, 0, 0, 0], rates_of((0, 150, -4.61538)))


PUBLISHED = [
    (4.5748, 150.0, -0.6347),
    (1.2594, 150.0, 4.4536),
    (-4.2537, 150.0, 1.8644),
    (-2.4401, 150.0, -3.9779),
    (3.6303, 150.0, -2.9772),
    (3.4673, 150.0, 3.2160),
]


@pytest.mark.parametrize("key", ["lagrange", "kane", "udwadia_kalaba", "volterra"])
def test_the_heavy_top_by_quaternion_agrees_with_published_values(key):
    run = dl.derive(heavy_top(), key).simulate(0.06, samples=7)
    assert np.allclose(body_rates(run)[:, 1:].T, PUBLISHED, atol=6e-5)
    assert np.allclose(run.energy, run.energy[0], rtol=1e-12)
    assert np.allclose(run.angular_momentum[2], run.angular_momentum[2, 0], rtol=1e-11)
    assert np.allclose((run.q**2).sum(axis=0), 1, atol=1e-13)


def test_quaternion_and_angles_describe_the_same_top():
    run = dl.derive(heavy_top(), "lagrange").simulate(0.05, samples=6)
    gallery = dl.derive(dl.load("heavy-top"), "lagrange").simulate(0.05, samples=6)
    for k in range(6):
        by_angles = frames_of(gallery.model, gallery.q[:, k], 0 * gallery.q[:, k])["top"].R
        R = Rotation.from_quat(np.roll(run.q[:, k], -1)).as_matrix()
        assert np.allclose(R, as_floats(by_angles), atol=1e-10)


@pytest.mark.slow(13)
def test_every_formalism_agrees_on_the_top():
    found = dl.verify(heavy_top(), states=20, engines=["native"])
    assert set(found.formalisms) == set(catalog.KEYS)
    assert {v.status for v in found.formalisms.values()} == {"agrees"}
    assert found.max_difference <= 1e-10


def test_a_floating_body_falls_and_tumbles():
    # free body with a quaternion: the mass center follows a parabola, the rotation is torque-free
    names = ("w", "x", "y", "z")
    model = Model("thrown", gravity=(0, 0, -G)).coordinates("X", "Y", "Z", *names).start({"w": 1}, {})
    joint = model.free(("X", "Y", "Z"), quaternion=names)
    assert isinstance(joint, Free)
    model.body("body", joint=joint, mass=1.7, center=(0.1, 0.2, -0.1), inertia=INERTIA)
    omega, throw = np.array([0.5, 3.0, -1.0]), np.array([1.0, 2.0, 5.0])
    start = throw - np.cross(
        omega, [0.1, 0.2, -0.1]
    )  # velocity of the origin such that the mass center has the initial velocity
    model.start({}, dict(zip(("X", "Y", "Z", *names), [*start, *rates_of(omega)], strict=True)))
    run = dl.derive(model, "kane").simulate(2.0, samples=21)
    q, w = by_scipy(INERTIA, 1.7, (0, 0, 0), (0, 0, 0), omega, run.t)
    assert np.allclose(run.q[3:], q, atol=1e-9)
    assert np.allclose(body_rates(run), w, atol=1e-9)
    out = np.array([Rotation.from_quat(np.roll(row, -1)).apply([0.1, 0.2, -0.1]) for row in q.T]).T
    fall = np.outer([0, 0, -G], run.t**2 / 2)
    expected = np.array([[0.1], [0.2], [-0.1]]) + np.outer(throw, run.t) + fall
    assert np.allclose(run.q[:3] + out, expected, atol=1e-10)
    assert np.allclose(run.linear_momentum[:2], run.linear_momentum[:2, :1], atol=1e-11)
