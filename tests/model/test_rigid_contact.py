"""Rigid contact: closed forms of impacts, rest, sticking and liftoff, paradoxes, error messages."""

import re

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, ModelError, NotApplicableError, SimulationError
from dalembert.model.model import Model

G = 9.81
PLANE = (0, 1, 0)
nightly = pytest.mark.nightly


def falling(height: float, rate: float = 0.0, **law) -> Model:
    """A ball of radius 0.1 on a vertical rail, at a height above the floor."""
    model = Model("ball", gravity=(0, 0, -G)).coordinate("z", height + 0.1, rate)
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=0.5)
    return model.sphere_on_plane("ball", radius=0.1, name="floor", **law)


def planar(body: str, x=(0, 0), z=(0, 0), a=(0, 0), gravity=(0, 0, -G), **solid) -> Model:
    """A body that moves in the xz plane and rotates about y; each pair is an initial position and velocity."""
    model = Model(body, gravity=gravity).coordinate("x", *x).coordinate("z", *z).coordinate("a", *a)
    joint = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "a")]
    return model.body(body, joint=joint, **solid)


def block(slope: float, mu: float, rate: float) -> Model:
    """A block with two feet on an incline, in axes of the incline."""
    down = (G * np.sin(slope), 0, -G * np.cos(slope))
    model = planar("block", (0, rate), (0.05, 0), gravity=down, mass=2, inertia=(0.01,) * 3)
    for name, x in (("left", -0.1), ("right", 0.1)):
        model.sphere_on_plane("block", center=(x, 0, -0.05), restitution=0, friction=mu, planar=PLANE, name=name)
    return model


def rod(angle: float, mu: float, slip: float, turning: float = 0.0, **law) -> Model:
    """A uniform rod of length 1 and mass 1, at an angle against the floor, whose lower tip slides with `slip`."""
    x, z = 0.5 * np.cos(angle), 0.5 * np.sin(angle)
    model = planar(
        "rod", (x, slip + turning * z), (z, -turning * x), (np.pi / 2 - angle, turning), mass=1, inertia=(1 / 12,) * 3
    )
    tip = {"center": (0, 0, -0.5), "restitution": 0, "friction": mu, "planar": PLANE, **law}
    return model.sphere_on_plane("rod", name="tip", **tip)


def rocking(alpha: float, tilt: float) -> Model:
    """A block of height 2 whose diagonal is at the angle α to its side, tilted about its right corner."""
    b, c, s = np.tan(alpha), np.cos(tilt), np.sin(tilt)
    inertia = ((1 + b * b) / 3,) * 3
    model = planar("block", (b - c * b + s, 0), (s * b + c, 0), (tilt, 0), mass=1, inertia=inertia)
    for name, x in (("left", -b), ("right", b)):
        model.sphere_on_plane("block", center=(x, 0, -1), restitution=0, friction=1, planar=PLANE, name=name)
    return model


def cradle(count: int, lifted: int, e: float = 1.0, impact: str = "successive") -> Model:
    """Adjacent pendulums of length 1, some of them lifted by 0.5."""
    model = Model("cradle", gravity=(0, 0, -G))
    for i in range(count):
        model.coordinate(f"a{i}", 0.5 if i < lifted else 0.0)
        hung = model.revolute((0, 1, 0), f"a{i}", position=(0.1 * i, 0, 0))
        model.body(f"ball{i}", joint=hung, mass=1, center=(0, 0, -1))
    for i in range(1, count):
        ends = {"center": (0, 0, -1), "ground": f"ball{i - 1}", "ground_center": (0, 0, -1)}
        balls = {"radius": 0.05, "ground_radius": 0.05, "restitution": e, "impact": impact}
        model.sphere_on_sphere(f"ball{i}", name=f"pair{i}", **ends, **balls)
    return model


def bounces(height: float, e: float, count: int) -> np.ndarray:
    """The times of the bounces of a ball that falls from rest."""
    first = np.sqrt(2 * height / G)
    return first * np.cumsum([1.0] + [2 * e**k for k in range(1, count)])


# times of impacts


@pytest.mark.parametrize(
    "integrator", ["taylor", *(pytest.param(x, marks=nightly) for x in ("rk4", "radau", "dop853"))]
)
def test_a_ball_bounces_at_the_times_of_the_geometric_series_and_comes_to_rest_at_its_end(integrator):
    e = 0.3
    run = dl.simulate(falling(1.0, restitution=e), 2.0, samples=11, integrator=integrator)
    found = [each.t for each in run.impulses]
    assert found == pytest.approx(bounces(1.0, e, len(found)), abs=1e-9)
    end = np.sqrt(2 / G) * (1 + e) / (1 - e)
    assert float(run.notes[-1].split("accumulate at t = ")[1].split(",")[0]) == pytest.approx(end, abs=1e-9)
    assert run.q[0, -1] == pytest.approx(0.1, abs=1e-12)
    assert run.load_forces["floor"][2, -1] == pytest.approx(0.5 * G, rel=1e-12)
    first = run.impulses[0]
    assert first.vector == pytest.approx([0, 0, 0.5 * 1.3 * np.sqrt(2 * G)])
    assert (first.approach, first.departure) == pytest.approx((np.sqrt(2 * G), e * np.sqrt(2 * G)))
    assert first.energy == pytest.approx(-(1 - e**2) * 0.5 * G)
    assert run.work["floor"][-1] == pytest.approx(-0.5 * G)  # all there was
    assert list(run.work) == ["floor"]
    assert run.energy_error < 1e-10


def test_initial_rest_persists_and_initial_approach_rebounds():
    still = dl.simulate(falling(0.0, restitution=0.5), 0.5, samples=3, integrator="dop853")
    assert still.q[0] == pytest.approx([0.1] * 3, abs=1e-14)
    assert [each.name for each in still.switchings] == ["sphere_on_plane 'floor' closes"]
    thrown = dl.simulate(falling(0.0, -1.0, restitution=0.5), 0.05, samples=3, integrator="dop853")
    assert thrown.qd[0] == pytest.approx(0.5 - G * thrown.t)
    assert thrown.energy_error < 1e-12


def test_a_run_with_impulses_is_saved_and_loaded(tmp_path):
    run = dl.simulate(falling(0.1, restitution=0.5), 0.2, samples=3, integrator="dop853")
    again = dl.load_run(run.save(tmp_path / "run.nc"))
    assert [(x.name, x.t, x.energy, *x.vector) for x in again.impulses] == [
        (x.name, x.t, x.energy, *x.vector) for x in run.impulses
    ]
    assert again.work["floor"].tolist() == run.work["floor"].tolist()


# friction


def test_a_block_on_an_incline_stops_where_coulombs_law_predicts_and_stays():
    slope, mu = np.pi / 6, 0.8
    run = dl.simulate(block(slope, mu, 1.0), 1.0, samples=3, integrator="dop853")
    slowed = G * (mu * np.cos(slope) - np.sin(slope))
    assert run.switchings[-1].t == pytest.approx(1 / slowed, rel=1e-9)
    assert run["x"][-1] == pytest.approx(0.5 / slowed, rel=1e-9)
    carried = run.load_forces["left"] + run.load_forces["right"]
    assert carried[:, -1] == pytest.approx([-2 * G * np.sin(slope), 0, 2 * G * np.cos(slope)], abs=1e-9)
    assert run.work.total[-1] == pytest.approx(-1 - 2 * G * np.sin(slope) * 0.5 / slowed, rel=1e-9)
    assert run.energy_error < 1e-9


@nightly
def test_a_block_at_rest_starts_to_slide_above_the_angle_of_friction_only():
    for mu, moved in ((0.5, 0.5 * G * (0.5 - 0.5 * np.cos(np.pi / 6))), (0.6, 0.0)):
        run = dl.simulate(block(np.pi / 6, mu, 0.0), 1.0, samples=3)
        assert run["x"][-1] == pytest.approx(moved, abs=1e-11)


@nightly
def test_a_bowling_ball_rolls_with_five_sevenths_of_its_speed():
    ball = planar("ball", (0, 8.0), (0.11, 0), mass=6, inertia=(0.4 * 6 * 0.11**2,) * 3)
    ball.sphere_on_plane("ball", radius=0.11, restitution=0.5, friction=0.2, planar=PLANE)
    run = dl.simulate(ball, 2.0, samples=5)
    assert run.switchings[-1].t == pytest.approx(2 * 8 / (7 * 0.2 * G), rel=1e-12)
    assert run["dot(x)"][-1] == pytest.approx(40 / 7, rel=1e-12)


@nightly
def test_rocking_block_loses_energy_by_the_housner_formula():
    # G. W. Housner, The behavior of inverted pendulum structures during earthquakes, Bull. Seism. Soc. Am. 53 (1963) 403–417
    for alpha in (0.2, 0.5):
        run = dl.simulate(rocking(alpha, alpha / 2), 1.2, samples=5)
        hits = [each for each in run.switchings if each.name.startswith("impact")]
        ratios = [each.after[2] / each.qd[2] for each in hits]
        assert ratios == pytest.approx([1 - 1.5 * np.sin(alpha) ** 2] * len(ratios), rel=1e-12)
        first = np.arccosh(1 / (1 - 0.5)) / np.sqrt(0.75 * G / np.hypot(1, np.tan(alpha)))  # for small angles
        assert hits[0].t == pytest.approx(first, rel=0.03)


@nightly
def test_a_block_that_rocks_ever_faster_comes_to_rest_on_both_feet():
    run = dl.simulate(rocking(0.5, 0.25), 2.5, samples=5, integrator="dop853")
    assert run.q[:, -1] == pytest.approx([0, 1, 0], abs=1e-7)
    assert any("impacts accumulate" in note for note in run.notes)
    assert run.load_forces["left"][2, -1] == pytest.approx(G / 2, rel=1e-6)


# liftoff


def test_a_bead_leaves_a_dome_where_its_height_has_fallen_by_a_third():
    model = Model("bead", gravity=(0, 0, -G)).coordinate("x", 0, 0.5).coordinate("z", 1.0)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=1)
    model.sphere_on_sphere("bead", ground_radius=1, restitution=0, name="dome")
    run = dl.simulate(model, 1.0, samples=3, integrator="dop853")
    left = run.switchings[-1]
    assert left.name == "sphere_on_sphere 'dome' opens"
    assert left.q[1] == pytest.approx((2 + 0.5**2 / G) / 3, abs=1e-10)
    assert np.hypot(*left.q) == pytest.approx(1, abs=1e-12)


# simultaneous impacts


@nightly
@pytest.mark.parametrize(("count", "lifted"), [(3, 1), (5, 2), (5, 4)])
def test_as_many_balls_leave_a_cradle_as_came(count, lifted):
    run = dl.simulate(cradle(count, lifted), 1.0, samples=5, integrator="dop853")
    hit = run.impulses[0].t
    after = next(each.after for each in run.switchings if each.t == hit and each.name.startswith("impact"))
    speed = np.sqrt(2 * G * (1 - np.cos(0.5)))
    assert after == pytest.approx([0.0] * (count - lifted) + [-speed] * lifted, abs=1e-9)
    assert run.energy_error < 1e-9


@nightly
def test_newtons_law_for_all_balls_at_once_throws_the_first_one_back():
    run = dl.simulate(cradle(3, 1, impact="newton"), 0.6, samples=3, integrator="dop853")
    speed = np.sqrt(2 * G * (1 - np.cos(0.5)))
    # each gap opens as fast as it closed: (−1, 2, 2)/3
    (hit,) = (each for each in run.switchings if each.name == "impact of pair1, pair2")
    assert hit.after == pytest.approx([speed / 3, -2 * speed / 3, -2 * speed / 3], rel=1e-9)
    assert [each.departure for each in run.impulses] == pytest.approx([speed, 0.0], abs=1e-9)


@nightly
@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_both_laws_of_impact_are_the_same_without_friction_and_for_one_contact(law):
    run = dl.simulate(falling(1.0, restitution=0.6, impact=law), 0.6, samples=3, integrator="dop853")
    assert run.impulses[0].departure == pytest.approx(0.6 * np.sqrt(2 * G))


@nightly
def test_a_spinning_ball_that_hits_the_floor_takes_the_impulse_of_coulomb():
    # with e and μ: slides through, Δv = μ (1 + e) v, Δω = 5/2 of it by r, as long as slip is left; else it rolls off
    for law in ("newton", "poisson"):
        for spin, mu in ((50.0, 0.2), (5.0, 0.2)):
            ball = planar("ball", (0, 0), (0.5, 0), (0, spin), mass=1, inertia=(0.4 * 0.01,) * 3)
            ball.sphere_on_plane("ball", radius=0.1, restitution=0.5, friction=mu, planar=PLANE, impact=law)
            run = dl.simulate(ball, 0.3, samples=2, integrator="dop853")
            v = np.sqrt(2 * G * 0.4)
            most, needed = mu * 1.5 * v, 2 / 7 * 0.1 * spin
            assert run["dot(x)"][-1] == pytest.approx(min(most, needed), rel=1e-9)
            assert run["dot(a)"][-1] == pytest.approx(spin - 25 * min(most, needed), rel=1e-9)


# Painlevé's paradox: 1 + 3 cos²θ − 3 μ sin θ cos θ = 0 is first reached at tan θ = 2, with μ = 4/3


def test_a_sliding_rod_has_a_motion_up_to_a_friction_of_four_thirds_and_none_above():
    angle, run = np.arctan(2), {"samples": 2, "integrator": "dop853"}
    dl.simulate(rod(angle, 4 / 3 - 1e-3, -1.0), 1e-4, **run)
    with pytest.raises(SimulationError, match=r"at t = 0 no forces .*Painlevé.*'tip' with μ = 1\.33433"):
        dl.simulate(rod(angle, 4 / 3 + 1e-3, -1.0), 1e-4, **run)
    with pytest.raises(SimulationError, match="2 different motions satisfy"):
        dl.simulate(rod(angle, 4 / 3 + 1e-3, -1.0, turning=8.0), 1e-4, **run)
    dl.simulate(rod(angle, 4 / 3 + 1e-3, 1.0), 1e-4, **run)  # slides in the opposite direction


@nightly
def test_a_rod_that_slides_into_the_paradox_is_stopped_where_normal_force_and_gap_both_lose_their_hold():
    # at the end both the acceleration of the gap and what pressing does to it vanish (F. Génot and B. Brogliato 1999)
    with pytest.raises(SimulationError, match="friction jams") as caught:
        dl.simulate(rod(0.6, 1.6, -30.0, turning=-2.0), 0.6, samples=3, integrator="dop853")
    a, A = (float(x) for x in re.findall(r"acceleration (\S+) \+ \((\S+)\) N", str(caught.value))[0])
    assert (a, A) == pytest.approx((0, 0), abs=1e-3)


def test_energy_gain_of_newtons_law_with_friction_is_reported():
    for law, messages in (("newton", ["adds the energy 0.0265"]), ("poisson", [])):
        model = rod(0.7, 0.6, 0.3, restitution=0.9, impact=law)
        run = dl.simulate(model, 0.01, samples=2, integrator="dop853", qd0=model.initial[1] - [0, 1, 0])
        assert [note.split(": ")[0].split("tip' ")[1] for note in run.notes] == messages
        assert (run.impulses[0].energy > 0) == bool(messages)
        assert run.energy_error < 1e-9


@nightly
def test_paradox_occurs_at_the_predicted_friction():
    for angle in (0.8, 1.0, 1.3):
        bound = (1 + 3 * np.cos(angle) ** 2) / (3 * np.sin(angle) * np.cos(angle))
        dl.simulate(rod(angle, bound - 1e-3, -1.0), 1e-4, samples=2, integrator="dop853")
        with pytest.raises(SimulationError, match="Painlevé"):
            dl.simulate(rod(angle, bound + 1e-3, -1.0), 1e-4, samples=2, integrator="dop853")


# all formalisms


@nightly
def test_every_formalism_bounces_alike():
    from dalembert.formalisms import catalog

    model = planar("block", (0, 1.0), (0.3, 0), (0.2, 1.0), mass=2, inertia=(0.02,) * 3)
    foot = {"center": (0.1, 0, -0.05), "restitution": 0.4, "friction": 0.3, "planar": PLANE}
    model.sphere_on_plane("block", name="foot", **foot)
    known = dl.derive(model, "lagrange", engine="python").simulate(0.6, samples=5, integrator="dop853")
    assert any("closes and" in each.name for each in known.switchings)
    for key in catalog.KEYS:
        run = dl.derive(model, key).simulate(0.6, samples=5, integrator="dop853")
        assert run.q == pytest.approx(known.q, abs=1e-9), key
        assert run.energy_error < 1e-9


def test_a_contact_with_the_edge_of_a_box_and_one_with_a_moving_body_bounce():
    model = Model("ball and table", gravity=(0, 0, -G)).coordinate("z", 1.0).coordinate("y", 0.0, 4.0)
    model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    model.body("table", joint=model.prismatic((0, 0, 1), "y + 0.5*9.81*t**2"), mass=3)  # it is moved besides
    model.sphere_on_box("ball", (1, 1, 0.2), radius=0.1, ground="table", restitution=1)
    run = dl.simulate(model, 0.6, samples=3, integrator="dop853")
    (hit,) = run.impulses
    assert (hit.departure, hit.approach) == pytest.approx((hit.approach, hit.departure), rel=1e-9)
    assert run.energy_error < 1e-9


# error messages


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"restitution": 1.5}, "restitution: the value is 1.5. Expected a number from 0 to 1."),
        ({"restitution": 0, "stiffness": 3}, "restitution makes it rigid, but stiffness is set, too"),
        ({"restitution": 0, "push": "depth"}, "restitution makes it rigid, but push is set, too"),
        ({"restitution": 0, "friction": 0.3}, "friction of a rigid contact needs a single slip direction"),
        ({"restitution": 0, "friction": 1, "planar": PLANE, "viscous": 2}, "both define friction at zero slip"),
        ({"restitution": 0, "rest_speed": 0}, "rest_speed: the value is 0. Expected a small positive speed."),
        ({"stiffness": 3, "impact": "poisson"}, "impact is set without restitution"),
        ({"stiffness": 3, "rest_speed": 1e-3}, "rest_speed is set without restitution"),
    ],
)
def test_incompatible_arguments_are_reported(law, message):
    with pytest.raises(ModelError, match=message):
        falling(1.0, **law).require_valid()


def test_impact_laws_are_named_and_equal_for_all_contacts():
    with pytest.raises(InputError, match=r"impact: got 'elastic'. Expected 'newton', 'poisson' or 'successive'"):
        falling(1.0, restitution=1, impact="elastic")
    both = falling(1.0, restitution=1).sphere_on_plane("ball", restitution=0, impact="poisson", name="other")
    with pytest.raises(
        ModelError, match=r"'other', impact: the impact law is 'poisson' here and 'newton' in .* 'floor'"
    ):
        both.require_valid()


def test_methods_without_rigid_contact_forces_raise():
    model = falling(1.0, restitution=1)
    with pytest.raises(InputError, match="'ida' does not support rigid contacts"):
        dl.simulate(model, 1.0, integrator="ida")
    for ask in (lambda d: d.rollout([1.0], [0.0], None, 0.1, 2), lambda d: d.simulate(1.0)):
        with pytest.raises(NotApplicableError, match=r"is rigid, and its force is computed by dl.simulate only"):
            ask(dl.dynamics(model))


@pytest.mark.parametrize(
    "ask",
    [
        dl.equilibrium,
        lambda m: dl.linearize(m, any_state=True),
        lambda m: dl.floquet(m, 1.0),
        lambda m: dl.sensitivity(m, 1.0, of=["m"]),
        lambda m: dl.export(dl.derive(m), "numpy", "never.py"),
        lambda m: dl.derive(m).to_sympy(),
        lambda m: dl.derive(m).action([0.0, 1.0], *np.zeros((3, len(m.coordinate_names), 2))),
    ],
)
def test_analyses_that_need_all_force_formulas_raise(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotApplicableError, match=r"is rigid, and its force is computed by dl.simulate only"):
        ask(falling(1.0, restitution=1).parameters(m=1.0))
    assert not list(tmp_path.iterdir())


def test_initial_penetration_raises():
    with pytest.raises(InputError, match=r"initial penetration of 0.05"):
        dl.simulate(falling(-0.05, restitution=1), 1.0)


def test_nonlinear_constraints_raise_with_the_reason():
    model = Model("two", gravity=(0, 0, -G)).coordinate("x", 0, 1).coordinate("z", 1, 0)
    model.body("bead", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z")], mass=1)
    model.nonholonomic("dot(x)**2 + dot(z)**2 - 1", name="pace").sphere_on_plane("bead", restitution=1)
    with pytest.raises(NotApplicableError, match="'pace' is not linear in the velocities"):
        dl.simulate(model, 1.0)
