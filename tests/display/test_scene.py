"""Scenes: poses and closure as the page computes them, views, and shapes."""

import base64
import json
import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.display.scene._declared_shapes import corners
from dalembert.display.scene.scene_builder import ANGLE, scene_of
from dalembert.display.scene.scene_values import Recorded
from dalembert.mechanics.constraint_levels import Constraints, levels, with_contacts
from dalembert.mechanics.motion import move
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.lookup_tables import interpolation, table
from dalembert.symbolic.rotations import quaternion
from dalembert.symbolic.symbols import TIME, coordinate

ONE = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "negative": lambda a: -a,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "pow": math.pow,
    "atan2": math.atan2,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "select": lambda c, a, b: a if c else b,
    "interpolate": lambda table, x: _interpolated(table, x),
}


def _interpolated(table: dict, x: float) -> float:
    if table["order"] == 0:
        return float(np.interp(x, table["times"], table["values"]))
    k = int(np.searchsorted(table["times"], x, side="right"))
    if table["order"] > 1 or not 0 < k < len(table["times"]):
        return 0.0
    (a, b), (c, d) = table["times"][k - 1 : k + 1], table["values"][k - 1 : k + 1]
    return (d - c) / (b - a)


def interpreted(form: dict, inputs: list[float]) -> np.ndarray:
    """Evaluate a program as the page does: line by line."""
    assert len(inputs) == form["inputs"]
    values = [*inputs, *form["numbers"], *form.get("tables", [])]
    for name, *operands in form["lines"]:
        values.append(ONE[name](*(values[a] for a in operands)))
    return np.array([values[a] for a in form["outputs"]])


def unpacked(array: dict) -> np.ndarray:
    (kind,) = array.keys() - {"shape"}
    dtype = {"f64": "<f8", "f32": "<f4", "u32": "<u4"}[kind]
    return np.frombuffer(base64.b64decode(array[kind]), dtype).reshape(array["shape"])


def check_poses_and_closure(model, seed: int) -> None:
    """Compare the JSON of a model with a numeric traversal, and its Jacobian with finite differences."""
    rng = np.random.default_rng(seed)
    data = json.loads(json.dumps(scene_of(model).to_dict(), allow_nan=False))
    q = np.array([c["start"] for c in data["coordinates"]]) + 0.1 * rng.normal(size=len(data["coordinates"]))
    t = 0.37
    known = with_contacts(model.description)
    motion = move(known, FLOATS, t, q, np.zeros(len(q)), known.parameter_values)
    poses = interpreted(data["kinematics"], [*q, t]).reshape(-1, 12)
    assert [part["name"] for part in data["bodies"]] == ["world", *(body.name for body in motion.bodies)]
    size = max(1.0, float(np.abs(poses).max()))
    for pose, body in zip(poses, motion.bodies, strict=True):
        assert np.allclose(pose[:3], body.frame.p.astype(float), rtol=0, atol=1e-12 * size)
        assert np.allclose(pose[3:].reshape(3, 3), body.R_WB.astype(float), rtol=0, atol=1e-12)
    constraints = Constraints(motion, levels(known))
    rows = [i for i in range(constraints.levels.n_holonomic) if not constraints.levels.servo[i]]
    if data["closure"] is None:
        assert not rows
        return
    n = len(q)

    def gap(x: np.ndarray) -> np.ndarray:
        return interpreted(data["closure"], [*x, t])

    out = gap(q)
    m = len(out) // (n + 1)
    assert np.allclose(out[:m], constraints.phi[rows].astype(float), rtol=0, atol=1e-12 * size)
    h = 1e-6
    slopes = np.stack([(gap(q + h * e)[:m] - gap(q - h * e)[:m]) / (2 * h) for e in np.eye(n)], axis=1)
    assert np.allclose(out[m:].reshape(m, n), slopes, rtol=0, atol=1e-7 * max(1.0, float(np.abs(slopes).max())))


@pytest.mark.parametrize("name", ["cart-pendulum", "four-bar", "puma560", "three-bodies", "rolling-disk"])
def test_page_computes_the_same_poses_as_python(name):
    check_poses_and_closure(dl.load(name), 1)


@pytest.mark.nightly
@pytest.mark.parametrize("name", dl.gallery.names())
def test_page_computes_the_same_poses_for_all_gallery_models(name):
    check_poses_and_closure(dl.load(name), 2)


def test_tables_are_included():
    model = dl.Model("lift").coordinates("x")
    height = coordinate("x") + 2 * interpolation(table([0, 1, 2], [0, 3, 3]), TIME)
    up = model.prismatic((0, 0, 1), "x").with_values([height])
    model.body("cabin", joint=up, mass=1)
    check_poses_and_closure(model, 3)
    form = scene_of(model).to_dict()["kinematics"]
    assert interpreted(form, [0.5, 0.5])[2] == pytest.approx(0.5 + 3.0)
    assert interpreted(form, [0.5, 9.0])[2] == pytest.approx(0.5 + 6.0)


def test_parameters_are_folded_into_numbers():
    scene = scene_of(dl.load("double-pendulum"))
    assert scene.kinematics.form.program.parameters == ()
    longer = scene_of(dl.load("double-pendulum").with_parameters(l1=7.0))
    assert 7.0 in np.abs(longer.kinematics.form.program.numbers)


def test_interpolation_is_a_quintic_polynomial():
    x = np.polynomial.Polynomial([1.0, -2.0, 0.5, 0.3, -0.7, 0.2])
    t = np.array([0.0, 0.5, 1.3])
    run = Recorded("lagrange", t, x(t)[None], x.deriv()(t)[None], x.deriv(2)(t)[None], (), ())
    times = np.linspace(0.0, 1.3, 27)
    assert np.allclose(run.at(times)[0], x(times), rtol=0, atol=1e-13)


def tilted_pendulum(model: dl.Model) -> dl.Model:
    """A pendulum with two rods in a tilted plane."""
    first = model.revolute((0, 0, 1), "a", rotation=(0.3, 0.2, 0.1))
    model.body("one", joint=first, mass=1, center=(1, 0, 0))
    model.body("two", parent="one", joint=model.revolute((0, 0, 1), "b", (1, 0, 0)), mass=1, center=(1, 0, 0))
    return model


def test_planes_are_found_from_the_joints():
    view = scene_of(tilted_pendulum(dl.Model("askew", gravity=(0, -9.81, 0)).coordinates("a", "b"))).view
    toward = (view.eye - view.target) / np.linalg.norm(view.eye - view.target)
    assert view.planar
    # two moving points stay at a constant height above the plane
    scene = scene_of(tilted_pendulum(dl.Model("askew", gravity=(0, -9.81, 0)).coordinates("a", "b")))
    q = np.random.default_rng(0).normal(size=(2, 9))
    assert np.ptp(toward @ scene.kinematics.at(q, 0.0)["two"][1]) < 1e-12
    assert abs(view.up @ toward) < 1e-12


@pytest.mark.parametrize(
    ("name", "planar"), [("cart-pendulum", True), ("slider-crank", True), ("three-bodies", False), ("puma560", False)]
)
def test_planar_models_are_viewed_from_the_front(name, planar):
    assert scene_of(dl.load(name)).view.planar is planar


def test_arm_that_only_starts_in_a_plane_is_spatial():
    model = dl.Model("bend").coordinates("a", "b")
    model.body("one", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0))
    model.body("two", parent="one", joint=model.universal(((0, 0, 1), (0, 1, 0)), ("b", 0)), mass=1, center=(1, 0, 0))
    assert not scene_of(model).view.planar


def test_gravity_points_downwards():
    for name in ("biped", "slider-crank", "puma560"):
        model = dl.load(name)
        view = scene_of(model).view
        g = np.array([model.number(str(x), "g") for x in model.gravity_input])
        assert view.up @ g < -0.9 * np.linalg.norm(g)


def test_all_moving_points_are_in_view():
    run = dl.simulate("double-pendulum", 2.0, samples=41)
    scene = run.scene()
    view, poses = scene.view, scene.kinematics.at(run.q, run.t)
    for part in scene.bodies[1:]:
        R, p = poses[part.name]
        points = np.concatenate([corners(shape) for shape in part.shapes])
        world = np.einsum("xyk,iy->xik", R, points) + p[:, None] - view.target[:, None, None]
        assert np.abs(world[:2]).max() < view.size / 2
    assert math.isclose(np.linalg.norm(view.eye - view.target), view.size / 2 / math.tan(ANGLE / 2))


def test_all_moving_points_are_in_view_in_perspective():
    run = dl.simulate("pendulum-on-balance", 2.0, samples=41)
    scene = run.scene()
    view, poses = scene.view, scene.kinematics.at(run.q, run.t)
    toward = (view.eye - view.target) / np.linalg.norm(view.eye - view.target)
    right = np.cross(view.up, toward) / np.linalg.norm(np.cross(view.up, toward))
    axes, largest = np.array([right, np.cross(toward, right), toward]), 0.0
    for part in scene.bodies[1:]:
        R, p = poses[part.name]
        points = np.concatenate([corners(shape) for shape in part.shapes])
        across, upwards, near = np.einsum(
            "ax,xik->aik", axes, np.einsum("xyk,iy->xik", R, points) + p[:, None] - view.eye[:, None, None]
        )
        largest = max(largest, float(np.abs([across / near, upwards / near]).max()))
    assert 0.85 < largest / math.tan(ANGLE / 2) < 1


def test_camera_follows_a_long_motion():
    model = dl.Model("sled").coordinates("x").start([0], [3])
    model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1, inertia=(0.01, 0.01, 0.01))
    scene = dl.simulate(model, 5.0, samples=11).scene()
    assert scene.view.follow == "cart"
    assert scene.view.size < 1.5
    assert scene.run is not None
    assert np.ptp(scene.run.q) == pytest.approx(15)


def test_view_contains_the_anchor_of_a_spring():
    model = dl.Model("hung", gravity=(0, -9.81, 0)).coordinates("y").start([-1], [0])
    model.body("mass", joint=model.prismatic((0, 1, 0), "y"), mass=1)
    scene = scene_of(model.spring(("world", "mass"), stiffness=30, natural_length=0.5))
    assert scene.view.follow is None
    assert abs(scene.view.target[1]) + 0.5 * scene.view.size > 1 > scene.view.target[1]
    assert scene.cords[0].kind == "spring"


def test_sizes_grow_with_the_unit_of_length():
    def scene(k: float):
        model = dl.Model("crane", gravity=(0, -9.81 * k, 0)).coordinates("x", "a")
        model.body("trolley", joint=model.prismatic((1, 0, 0), "x"), mass=1)
        model.body("load", parent="trolley", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(0, -k, 0))
        return scene_of(model)

    small, large = scene(1e-3), scene(1e3)
    assert large.view.size / small.view.size == pytest.approx(1e6, rel=1e-9)
    for a, b in zip(small.bodies, large.bodies, strict=True):
        assert [shape.kind for shape in a.shapes] == [shape.kind for shape in b.shapes]
        for first, second in zip(a.shapes, b.shapes, strict=True):
            assert np.allclose(1e6 * np.array(first.size), second.size)


def test_rods_connect_joints():
    scene = scene_of(dl.load("four-bar"))
    coupler = next(part for part in scene.bodies if part.name == "coupler")
    rod = next(shape for shape in coupler.shapes if shape.kind == "capsule")
    ends = rod.at + np.outer([-0.5, 0.5], rod.turn[:, 2]) * rod.size[1]
    assert np.allclose(sorted(ends[:, 0]), [0.0, 0.1152], atol=1e-12)


def test_discs_have_the_radius_of_their_contact():
    model = dl.load("rolling-disk")
    disc = next(shape for shape in scene_of(model).bodies[1].shapes if shape.kind == "disc")
    assert disc.size[0] == model.parameter_values["r"]


def test_round_shapes_have_their_size_and_touch_their_plane():
    world, top = scene_of(dl.load("tippe-top")).bodies
    assert [shape.size for shape in top.shapes if shape.kind == "sphere" and shape.role == "body"] == [
        (0.015,),
        (0.005,),
    ]
    assert max(np.abs(shape.points[:, 2]).max() for shape in world.shapes if shape.kind == "line") < 1e-12
    stone = scene_of(dl.load("rattleback")).bodies[1]
    (mesh,) = [shape for shape in stone.shapes if shape.kind == "mesh"]
    assert mesh.points is not None
    assert np.abs(mesh.points).max(axis=0) == pytest.approx([0.2, 0.03, 0.02])
    a, b, c = np.moveaxis(mesh.points[mesh.faces], 1, 0)
    outwards = np.sum(np.cross(b - a, c - a) * (a + b + c), axis=1)
    assert outwards.min() > -1e-18  # triangles are oriented outwards
    # a foot is drawn in addition to its leg
    leg = dl.Model("leg", gravity=(0, 0, -1)).coordinates("a")
    leg.body("leg", joint=leg.revolute((0, 1, 0), "a"), mass=1, center=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
    leg.sphere_on_plane("leg", radius=0.05, center=(0, 0, -1), point=(0, 0, -1.04), stiffness=1e3)
    kinds = [shape.kind for shape in scene_of(leg).bodies[1].shapes if shape.role == "body"]
    assert {"capsule", "sphere"} <= set(kinds)


def test_rod_without_a_child_has_the_length_of_its_inertia():
    rods = [s for s in scene_of(dl.load("cart-pendulum")).bodies[3].shapes if s.kind == "capsule"]
    assert rods[0].size[1] == pytest.approx(0.2)


def test_strings_and_surfaces_are_derived_from_formulas():
    def particle(phi: str) -> dl.Model:
        model = dl.Model("particle", gravity=(0, 0, -9.81)).parameters(l=2.0, a=0.5).coordinates("x", "y", "z")
        axes = [model.prismatic(axis, name) for axis, name in zip(np.eye(3).tolist(), "xyz", strict=True)]
        return model.body("bob", joint=axes, mass=1).holonomic(phi)

    (string,) = scene_of(particle("(x - a)**2 + y**2 + (z - 1)**2 - l**2").start([0.5, 0, -1], [0, 1, 0])).cords
    assert string.points[0].tolist() == [0.5, 0, 1]
    assert not scene_of(particle("x**2 + y**2 + 2*z**2 - l**2").start([2, 0, 0], [0, 1, 0])).cords
    bowl = particle("3*z - x**2 - a*y").start([1, 0, 1 / 3], [0, 0, 0])
    (surface,) = [s for s in dl.simulate(bowl, 0.2, samples=5).scene().bodies[0].shapes if s.kind == "mesh"]
    assert surface.points is not None
    x, y, z = surface.points.T
    assert np.allclose(3 * z, x**2 + 0.5 * y)


def test_bead_on_a_rotating_line_is_drawn_with_its_wire():
    (wire,) = scene_of(dl.load("bead-on-wire-cartesian")).cords
    assert wire.bodies == ("world", "bead")
    assert wire.points[0].tolist() == [0, 0, 0]


def test_pivots_and_rails_from_formulas_are_drawn():
    def fixed(name: str) -> list:
        return [
            s for s in dl.simulate(name, 1.0, samples=21).scene().bodies[0].shapes if s.kind in ("mesh", "cylinder")
        ]

    first, second = sorted(float(s.points[:, 0].mean()) for s in fixed("planar-four-bar"))  # the supports
    assert second - first == pytest.approx(0.75)
    (rail,) = [s for s in fixed("slider-crank-2") if s.kind == "cylinder"]
    assert np.allclose(np.abs(rail.turn[:, 2]), [1, 0, 0], atol=1e-9)
    assert rail.at[1] == pytest.approx(0, abs=1e-9)


def test_rods_are_visible_in_long_chains():
    for name in ("rope", "simple-pendulum"):
        scene = scene_of(dl.load(name))
        rod = next(shape for shape in scene.bodies[1].shapes if shape.kind == "capsule")
        assert 0.003 < rod.size[0] / scene.view.size < 0.05


def test_panels_of_three_bodies_are_next_to_a_box_with_the_inertia_of_the_file():
    values = dl.load("three-bodies").parameter_values
    box, panel = (part.shapes[0].size for part in scene_of(dl.load("three-bodies")).bodies[1:3])
    assert box[1] / 2 < values["a"] / 2 - panel[1] / 2
    assert values["Iyy"] == pytest.approx(values["m"] * (box[0] ** 2 + box[2] ** 2) / 12, rel=0.01)


def test_energy_models_cannot_be_drawn():
    model = dl.Model.from_energies("bare", coordinates=["x"], kinetic="dot(x)**2/2")
    with pytest.raises(dl.InputError, match="nothing to draw"):
        scene_of(model)


def test_scene_of_a_run_contains_histories_and_forces():
    run = dl.simulate("simple-pendulum", 1.0, samples=11)
    data = json.loads(json.dumps(run.scene().to_dict(), allow_nan=False))
    channels = {channel["key"]: channel for channel in data["run"]["channels"]}
    assert channels["theta"]["label"] == "θ"
    assert channels["theta"]["unit"] == "rad"
    assert np.array_equal(unpacked(channels["dot(theta)"]["values"]), run.qd[0])
    assert np.array_equal(unpacked(data["run"]["q"]), run.q)
    reaction = next(arrow for arrow in data["run"]["arrows"] if arrow["kind"] == "reaction")
    weight = next(arrow for arrow in data["run"]["arrows"] if arrow["kind"] == "gravity")
    assert np.allclose(unpacked(reaction["vector"]), run.joint_reactions()["bob"].force, rtol=1e-6, atol=1e-6)
    assert reaction["scale"] == weight["scale"] > 0


def test_applied_forces_and_torques_become_arrows_of_the_world():
    model = dl.Model("push").coordinates("a").start([np.pi / 2], [0])
    model.body("bar", joint=model.revolute((0, 0, 1), "a"), mass=1, center=(1, 0, 0), inertia=(0, 1, 1))
    model.force("bar", ("3 + 2*dot(a)", 0, 0), point=(2, 0, 0), frame="bar", name="jet").torque("bar", (0, 0, 4))
    scene = dl.simulate(model, 0.1, samples=3).scene()
    assert scene.run is not None
    arrows = {arrow.kind: arrow for arrow in scene.run.arrows}
    assert np.allclose(arrows["force"].vector[:, 0], [0, 3, 0])
    assert np.allclose(arrows["force"].point[:, 0], [0, 2, 0])
    assert np.allclose(arrows["torque"].vector, [[0], [0], [4]])
    assert np.allclose(np.linalg.norm(arrows["force"].vector, axis=0), 3 + 2 * scene.run.qd[0])


def test_loops_are_closed_before_they_are_drawn():
    model = dl.load("four-bar").copy().start({"q3": -1.2}, {})
    scene = scene_of(model)
    assert scene.closure is not None
    q, t = scene.start
    gap = scene.closure.at(q[:, None], t)[: scene.closure.rows(len(q))]
    assert np.abs(gap).max() < 1e-9


def test_quaternions_rotate_like_their_matrices():
    rng = np.random.default_rng(4)
    for _ in range(50):
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        R = Q * np.sign(np.linalg.det(Q))
        w, x, y, z = quaternion(R)
        back = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        assert np.allclose(back, R, atol=1e-12)


@pytest.mark.nightly
@pytest.mark.parametrize("name", dl.gallery.names())
def test_every_example_can_be_drawn_with_its_run(name):
    model = dl.load(name)
    formalism = "denoc" if name == "rope" else "lagrange"
    scene = dl.simulate(model, min(model.duration, 1.0), samples=21, formalism=formalism).scene()
    json.dumps(scene.to_dict(), allow_nan=False)
    # a link without mass and length is drawn as its joint
    heavy = {body.name for body in model.bodies if model.number(str(body.mass), "mass") > 0}
    assert all(any(shape.role == "body" for shape in part.shapes) for part in scene.bodies if part.name in heavy)
