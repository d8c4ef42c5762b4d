"""Assembly and mobility: the nearest consistent state, and the degrees of freedom."""

import re
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl


def ring(mass_x: float = 1.0, mass_y: float = 1.0) -> dl.Model:
    model = dl.Model("ring").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    model.body("slide", joint=model.prismatic((1, 0, 0), "x"), mass=mass_x)
    return model.body("bead", parent="slide", joint=model.prismatic((0, 1, 0), "y"), mass=mass_y)


def test_the_nearest_point_of_a_ring_is_on_the_ray_if_both_directions_have_equal_weight():
    model = dl.Model("ring").coordinates("x", "y").holonomic("x**2 + y**2 - 1", name="ring")
    plane = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")]
    model.body("bead", joint=plane, mass=2)
    found = dl.assemble_state(model, [1.2, 0.9], [1.0, 1.0])
    np.testing.assert_allclose(found.q, [0.8, 0.6], atol=1e-4)
    assert abs(found.q @ found.q - 1) < 1e-12
    assert abs(found.q @ found.qd) < 1e-12
    np.testing.assert_allclose(found.q - [1.2, 0.9], list(found.moved.values()))
    assert "positions moved: x by" in str(found)


def test_fixed_coordinates_do_not_move():
    found = dl.assemble_state(ring(), [0.6, 0.3], [0.0, 2.0], fixed=["x"])
    np.testing.assert_allclose(found.q, [0.6, 0.8], atol=1e-12)
    heavy = dl.assemble_state(ring(), [0.6, 0.3], [0.0, 2.0], weights={"x": 1e8})
    np.testing.assert_allclose(heavy.q, [0.6, 0.8], atol=1e-5)


def test_failed_assembly_reports_the_violation():
    with pytest.raises(dl.InconsistentStateError, match=r"assemble: no state near .* residual of .* in 'ring'"):
        dl.assemble_state(ring(), [1.5, 0.0], [0.0, 0.0], fixed=["x"])
    with pytest.raises(dl.InputError, match="there is no coordinate 'z'"):
        dl.assemble_state(ring(), fixed=["z"])
    with pytest.raises(dl.InputError, match="weights must be positive"):
        dl.assemble_state(ring(), weights={"x": -1.0})


def test_mobility_counts_and_names():
    model = ring().start([1, 0], [0, 1]).holonomic("2*x**2 + 2*y**2 - 2", name="same ring")
    found = dl.mobility(model)
    assert (found.coordinates, found.constraints, found.degrees_of_freedom) == (2, 2, 1)
    assert len(found.redundant) == 1
    assert set(found.redundant) | set(found.independent) == {"ring", "same ring"}
    assert "redundant constraints" in str(found)


def test_a_singular_initial_state_is_reported():
    # two unit rods folded onto each other: the closure loses rank
    model = dl.Model("folded").coordinates("a", "b")
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0.5, 0, 0), inertia=(0, 0, 0.1))
    link = model.revolute((0, 0, 1), "b - a", position=(1, 0, 0))
    model.body("second", parent="first", joint=link, mass=1, center=(0.5, 0, 0), inertia=(0, 0, 0.1))
    model.holonomic("sin(a) + sin(b)", name="slider").start([np.pi / 2, -np.pi / 2], [0, 0])
    assert any("singular configuration" in warning for warning in dl.mobility(model).warnings)


# loops


def four_bars(axis: int = 1, behind: float = 0.0, ground: float = 2.0) -> dl.Model:
    """Crank 1, coupler 2, rocker 1.5 on pivots 2 apart; `axis` = ±1 points out of the page or into it.

    `behind` flips the frames of the bodies after their joints, which changes only the axes of the bodies.
    """
    z, flip = (0, 0, axis), (behind, 0, 0)
    model = dl.Model("four bars", gravity=(0, -9.81, 0)).coordinates("a", "b", "c")
    tail = [model.fixed((0, 0, 0), flip)] if behind else []
    rod = {"mass": 1.0, "inertia": (0.01, 0.1, 0.1)}
    model.body("crank", joint=[model.revolute(z, "a"), *tail], center=(0.5, 0, 0), **rod)
    back = (-behind, 0, 0)
    elbow = model.revolute(z, "b", position=(1, 0, 0), rotation=back)
    model.body("coupler", parent="crank", joint=[elbow, *tail], center=(1, 0, 0), **rod)
    pivot = model.revolute(z, "c", position=(ground, 0, 0))
    model.body("rocker", joint=[pivot, *tail], center=(0.75, 0, 0), **rod)
    pin = model.revolute(z, 0, position=(2, 0, 0), rotation=back)
    return model.loop("pin", ("coupler", "rocker"), pin, position=(1.5, 0, 0), rotation=back)


def by_circles(a: float) -> list[np.ndarray]:
    """(b, c) of both assemblies of the four bars at crank angle a: the intersections of the circles of coupler and rocker."""
    tip, pivot = np.array([np.cos(a), np.sin(a)]), np.array([2.0, 0.0])
    d = np.linalg.norm(pivot - tip)
    along = (4 - 2.25 + d**2) / (2 * d)
    across = np.sqrt(4 - along**2)
    u = (pivot - tip) / d
    found = []
    for side in (1, -1):
        meet = tip + along * u + side * across * np.array([-u[1], u[0]])
        b = np.arctan2(*(meet - tip)[::-1]) - a
        found.append(np.array([b, np.arctan2(*(meet - pivot)[::-1])]))
    return found


def same_angles(x, y) -> bool:
    return bool(np.abs(np.exp(1j * np.asarray(x)) - np.exp(1j * np.asarray(y))).max() < 1e-8)


@pytest.mark.parametrize("a", [0.4, 2.5])
def test_both_branches_of_four_bars_are_intersections_of_circles(a):
    found = dl.branches(four_bars(), [a, 0.1, 0.2], [1.0, 0, 0], fixed=["a"])
    assert len(found) == 2
    up, down = by_circles(a)
    assert {(same_angles(f.q[1:], up), same_angles(f.q[1:], down)) for f in found} == {(True, False), (False, True)}
    for each in found:
        assert each.q[0] == a
        assert each.qd[0] == 1.0
        assert each.residual < 1e-11
        assert np.abs(list(each.moved.values())).max() <= np.pi  # without full revolutions
    moved = [np.linalg.norm(f.q - [a, 0.1, 0.2]) for f in found]
    assert moved == sorted(moved)


def test_the_branches_of_the_elbow_have_names():
    # viewed against the axis, the polygon crank pivot – crank tip – pin – rocker pivot
    a = 1.0
    up, down = by_circles(a)
    for values, pin in ((up, "right"), (down, "left")):
        found = dl.assemble_state(four_bars(), [a, *values])
        assert found.branch["pin"] == pin
        assert f"pin {pin}" in str(found)
    # the convex one has clockwise corners only
    assert set(dl.assemble_state(four_bars(), [a, *up]).branch.values()) == {"right"}
    assert dl.assemble_state(four_bars(), [a, *down]).branch == {
        "crank": "right",
        "coupler": "right",
        "pin": "left",
        "rocker": "left",
    }


def test_sides_do_not_depend_on_frames_but_on_the_direction_of_the_axis():
    a = 1.0
    for values in by_circles(a):
        usual = dl.assemble_state(four_bars(), [a, *values]).branch
        assert dl.assemble_state(four_bars(behind=np.pi), [a, *values]).branch == usual
        other = dl.assemble_state(four_bars(axis=-1), [-a, *-values]).branch
        swapped = {"left": "right", "right": "left"}
        assert other == {joint: swapped[side] for joint, side in usual.items()}


def test_branches_of_a_slider_crank_are_the_two_sides_of_the_crank():
    model = dl.Model("slider crank").coordinates("a", "b", "x")
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 0.1))
    elbow = model.revolute((0, 0, 1), "b", position=(0.5, 0, 0))
    model.body("rod", parent="crank", joint=elbow, mass=1, inertia=(0, 0, 0.1))
    model.body("piston", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    model.loop("wrist", ("rod", "piston"), model.revolute((0, 0, 1), 0, position=(1.3, 0, 0)))
    found = dl.branches(model, [0.8, -1.0, 1.0], fixed=["a"])
    height = np.sqrt(1.3**2 - (0.5 * np.sin(0.8)) ** 2)
    assert np.allclose(sorted(f.q[2] for f in found), 0.5 * np.cos(0.8) + np.array([-height, height]))


def test_branches_of_a_system_defined_by_its_energies():
    x, y = dynamicsymbols("x y")
    model = dl.Model.from_energies(
        "ring", coordinates=[x, y], kinetic=(x.diff() ** 2 + y.diff() ** 2) / 2, holonomic=[x**2 + y**2 - 1]
    )
    assert np.allclose([a.q for a in dl.branches(model, [0.6, 0.5], fixed=["x"])], [[0.6, 0.8], [0.6, -0.8]])


def test_branches_do_not_change_coordinates_outside_loops():
    model = four_bars()
    model.coordinate("swing", 0.3)
    model.body("bob", parent="coupler", joint=model.revolute((0, 0, 1), "swing"), mass=1, center=(0, -1, 0))
    found = dl.branches(model, [1.0, 0.1, 0.2, 0.3], fixed=["a"])
    assert len(found) == 2
    assert {f.q[3] for f in found} == {0.3}


def test_mechanisms_with_free_motions_have_no_branches():
    with pytest.raises(dl.InputError) as caught:
        dl.branches(four_bars(), [1.0, 0.1, 0.2])
    assert str(caught.value) == (
        "branches: the coordinates a, b, c have 1 remaining degree of freedom, so their positions are not separate branches. "
        "Add as many of them to `fixed`."
    )


def test_a_quaternion_and_its_opposite_are_one_branch():
    model = dl.Model("held").coordinates("w", "x", "y", "z").start([0.9, 0.3, 0.2, 0.1], [0, 0, 0, 0])
    model.body("block", joint=model.spherical(quaternion=("w", "x", "y", "z")), mass=1, inertia=(1, 1, 1))
    model.loop("weld", ("world", "block"), model.fixed(rotation=(0.3, -0.2, 0.5)))
    (found,) = dl.branches(model)
    R = Rotation.from_quat(np.roll(found.q, -1))
    assert np.allclose(R.as_euler("xyz"), [0.3, -0.2, 0.5], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_rough_guess_closes_four_bars(seed):
    random = np.random.default_rng(seed)
    for _ in range(10):
        guess = np.array([1.0, *by_circles(1.0)[0]]) + random.uniform(-0.8, 0.8, 3)
        found = dl.assemble_state(four_bars(), guess, random.uniform(-1, 1, 3))
        assert found.residual < 1e-9
        assert any(same_angles(found.q[1:], solution) for solution in by_circles(found.q[0]))
        np.testing.assert_allclose(found.q - guess, list(found.moved.values()), atol=1e-14)


def floating(make) -> dl.Model:
    """An arm, and a block that floats freely but for one loop."""
    model = dl.Model("floating").coordinates("q", "x", "y", "z", "a", "b", "c")
    model.body("arm", joint=model.revolute((0, 0, 1), "q"), mass=1, center=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.body("block", joint=model.free(("x", "y", "z"), ("a", "b", "c")), mass=1, inertia=(0.1, 0.1, 0.1))
    return model.loop("tie", ("arm", "block"), make(model))


ADMITTED = {
    # what of R = R_FM (in axes of the arm) has to be 1
    "fixed": (lambda m: m.fixed((1, 0, 0)), lambda R: np.trace(R) / 3),
    "prismatic": (lambda m: m.prismatic((1, 0, 0), 0, (1, 0, 0)), lambda R: np.trace(R) / 3),
    "revolute": (lambda m: m.revolute((0, 0, 1), 0, (1, 0, 0)), lambda R: R[2, 2]),
    "cylindrical": (lambda m: m.cylindrical((1, 0, 0), 0, 0, (1, 0, 0)), lambda R: R[0, 0]),
    "planar": (lambda m: m.planar((0, 1, 0), (0, 0), 0, (1, 0, 0)), lambda R: R[1, 1]),
    "screw": (lambda m: m.screw((0, 0, 1), 0, 0.5, (1, 0, 0)), lambda R: R[2, 2]),
}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ADMITTED)
def test_a_rough_guess_never_flips_the_halves_of_a_joint(kind):
    make, measure = ADMITTED[kind]
    model = floating(make)
    random = np.random.default_rng(11)
    closed = 0
    for _ in range(25):
        guess = np.array([0.3, 1, 0, 0, 0, 0, 0.3]) + random.uniform(-1, 1, 7)
        try:
            q = dl.assemble_state(model, guess).q
        except dl.InconsistentStateError as error:
            assert "flipped against each other" in str(error) or "no state near" in str(error)  # noqa: PT017
            continue
        closed += 1
        R = Rotation.from_euler("z", q[0]).inv() * Rotation.from_euler("XYZ", q[4:])
        assert measure(R.as_matrix()) == pytest.approx(1, abs=1e-9)
        if kind == "screw":
            angle, height = R.as_rotvec()[2], q[3]
            turns = (height / 0.5 - angle / (2 * np.pi)) % 1
            assert min(turns, 1 - turns) < 1e-9
    assert closed >= 15


def test_a_flipped_joint_is_reported():
    model = floating(lambda m: m.revolute((0, 0, 1), 0, (1, 0, 0)))
    with pytest.raises(dl.InconsistentStateError) as caught:
        dl.assemble_state(model, [0.3, 1, 0.3, 0, np.pi - 0.1, 0, 0])
    assert str(caught.value) == (
        "assemble: loop 'tie' would be closed with the two frames of its revolute joint flipped against each other, which the "
        "joint does not allow. Use another initial guess, or rotate the frame on 'block' with `rotation`."
    )


def test_links_that_are_too_short_are_reported_with_the_gap():
    # the pivots lie 9 apart, and all rods together reach 4.5
    with pytest.raises(dl.InconsistentStateError) as caught:
        dl.assemble_state(four_bars(ground=9.0), [0.1, 0.1, 3.0])
    message = re.search(
        r"no state near the initial guess satisfies the constraints at position level; the nearest has a residual of "
        r"(-?[0-9.]+) in 'pin, ([xy])'\.",
        str(caught.value),
    )
    assert message is not None
    # the row is chosen by its relative violation, so the other component may be a little larger
    assert abs(float(message[1])) >= 0.99 * (9.0 - 4.5) / np.sqrt(2)
    assert "check the link lengths" in str(caught.value)


@pytest.mark.nightly
def test_nonexistent_branches_raise():
    with pytest.raises(dl.InconsistentStateError, match=r"a residual of .* in 'pin, "):
        dl.branches(four_bars(ground=9.0), [0.1, 0.1, 3.0], fixed=["a"])


def test_velocities_that_contradict_fixed_ones_raise():
    with pytest.raises(dl.InconsistentStateError, match="at velocity level"):
        dl.assemble_state(four_bars(), [1.0, *by_circles(1.0)[0]], [1.0, 0.0, 0.0], fixed=["a", "b", "c"])


def test_fixed_coordinates_keep_their_rates_and_the_others_follow():
    a, h = 1.0, 1e-6
    found = dl.assemble_state(four_bars(), [a, *by_circles(a)[0]], [2.0, 0, 0], fixed=["a"])
    assert found.qd[0] == 2.0
    near = [by_circles(a + s * h)[0] for s in (-1, 1)]
    assert np.allclose(found.qd[1:], 2.0 * (near[1] - near[0]) / (2 * h), atol=1e-8)
    assert found.moved_rates["a"] == 0


def test_heavy_coordinates_move_less():
    guess = [1.0, *(by_circles(1.0)[0] + [0.2, -0.1])]
    usual = dl.assemble_state(four_bars(), guess)
    heavy = dl.assemble_state(four_bars(), guess, weights={"a": 1e6})
    assert abs(usual.moved["a"]) > 1e-3
    assert abs(heavy.moved["a"]) < 1e-2 * abs(usual.moved["a"])


def test_velocities_are_the_nearest_in_the_mass_metric():
    model = four_bars()
    q = np.array([1.0, *by_circles(1.0)[0]])
    wanted = np.array([1.0, 2.0, -3.0])
    found = dl.assemble_state(model, q, wanted)
    M = dl.mass_matrix(model, q)
    # the result is a multiple of the one motion that the loop admits, and the change is orthogonal to it
    assert abs(found.qd @ M @ (wanted - found.qd)) < 1e-6 * (wanted @ M @ wanted)
    along = dl.assemble_state(model, q, [1.0, 0, 0], fixed=["a"]).qd
    assert np.allclose(found.qd, along * (along @ M @ wanted) / (along @ M @ along), rtol=1e-6)


def test_a_time_dependent_loop_is_closed_at_the_requested_time():
    model = dl.Model("stretched").coordinates("a", "b")
    model.body("first", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 0.1))
    elbow = model.revolute((0, 0, 1), "b", position=(1, 0, 0))
    model.body("second", parent="first", joint=elbow, mass=1, inertia=(0, 0, 0.1))
    model.body("rail", joint=model.prismatic((1, 0, 0), "1 + 0.2*t"), mass=1)
    model.loop("pin", ("rail", "second"), model.revolute((0, 0, 1), 0), position=(1, 0, 0))
    for t in (0.0, 1.0, 3.0):
        found = dl.assemble_state(model, [0.8, -1.5], t=t)
        a, b = found.q
        assert np.cos(a) + np.cos(a + b) == pytest.approx(1 + 0.2 * t)
        assert np.sin(a) + np.sin(a + b) == pytest.approx(0, abs=1e-12)
        rate = -np.sin(a) * found.qd[0] - np.sin(a + b) * found.qd.sum()
        assert rate == pytest.approx(0.2)


def test_a_state_without_a_finite_pose_raises():
    model = dl.Model("ball").coordinates("w", "x", "y", "z")
    model.body("ball", joint=model.spherical(quaternion=("w", "x", "y", "z")), mass=1, inertia=(1, 1, 1))
    with pytest.raises(dl.InconsistentStateError, match=r"not finite at w = 0, .* start a quaternion with w = 1"):
        dl.assemble_state(model)
    found = dl.assemble_state(model, [2.0, 0, 0, 0.1])
    assert found.q @ found.q == pytest.approx(1, abs=1e-12)


# files


FILE = """
name = "crank and rocker"
gravity = [0, -9.81, 0]
[coordinates]
a = { start = 1.0, rate = 2 }
b = { start = -0.4 }
c = { start = 1.3 }
[[body]]
name = "crank"
mass = 1
inertia = [0, 0.1, 0.1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "a" }
[[body]]
name = "coupler"
parent = "crank"
mass = 1
inertia = [0, 0.1, 0.1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "b", position = [1, 0, 0] }
[[body]]
name = "rocker"
mass = 1
inertia = [0, 0.1, 0.1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "c", position = [2, 0, 0] }
[[loop]]
name = "pin"
bodies = ["coupler", "rocker"]
joint = { type = "revolute", axis = [0, 0, 1], position = [2, 0, 0] }
position = [1.5, 0, 0]
[simulation]
duration = 0.5
samples = 6
"""


def test_a_file_may_request_assembly(tmp_path):
    guess = tmp_path / "guess.toml"
    guess.write_text(FILE, encoding="utf-8")
    as_it_is = dl.load(guess)
    assert as_it_is.initial[0].tolist() == [1.0, -0.4, 1.3]
    with pytest.raises(dl.InconsistentStateError, match="does not satisfy the constraints"):
        dl.simulate(as_it_is)
    wanted = tmp_path / "wanted.toml"
    wanted.write_text(FILE + "assemble = true\n", encoding="utf-8")
    model = dl.load(wanted)
    q, qd = model.initial
    assert any(same_angles(q[1:], solution) for solution in by_circles(q[0]))
    expected = dl.assemble_state(as_it_is)
    assert np.allclose(q, expected.q, atol=1e-14)
    assert np.allclose(qd, expected.qd, atol=1e-14)
    assert not model.assemble_start
    assert model.notes[-1] == f"the initial state was assembled: {expected}"
    run = dl.derive(model, engine="python").simulate()
    assert np.abs(run.violation).max() < 1e-9


def test_a_file_that_cannot_be_assembled_raises(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(
        FILE.replace("position = [2, 0, 0] }\n[[loop]]", "position = [9, 0, 0] }\n[[loop]]") + "assemble = true\n"
    )
    with pytest.raises(dl.InconsistentStateError, match=r"a residual of .* in 'pin, "):
        dl.load(path)


def test_assembled_returns_another_model():
    model = four_bars().start([1.0, -0.4, 1.3], [2, 0, 0])
    other = dl.assemble_model(model)
    assert model.initial[0].tolist() == [1.0, -0.4, 1.3]
    assert dl.assemble_state(other).moved == pytest.approx({"a": 0, "b": 0, "c": 0}, abs=1e-12)


# mobility of loops


def test_mobility_names_the_redundant_rows():
    found = dl.mobility(dl.assemble_model(four_bars().start([1.0, -0.4, 1.3], [0, 0, 0])))
    assert (found.coordinates, found.constraints, found.degrees_of_freedom) == (3, 5, 1)
    assert found.redundant == ("pin, z", "pin, tilt 1", "pin, tilt 2")
    assert found.independent == ("pin, x", "pin, y")
    assert found.rank_at_start == 2
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("kind", "freedoms"),
    [("fixed", 1), ("prismatic", 2), ("revolute", 2), ("screw", 2), ("cylindrical", 3), ("planar", 4)],
)
def test_a_joint_that_ties_a_free_body_leaves_it_its_freedoms(kind, freedoms):
    model = floating(ADMITTED[kind][0]).start({"x": 1.0}, {})
    found = dl.mobility(model)
    assert found.degrees_of_freedom == freedoms
    assert found.redundant == ()


def test_folded_four_bars_are_singular():
    # a flat parallelogram has two instantaneous degrees of freedom
    model = dl.Model("flat").coordinates("a", "b", "c")
    rod = {"mass": 1.0, "inertia": (0, 0.1, 0.1)}
    model.body("crank", joint=model.revolute((0, 0, 1), "a"), **rod)
    model.body("coupler", parent="crank", joint=model.revolute((0, 0, 1), "b", position=(1, 0, 0)), **rod)
    model.body("rocker", joint=model.revolute((0, 0, 1), "c", position=(2, 0, 0)), **rod)
    pin = model.revolute((0, 0, 1), 0, position=(2, 0, 0))
    model.loop("pin", ("coupler", "rocker"), pin, position=(1, 0, 0))
    found = dl.mobility(model)
    assert found.rank_at_start == 1
    assert found.degrees_of_freedom == 1
    assert "the constraint matrix has rank 1 instead of 2" in found.warnings[0]
    assert "has 2 instantaneous degrees of freedom" in found.warnings[0]


def chain(links: int, gap: float) -> dl.Model:
    """A chain of links of 0.1 m from the origin, whose other end belongs on the ground at a distance `gap`."""
    model = dl.Model("chain", gravity=(0, -9.81, 0)).coordinates(*(f"a{i}" for i in range(links)))
    parent = "world"
    for i in range(links):
        hinge = model.revolute((0, 0, 1), f"a{i}", position=(0.1 if i else 0, 0, 0))
        model.body(f"link{i}", parent=parent, joint=hinge, mass=1, center=(0.05, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
        parent = f"link{i}"
    model.loop("end", (parent, "world"), model.revolute((0, 0, 1), 0, position=(0.1, 0, 0)), position=(gap, 0, 0))
    return model.start([0.8] + [-1.6 / links] * (links - 1), [0.0] * links)


@pytest.mark.nightly
def test_a_chain_of_200_links_is_closed_in_seconds():
    began = time.process_time()
    found = dl.assemble_state(chain(200, 10.0))
    assert found.residual < 1e-10
    assert time.process_time() - began < 20  # 2 s on an idle machine


@pytest.mark.nightly
def test_a_long_chain_that_is_too_short_is_reported_in_seconds():
    began = time.process_time()
    with pytest.raises(
        dl.InconsistentStateError, match="With 200 coordinates and 5 constraints the search stops after 100"
    ):
        dl.assemble_state(chain(200, 40.0))
    assert time.process_time() - began < 20


@pytest.mark.slow(3)
def test_a_rope_of_points_is_assembled_in_seconds():
    count = 100
    model = dl.Model("rope").coordinates(*(f"{c}{i}" for i in range(count) for c in "xy"))
    for i in range(count):
        model.body(f"p{i}", joint=[model.prismatic((1, 0, 0), f"x{i}"), model.prismatic((0, 1, 0), f"y{i}")], mass=1)
        x, y = (f"x{i - 1}", f"y{i - 1}") if i else ("0", "0")
        model.holonomic(f"(x{i} - {x})**2 + (y{i} - {y})**2 - 0.01", name=f"link {i}")
    began = time.process_time()
    found = dl.assemble_state(model, [x for i in range(count) for x in (0.11 * (i + 1), 0.0)])
    np.testing.assert_allclose(found.q[::2], 0.1 * np.arange(1, count + 1), rtol=1e-6)
    assert time.process_time() - began < 20
