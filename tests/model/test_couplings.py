"""Gears, belts, racks, worms and couplings, rods, slots, surfaces and curves: closed forms, files, checks and error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.io import gallery
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.model.contacts import CONTACTS
from dalembert.model.contacts.base import Contact, PositionContact
from dalembert.model.model import Model

G = 9.81
Z = (0, 0, 1)


def accelerations(model: Model, q: Any = None) -> np.ndarray:
    start, rates = model.initial
    return dl.derive(model, engine="python").accelerations(start if q is None else q, rates)


def shafts(*inertias: float) -> Model:
    """Parallel wheels named w0, w1, ... with the coordinates a0, a1, ..."""
    model = Model("shafts").parameters(i=2.5, r=0.4).coordinates(*(f"a{k}" for k in range(len(inertias))))
    for k, inertia in enumerate(inertias):
        model.body(f"w{k}", joint=model.revolute(Z, f"a{k}", position=(k, 0, 0)), mass=1, inertia=(0, 0, inertia))
    return model


# closed forms of couplings


def test_reflected_inertia_of_a_gear_train():
    # I₀ + I₁/i₁² + I₂/(i₁ i₂)²
    model = shafts(0.2, 1.5, 30.0).gear(("w0", "w1"), "i").gear(("w1", "w2"), 4).joint_torque("w0", 3)
    first = 3 / (0.2 + 1.5 / 2.5**2 + 30 / (2.5 * 4) ** 2)
    assert accelerations(model) == pytest.approx([first, -first / 2.5, first / 10], rel=1e-13)


def test_a_load_on_the_last_wheel_is_lifted_by_less():
    # the torque m g r of a weight is divided by the ratio at the motor
    model = shafts(0.2, 1.5).gear(("w0", "w1"), 3, internal=True).joint_torque("w1", -6).joint_torque("w0", 2)
    assert accelerations(model) == pytest.approx([0, 0], abs=1e-14)
    multipliers = dl.derive(model, engine="python").multipliers([0, 0], [0, 0])
    assert multipliers == pytest.approx([-2])  # on the first wheel, against its motor


@pytest.mark.parametrize(("crossed", "way"), [(False, 1), (True, -1)])
def test_a_belt_has_the_speed_of_its_rim(crossed, way):
    model = shafts(0.2, 1.5).belt(("w0", "w1"), ("r", "2*r"), crossed=crossed).joint_torque("w0", 3)
    first = 3 / (0.2 + 1.5 / 4)
    assert accelerations(model) == pytest.approx([first, way * first / 2], rel=1e-13)


def rack(radius: Any = 0.3, **more: Any) -> Model:
    model = Model("rack", gravity=(0, -G, 0)).coordinates("turn", "x")
    model.body("pinion", joint=model.revolute(Z, "turn"), mass=1, inertia=(0, 0, 0.2))
    model.body("rack", joint=model.prismatic((0, 1, 0), "x"), mass=4)
    return model.rack_and_pinion(("pinion", "rack"), radius, **more)


def test_a_rack_falls_with_the_mass_of_its_pinion():
    # (m + I/r²) ẍ = −m g, the force between the teeth being I α / r
    first = -4 * G / (4 + 0.2 / 0.3**2)
    assert accelerations(rack()) == pytest.approx([first / 0.3, first], rel=1e-13)
    force = dl.derive(rack(), engine="python").multipliers([0, 0], [0, 0])
    assert force == pytest.approx([0.2 * first / 0.3**2])
    assert accelerations(rack(-0.3)) == pytest.approx([-first / 0.3, first], rel=1e-13)


@pytest.mark.parametrize(("left", "way"), [(False, 1), (True, -1)])
def test_a_worm_moves_its_wheel_on_by_starts_of_its_teeth(left, way):
    model = shafts(0.01, 8.0).worm(("w0", "w1"), 40, starts=2, left=left).joint_torque("w0", 3)
    first = 3 / (0.01 + 8 / 20**2)
    assert accelerations(model) == pytest.approx([first, way * first / 20], rel=1e-13)


def test_planetary_gear_follows_the_willis_equation():
    # sun, carrier and ring: ω_c = ω_s r_s / (r_s + r_r), in a fixed ring
    rs, rp = 0.03, 0.02
    model = Model("planet").coordinates("s", "c", "p")
    model.body("sun", joint=model.revolute(Z, "s"), mass=1, inertia=(0, 0, 1e-4))
    model.body("carrier", joint=model.revolute(Z, "c"), mass=1, inertia=(0, 0, 5e-4))
    planet = model.revolute(Z, "p", position=(rs + rp, 0, 0))
    model.body("planet", parent="carrier", joint=planet, mass=0.1, inertia=(0, 0, 2e-5)).joint_torque("sun", 0.5)
    model.coupling(("sun", "carrier", "planet"), (rs, -rs, rp)).coupling(("carrier", "planet"), (rs + 2 * rp, rp))
    sun, carrier, own = accelerations(model)
    share, spin = rs / (2 * rs + 2 * rp), -(rs + 2 * rp) / rp
    effective = 1e-4 + share**2 * (5e-4 + 0.1 * (rs + rp) ** 2) + 2e-5 * (share * (1 + spin)) ** 2
    assert sun == pytest.approx(0.5 / effective, rel=1e-12)
    assert (carrier, own) == pytest.approx((share * sun, spin * share * sun), rel=1e-12)


def test_couplings_act_on_joint_motions_not_coordinates():
    # the joint of the wheel moves by 3 b − t, so that ä + i (3 b̈) = 0
    model = Model("formula").coordinates("a", "b").start([0.2, -0.1], {"a": 2.0, "b": 1 / 3 - 2 / 6})
    model.body("pinion", joint=model.revolute(Z, "a"), mass=1, inertia=(0, 0, 1))
    model.body("wheel", joint=model.revolute(Z, "3*b - t", position=(1, 0, 0)), mass=1, inertia=(0, 0, 12))
    model.gear(("pinion", "wheel"), 2).joint_torque("pinion", 8)
    assert model.check() == []
    assert accelerations(model) == pytest.approx([2, -1 / 3], rel=1e-12)


def test_a_motion_of_a_joint_with_several_is_chosen_by_its_number():
    # a nut of pitch 2π h: the second motion of its cylindrical joint is h times the first
    model = Model("nut", gravity=(0, 0, -G)).coordinates("turn", "z")
    model.body("nut", joint=[model.fixed(), model.cylindrical(Z, "turn", "z")], mass=2, inertia=(0, 0, 0.5))
    model.coupling(("nut", "nut"), (0.1, -1), joints=(1, 1), motions=(0, 1), name="thread")
    sinking = -2 * G / (2 + 0.5 / 0.1**2)
    assert accelerations(model) == pytest.approx([sinking / 0.1, sinking], rel=1e-13)


def test_phase_is_the_initial_or_the_specified_one():
    model = shafts(1, 2).start([0.3, 0.5], [5, -2]).gear(("w0", "w1"), "i")
    assert model.check() == []
    (held,) = with_contacts(model).holonomic_constraints
    assert held.phi.expand() == model.formula("a0 + i*a1 - 3/10 - i/2")
    run = dl.simulate(model, 1.0, samples=3, integrator="dop853")
    assert run.q[0] + 2.5 * run.q[1] == pytest.approx([1.55] * 3, rel=1e-13)
    given = shafts(1, 2).start([0.3, 0.5], [5, -2]).gear(("w0", "w1"), "i", phase="r")
    (problem,) = given.check()
    assert "gear 'gear1': the initial state violates it: φ = 1.15, expected 0" in str(problem)


# closed forms of points


def particle(name: str = "particle", gravity: tuple[float, ...] = (0, -G, 0), axes: str = "xy") -> Model:
    model = Model(name, gravity=gravity).coordinates(*axes)
    ways = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    return model.body(name, joint=[model.prismatic(ways[axis], axis) for axis in axes], mass=0.7)


def test_two_masses_on_rods_are_a_double_pendulum():
    masses, lengths, angles, rates = (1.2, 0.7), (0.5, 0.8), (0.9, -0.4), (1.1, 2.3)
    rods = Model("rods", gravity=(0, -G, 0)).coordinates("x1", "y1", "x2", "y2")
    joints = Model("joints", gravity=(0, -G, 0)).coordinates("a1", "a2").start(angles, rates)
    positions, moving = np.zeros((3, 2)), np.zeros((3, 2))
    for k in (0, 1):
        s, c = np.sin(angles[k]), np.cos(angles[k])
        positions[k + 1] = positions[k] + lengths[k] * np.array([s, -c])
        moving[k + 1] = moving[k] + lengths[k] * rates[k] * np.array([c, s])
        slides = [rods.prismatic((1, 0, 0), f"x{k + 1}"), rods.prismatic((0, 1, 0), f"y{k + 1}")]
        rods.body(f"m{k + 1}", joint=slides, mass=masses[k])
        rods.distance(("m1" if k else "world", f"m{k + 1}"), lengths[k])
        angle = joints.revolute(Z, "a2 - a1" if k else "a1", position=(0, -lengths[0] * k, 0))
        link = {"joint": angle, "mass": masses[k], "center": (0, -lengths[k], 0)}
        joints.body(f"m{k + 1}", parent="m1" if k else "world", **link)
    rods.start(positions[1:].ravel(), moving[1:].ravel())
    assert rods.check() == []
    runs = [dl.simulate(model, 1.0, samples=5, integrator="dop853", rtol=1e-12, atol=1e-12) for model in (rods, joints)]
    a1, a2 = runs[1].q
    known = [0.5 * np.sin(a1), -0.5 * np.cos(a1)]
    known += [known[0] + 0.8 * np.sin(a2), known[1] - 0.8 * np.cos(a2)]
    assert np.abs(runs[0].q - known).max() < 1e-9
    # the rod pulls as the joint does
    pull = np.linalg.norm(runs[1].joint_reactions()["m2"].force, axis=0)
    assert np.abs(np.abs(runs[0].multipliers[1]) - pull).max() < 1e-8 * pull.max()


def test_a_bead_on_a_rotating_line_moves_outward_as_in_the_gallery():
    known = gallery.load("bead-on-wire")
    model = Model("bead").parameters(w=0.8).coordinates("x", "y").start([0.1, 0], {"y": 0.08})
    slides = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    model.body("bead", joint=slides, mass=0.5).body("wire", joint=model.revolute(Z, "w*t"))
    model.point_on_line(("wire", "bead"), (1, 0, 0))
    assert model.check() == []
    runs = [dl.simulate(m, 2.0, samples=5, integrator="dop853", rtol=1e-12, atol=1e-14) for m in (model, known)]
    far = np.hypot(*runs[0].q)
    assert far == pytest.approx(runs[1].q[0], rel=1e-10)
    assert far == pytest.approx(0.1 * np.cosh(0.8 * runs[0].t), rel=1e-10)


def test_a_bead_on_a_helix_falls_along_it():
    # s̈ = −g sin α along the thread of slope tan α = 1/2
    model = particle(gravity=(0, 0, -G), axes="xyz").start({"x": 1}, {})
    model.point_on_curve(("world", "particle"), ("x - cos(2*z)", "y - sin(2*z)"))
    sine = 1 / np.hypot(1, 2)
    run = dl.simulate(model, 1.0, samples=3, integrator="dop853", rtol=1e-11, atol=1e-12)
    assert run.q[2] == pytest.approx(-G * sine**2 * run.t**2 / 2, rel=1e-9)


def test_bead_on_a_cycloid_is_isochronous():
    # y = a (1 − cos s), x = a (s + sin s): the period 4π √(a/g) does not depend on the height
    a, s = 0.4, 0.9
    model = particle().parameters(a=a).start([a * (s + np.sin(s)), a * (1 - np.cos(s))], {})
    model.point_on_surface(("world", "particle"), "x - a*acos(1 - y/a) - sqrt(2*a*y - y**2)")
    quarter = np.pi * np.sqrt(a / G)
    run = dl.simulate(model, 0.9 * quarter, samples=4, integrator="dop853", rtol=1e-11, atol=1e-12)
    # the arc length along the curve, 4a sin(s/2) = √(8 a y), swings like a pendulum of length 4a
    swing = 4 * a * np.sin(s / 2) * np.cos(np.sqrt(G / (4 * a)) * run.t)
    assert np.sqrt(8 * a * run.q[1]) == pytest.approx(swing, rel=1e-8)


def test_eccentric_cam_follows_the_cosine_law():
    r, e, w = 0.03, 0.01, 10.0
    model = Model("cam", gravity=(0, -G, 0)).coordinates("turn", "lift").start([0, (r**2 - e**2) ** 0.5], [w, w * e])
    model.body("cam", joint=model.revolute(Z, "turn"), mass=1, inertia=(0, 0, 1e-3))
    model.body("follower", joint=model.prismatic((0, 1, 0), "lift"), mass=0.1)
    model.parameters(r=r, e=e).point_on_surface(("cam", "follower"), "(x - e)**2 + y**2 - r**2", name="tip")
    model.drive("turn", f"{w}*t")
    run = dl.simulate(model, 0.5, samples=21, integrator="dop853")
    angle = w * run.t
    assert run.q[1] == pytest.approx(e * np.sin(angle) + np.sqrt(r**2 - (e * np.cos(angle)) ** 2), rel=1e-9)
    # the follower is pushed by its weight and inertia: multiplier × slope of the surface along its guide
    up = 2 * (run.q[1] - e * np.sin(angle)) * run.multipliers[run.constraint_names.index("tip")]
    assert up == pytest.approx(0.1 * (G + run.qdd[1]), rel=1e-9)


def test_a_rotating_plane_moves_a_point():
    # a point in a plane across (1, 2, 2) is pushed along this normal only
    model = particle(axes="xyz").point_in_plane(("world", "particle"), (1, 2, 2))
    normal = np.array([1, 2, 2]) / 3
    weight = np.array([0, -G, 0])
    assert accelerations(model) == pytest.approx(weight - (normal @ weight) * normal, rel=1e-12)


# points of application of the forces


def test_a_rod_force_acts_at_its_ends_so_that_free_joints_transmit_no_force():
    model = Model("seesaw", gravity=(0, -G, 0)).coordinates("a", "x", "y").start([0.4, 0.8, 0.2], {})
    bar = {"mass": 1, "center": (0.3, 0, 0), "inertia": (0, 0, 0.1)}
    model.body("bar", joint=model.revolute(Z, "a"), **bar)
    model.body("weight", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    reach = float(np.hypot(0.8 - 0.6 * np.cos(0.4), 0.2 - 0.6 * np.sin(0.4)))
    model.distance(("bar", "weight"), reach, points=((0.6, 0, 0), (0, 0, 0)), name="rod")
    run = dl.simulate(model, 0.5, samples=3, integrator="dop853")
    found, push = run.joint_reactions(), run.multipliers[0]
    assert np.abs(found["bar"].moment[2]).max() < 1e-9 * np.abs(push).max()
    assert np.abs(found["weight"].force).max() < 1e-9 * np.abs(push).max()
    # the hinge of the bar carries weight, inertia and what the rod pushes
    tip = 0.6 * np.stack([np.cos(run.q[0]), np.sin(run.q[0])])
    along = (run.q[1:] - tip) / reach
    assert 2 * (run.qdd[1:] + np.array([[0], [G]])) == pytest.approx(push * along, rel=1e-8)


def test_the_torque_of_a_gear_is_what_its_joints_transmit():
    model = shafts(0.2, 1.5).gear(("w0", "w1"), "i", name="teeth").joint_torque("w0", 3)
    run = dl.simulate(model, 0.2, samples=2, integrator="dop853")
    found, torque = run.joint_reactions(), run.multipliers[0]
    assert found["w0"].moment[2] == pytest.approx(3 + torque)
    assert found["w1"].moment[2] == pytest.approx(2.5 * torque)


# files


def everything() -> Model:
    model = Model("everything").parameters(k=0.5, i=3).coordinates("a", "b", "c", "d")
    model.body("arm", joint=[model.fixed(), model.revolute(Z, "a")], mass=1, inertia=(1, 1, 1))
    model.body("fore", parent="arm", joint=model.universal(((1, 0, 0), (0, 1, 0)), ("b", "c")), mass=1)
    return model.body("block", joint=model.prismatic((1, 0, 0), "d"), mass=1)


ENDS: dict[str, Any] = {"points": ((0.1, "k", 0), (1, 0, "-k"))}
MADE: dict[str, Callable[[Model], Model]] = {
    "coupling": lambda m: m.coupling(
        ("arm", "fore", "block"), (1, "k", -2), joints=(1, 0, 0), motions=(0, 1, 0), phase="k/3"
    ),
    "gear": lambda m: m.gear(("arm", "fore"), "i", internal=True, joints=(1, 0), name="mesh"),
    "belt": lambda m: m.belt(("arm", "fore"), (0.1, "k"), crossed=True, joints=(1, 0)),
    "rack_and_pinion": lambda m: m.rack_and_pinion(("arm", "block"), "-k", joints=(1, 0), phase=0),
    "worm": lambda m: m.worm(("arm", "fore"), 40, starts="i", left=True, joints=(1, 0), motions=(0, 1)),
    "distance": lambda m: m.distance(("world", "block"), "1 + k", **ENDS),
    "point_on_line": lambda m: m.point_on_line(("arm", "block"), (1, 2, 2), **ENDS),
    "point_in_plane": lambda m: m.point_in_plane(("fore", "block"), (1, 0, 1), **ENDS),
    "point_on_surface": lambda m: m.point_on_surface(("fore", "block"), "x**2/9 + y - k*sin(z + t)", **ENDS),
    "point_on_curve": lambda m: m.point_on_curve(("fore", "world"), ("x*y - 0.1", "z - k"), **ENDS),
}


def test_the_table_of_members_is_complete():
    assert set(MADE) == {kind.kind for kind in CONTACTS if issubclass(kind, PositionContact)}


@pytest.mark.parametrize("kind", MADE)
def test_every_member_survives_a_file_round_trip(kind):
    model = MADE[kind](everything())
    text = to_toml(model)
    back = loads_toml(text)
    assert back.contacts == model.contacts
    assert back.description == model.description
    assert to_toml(back) == text
    assert f"[[{kind}]]" in text


@pytest.mark.parametrize("kind", MADE)
def test_violated_initial_state_is_reported(kind):
    model = MADE[kind](everything()).start([0.3, 0.2, 0.4, 0.7], [1.0, 0.5, -0.3, 0.2])
    (problem,) = model.check()
    assert str(problem).startswith(f"{model.contacts[0].title}: the initial state violates it:")
    assert not problem.blocking
    model.assemble_start = True
    assert model.check() == []


def test_violated_initial_state_raises_in_simulation():
    model = particle().distance(("world", "particle"), 2, name="rod").start([1, 0], {})
    with pytest.raises(InputError, match="position of 'rod' is"):
        dl.derive(model, engine="python").simulate(0.1)
    assert dl.assemble_model(model).initial[0] == pytest.approx([2, 0])


# error messages


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda m: m.gear(("block", "fore"), 0), "gear 'gear1': the factor of the motion of 'fore' is 0. Expected a"),
        (lambda m: m.gear(("fore", "fore"), 2), "gear 'gear1': it has the same motion of 'fore' twice."),
        (lambda m: m.gear(("fore", "world"), 2), "gear 'gear1': there is no body 'world'. Known names: arm, block,"),
        (lambda m: m.gear(("arm", "fore"), 2), "gear 'gear1', joint: joint 0 of body 'arm' is fixed and cannot be"),
        (lambda m: m.gear(("fore", "block"), 2, motions=(2, 0)), "gear 'gear1', motion: joint 0 of body 'fore' has no"),
        (
            lambda m: m.distance(("arm", "block"), 0),
            "distance 'distance1', length: the length is 0. Expected a positive",
        ),
        (lambda m: m.distance(("arm", "arm"), 1), "distance 'distance1': both points are on 'arm'. Give `bodies` two"),
        (
            lambda m: m.distance(("arm", "blok"), 1),
            "distance 'distance1': there is no body 'blok'. Did you mean 'block'",
        ),
        (
            lambda m: m.point_on_curve(("arm", "block"), ("x", "t")),
            "point_on_curve 'point_on_curve1': 't' contains neither x nor y nor z.",
        ),
        (
            lambda m: m.distance(("arm", "block"), 1, points=(("1/(k - 0.5)", 0, 0), (0, 0, 0))),
            "distance 'distance1', points[0][0]: ",
        ),
        (
            lambda m: m.worm(("fore", "block"), 40, starts="k - 1/2"),
            "worm 'worm1': the factor of the motion of 'block' is nan. Expected a nonzero number.",
        ),
    ],
)
def test_check_reports_invalid_couplings(work, message):
    assert message in "\n".join(map(str, work(everything()).check()))


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda m: m.gear(("arm", "fore"), "a"), "gear 'gear1', ratio: 'a' depends on a. Expected a constant"),
        (lambda m: m.gear(("arm",), 2), "gear 'gear1', bodies: got ('arm',). Expected two names"),
        (lambda m: m.gear(("arm", "fore"), 2, joints=(1,)), "gear 'gear1', joints: got 1. Expected 2, one for each"),
        (lambda m: m.gear(("arm", "fore"), 2, motions=(0, -1)), "gear 'gear1', motions: got (0, -1). Expected int"),
        (lambda m: m.coupling(("arm", "fore"), (1, 2, 3)), "coupling 'coupling1', factors: got 3. Expected 2, one for"),
        (lambda m: m.coupling(("arm",), (1,)), "coupling 'coupling1', bodies: got ('arm',). Expected the names of two"),
        (lambda m: m.belt(("arm", "fore"), 2), "belt 'belt1', radii: got 2. Expected two radii, one for each pulley."),
        (
            lambda m: m.point_on_line(("arm", "block"), (0, 0, 0)),
            "point_on_line 'point_on_line1': the axis has length 0",
        ),
        (
            lambda m: m.point_on_curve(("arm", "block"), "x"),
            "point_on_curve 'point_on_curve1', curve: got 'x'. Expected two formulas of x, y and z",
        ),
        (lambda m: m.point_on_surface(("arm", "block"), "x + a"), "the name 'a' is not known here. Known names: i, k,"),
        (lambda m: m.point_on_surface(("arm", "block"), "dot(x)"), "point_on_surface 'point_on_surface1', surface"),
        (
            lambda m: m.parameters(y=2.0).point_on_surface(("arm", "block"), "x + y"),
            "the parameter 'y' conflicts with the position x, y, z of the point.",
        ),
        (lambda m: m.distance(("arm", "block"), "d"), "distance 'distance1', length: 'd' depends on d."),
        (
            lambda m: m.distance(("arm", "block"), 1, name="rod").gear(("arm", "fore"), 2, name="rod"),
            "gear 'rod': declared twice. Give each constraint a unique name.",
        ),
    ],
)
def test_invalid_arguments_are_reported_by_name(work, message):
    with pytest.raises(InputError) as caught:
        work(everything())
    assert message in str(caught.value)


def test_cut_does_not_invert_a_coupled_joint():
    model = Model("tied").coordinates("a", "b", "c").start([1.0, -0.7, 1.3], [2, 0, 0])
    rod = {"mass": 0.8, "inertia": (0, 0, 0.1)}
    model.body("crank", joint=model.revolute(Z, "a"), **rod)
    model.body("coupler", parent="crank", joint=model.revolute(Z, "b", position=(0.5, 0, 0)), **rod)
    model.body("rocker", joint=model.revolute(Z, "c", position=(1.5, 0, 0)), **rod)
    model.body("wheel", joint=model.prismatic((0, 0, 1), 0), **rod)
    model.loop("cut", ("coupler", "rocker"), model.revolute(Z, position=(1.4, 0, 0)), position=(0.9, 0, 0))
    model.gear(("crank", "rocker"), 2, name="teeth")
    with pytest.raises(InputError, match="gear 'teeth' couples a joint that would be cut or reversed"):
        dl.recut(model, "cut", at="crank")
    assert isinstance(model.contacts[0], Contact)
