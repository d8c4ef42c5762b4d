"""Homogeneous solids against volume integrals, and all forms of rotations."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dl
from dalembert.errors import InputError, ModelFileError
from dalembert.io.toml_reader import loads_toml
from dalembert.io.toml_writer import to_toml
from dalembert.model.attitude import roll_pitch_yaw
from dalembert.model.evaluation import value
from dalembert.model.model import Model

VALUES = {"r": 0.3, "l": 0.8, "rho": 2.0, "a": 0.4}


def begin() -> Model:
    return Model("m").parameters(VALUES)


def numbers(model: Model, matter) -> tuple[float, np.ndarray, np.ndarray]:
    def number(x):
        return value(x, model.parameter_values)

    inertia = np.array([[number(x) for x in row] for row in matter.inertia])
    return number(matter.mass), np.array([number(x) for x in matter.center]), inertia


def legendre(low, high):
    x, w = np.polynomial.legendre.leggauss(12)
    return (high + low) / 2 + (high - low) / 2 * x, (high - low) / 2 * w


def stacked(low, high, disc):
    """Mass, mass center and inertia of a stack of elliptic disks a(z), b(z) of density 1, by Gauss quadrature along z."""
    z, w = legendre(low, high)
    a, b = disc(z)
    slices = w * np.pi * a * b
    mass, middle = slices.sum(), (slices * z).sum() / slices.sum()
    x, y, up = (slices * a**2 / 4).sum(), (slices * b**2 / 4).sum(), (slices * (z - middle) ** 2).sum()
    return mass, middle, np.diag([y + up, x + up, x + y])


def ball(z):
    return np.sqrt(1 - (z / 0.3) ** 2) * 0.3


PILES = {
    "cylinder": (("r", "l"), [(-0.4, 0.4, lambda z: (0.3 + 0 * z, 0.3 + 0 * z))]),
    "sphere": (("r",), [(-0.3, 0.3, lambda z: (ball(z), ball(z)))]),
    "ellipsoid": ((0.5, "a", "r"), [(-0.3, 0.3, lambda z: (ball(z) * 5 / 3, ball(z) * 4 / 3))]),
    "cone": (("r", "l"), [(0, 0.8, lambda z: (0.3 * (1 - z / 0.8), 0.3 * (1 - z / 0.8)))]),
    "capsule": (
        ("r", "l"),
        [
            (-0.4, 0.4, lambda z: (0.3 + 0 * z, 0.3 + 0 * z)),
            (0.4, 0.7, lambda z: (ball(z - 0.4), ball(z - 0.4))),
            (-0.7, -0.4, lambda z: (ball(z + 0.4), ball(z + 0.4))),
        ],
    ),
}


def joined(parts):
    mass = sum(m for m, _, _ in parts)
    middle = sum(m * c for m, c, _ in parts) / mass
    return mass, middle, sum(J + m * (c - middle) ** 2 * np.diag([1, 1, 0]) for m, c, J in parts)


@pytest.mark.parametrize("kind", PILES)
def test_a_round_solid_has_the_inertia_of_its_slices(kind):
    size, pieces = PILES[kind]
    mass, middle, inertia = joined([stacked(*piece) for piece in pieces])
    model = begin()
    found = numbers(model, model.solid(kind, size, density="rho"))
    for got, expected in zip(found, (2 * mass, (0, 0, middle), 2 * inertia), strict=True):
        assert np.allclose(got, expected, rtol=1e-12, atol=1e-14)
    # by its mass instead of its density
    again = numbers(model, model.solid(kind, size, mass=4 * mass))
    assert np.allclose(again[2], 4 * inertia, rtol=1e-12)


def test_a_box_and_a_rod():
    model = begin()
    mass, _, inertia = numbers(model, model.solid("box", (1, 2, "a"), density=3))
    assert (mass, inertia.diagonal()) == (
        pytest.approx(2.4),
        pytest.approx(0.2 * np.array([4 + 0.16, 1 + 0.16, 5]), rel=1e-14),
    )
    mass, _, inertia = numbers(model, model.solid("rod", ("l",), density=3))
    assert (mass, inertia[0, 0], inertia[2, 2]) == (pytest.approx(2.4), pytest.approx(2.4 * 0.64 / 12), 0)


@pytest.mark.parametrize("kind", ["box", "cylinder", "sphere", "ellipsoid", "cone", "capsule"])
def test_hollow_solid_is_the_difference_of_two_solids(kind):
    model = begin()
    count = {"box": 3, "ellipsoid": 3, "sphere": 1}.get(kind, 2)
    outer, inner = [0.6, 0.7, 0.8][:count], [0.3, 0.2, 0.5][:count]
    mass, center, inertia = numbers(model, model.solid(kind, outer, inner=inner, density="rho"))
    whole, hole = (numbers(model, model.solid(kind, size, density="rho")) for size in (outer, inner))
    assert mass == pytest.approx(whole[0] - hole[0])
    assert mass * center == pytest.approx(whole[0] * whole[1] - hole[0] * hole[1])

    def about_origin(m, c, I):  # noqa: E741
        return I + m * (c @ c * np.eye(3) - np.outer(c, c))

    assert about_origin(mass, center, inertia) == pytest.approx(about_origin(*whole) - about_origin(*hole))
    by_mass = numbers(model, model.solid(kind, outer, inner=inner, mass=2 * mass))
    assert by_mass[2] == pytest.approx(2 * inertia)


def test_a_thin_pipe_and_a_thin_disc():
    # a pipe of radii 0.2 and 0.3: m (R² + r²) / 2 about its axis; a disc without thickness: m r² / 4 across
    model = begin()
    assert numbers(model, model.solid("cylinder", (0.3, 1), inner=(0.2, 1), mass=4))[2][2, 2] == pytest.approx(
        4 * 0.13 / 2
    )
    assert numbers(model, model.solid("cylinder", ("r", 0), mass=4))[2][0, 0] == pytest.approx(4 * 0.09 / 4)


def test_several_solids_are_one_body_with_steiners_theorem():
    # a dumb-bell of two balls on a rod, askew: against the sum over its parts about the origin
    model = begin().coordinates("q")
    turn = {"axis": (1, 2, 2), "angle": 0.7}
    R = Rotation.from_rotvec(0.7 * np.array([1, 2, 2]) / 3).as_matrix()
    parts = [
        model.solid("rod", ("l",), density=1.5, rotation=turn),
        *(model.solid("sphere", (0.1,), density=900, position=tuple(0.4 * s * R[:, 2])) for s in (1, -1)),
    ]
    model.body("bell", joint=model.revolute((0, 0, 1), "q"), solid=parts)
    (body,) = model.bodies
    mass, center, inertia = numbers(model, body)
    m = 900 * 4 / 3 * np.pi * 1e-3
    across = 1.2 * 0.64 / 12 + 2 * (0.4 * m * 0.01 + m * 0.16)
    assert mass == pytest.approx(1.2 + 2 * m)
    assert center == pytest.approx(0, abs=1e-15)
    assert inertia == pytest.approx(R @ np.diag([across, across, 2 * 0.4 * m * 0.01]) @ R.T, rel=1e-12)


def test_a_solid_is_read_from_a_file_and_written_as_what_follows_from_it():
    text = """
    name = "wheel"
    parameters.r = 0.3
    parameters.rho = 7800
    coordinates.q = { rate = 2 }
    [[body]]
    name = "wheel"
    joint = { type = "revolute", axis = [0, 1, 0], angle = "q" }
    solid = { kind = "cylinder", size = ["r", 0.05], density = "rho", rotation = { axis = [1, 0, 0], angle = "pi/2" } }
    """
    model = loads_toml(text)
    assert loads_toml(to_toml(model)).bodies == model.bodies
    (body,) = model.bodies
    assert str(body.inertia[1][1] - body.mass * model.formula("r**2/2")) == "0"
    assert dl.derive(model.joint_torque("wheel", 1), engine="python").accelerations([0], [0])[0] == pytest.approx(
        1 / (7800 * np.pi * 0.09 * 0.05 * 0.09 / 2)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.solid("ball", (1,), mass=1), "solid (ball): there is no such solid."),
        (lambda m: m.solid("sphere", (1,)), "got neither density nor mass. Give one of them."),
        (lambda m: m.solid("sphere", (1,), mass=1, density=2), "got both density and mass."),
        (lambda m: m.solid("box", (1, 2), mass=1), "size: got 2 lengths. Expected 3 for a box."),
        (lambda m: m.solid("sphere", ("-r",), mass=1), "size[0]: the length is -0.3. Expected a number >= 0."),
        (lambda m: m.solid("sphere", (1,), inner=(1,), mass=1), "its volume is not positive. Expected positive sizes"),
        (lambda m: m.solid("sphere", (0,), density=1), "its volume is not positive."),
        (lambda m: m.body("b", joint=m.fixed(), solid=3), "solid: got 3. Expected solids such as model.solid('box'"),
        (
            lambda m: m.body("b", joint=m.fixed(), mass=1, solid=m.solid("sphere", (1,), mass=1)),
            "Give one or the other.",
        ),
    ],
)
def test_invalid_solid_arguments(call, message):
    with pytest.raises(InputError) as caught:
        call(begin())
    assert message in str(caught.value)


# rotations


def matrix_of(model: Model, given) -> np.ndarray:
    angles = [value(x, model.parameter_values) for x in roll_pitch_yaw(model, given, "joint, rotation")]
    return Rotation.from_euler("xyz", angles).as_matrix()


def test_every_form_of_a_rotation_is_equivalent():
    model = begin()
    random = np.random.default_rng(2)
    for R in Rotation.random(5, random_state=3):  # pyright: ignore[reportCallIssue] (SciPy's stub has `rng` only)
        x, y, z, w = R.as_quat()
        axis = R.as_rotvec()
        forms = [
            R.as_matrix(),
            {"axis": axis, "angle": float(np.linalg.norm(axis))},
            {"quaternion": 3 * np.array([w, x, y, z])},
            *({"sequence": s, "angles": R.as_euler(s.upper())} for s in ("zxz", "xyz", "yzx", "zyx", "yxy")),
        ]
        for form in forms:
            assert np.allclose(matrix_of(model, form), R.as_matrix(), atol=1e-14)
    angles = random.uniform(-1, 1, 4)
    expected = np.linalg.multi_dot([Rotation.from_euler(s, x).as_matrix() for s, x in zip("xyzx", angles, strict=True)])
    assert np.allclose(matrix_of(model, {"sequence": "xyzx", "angles": angles}), expected, atol=1e-14)


def test_rotations_with_parameters_stay_formulas():
    model = begin()
    for form, expected in (
        ({"axis": (1, 2, 3), "angle": "a"}, Rotation.from_rotvec(0.4 * np.array([1, 2, 3]) / np.sqrt(14))),
        ({"sequence": "zxz", "angles": ("a", "r", 0.2)}, Rotation.from_euler("ZXZ", (0.4, 0.3, 0.2))),
    ):
        assert np.allclose(matrix_of(model, form), expected.as_matrix(), atol=1e-14)
        assert {s.name for x in roll_pitch_yaw(model, form, "joint") for s in x.free_symbols} >= {"a"}
    assert [str(x) for x in roll_pitch_yaw(model, {"sequence": "zyx", "angles": ("a", 0, "r")}, "joint")] == [
        "r",
        "0",
        "a",
    ]


@pytest.mark.parametrize("quarters", range(24))
def test_all_right_angle_rotations_are_exact(quarters):
    # every rotation that permutes the axes becomes multiples of π/2, which are written as such
    model, R = begin(), Rotation.create_group("O").as_matrix().round()[quarters]
    found = roll_pitch_yaw(model, R, "joint")
    assert all(str(x) in {"0", "pi", "-pi", "(1/2)*pi", "(-1/2)*pi"} for x in found)
    assert np.allclose(matrix_of(model, R), R, atol=1e-15)


def test_inertia_in_inertia_axes():
    model = begin().coordinates("q")
    R = Rotation.from_euler("ZXZ", (0.4, 1.1, 0.2)).as_matrix()
    for axes in (R, {"sequence": "zxz", "angles": ("a", 1.1, 0.2)}):
        model = model.replaced(bodies=())
        model.body("b", joint=model.revolute((0, 0, 1), "q"), mass=1, inertia=(1, 2, 2.5), inertia_axes=axes)
        assert numbers(model, model.bodies[0])[2] == pytest.approx(R @ np.diag([1, 2, 2.5]) @ R.T, rel=1e-13)
    model = model.replaced(bodies=())
    model.body("b", joint=model.revolute((0, 0, 1), "q"), inertia=("r", 2, 3), inertia_axes=("pi/2", 0, 0))
    assert [[str(x) for x in row] for row in model.bodies[0].inertia] == [
        ["r", "0", "0"],
        ["0", "3", "0"],
        ["0", "0", "2"],
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1, 0, 0], [0, 1, 0], [0, 0, -1]], "is a reflection. Expected a rotation matrix"),
        ([[1, 0, 0], [0, 2, 0], [0, 0, 1]], "is not orthogonal."),
        ({"axis": (0, 0, 0), "angle": 1}, "the axis has length 0."),
        ({"axis": (0, 0, 1)}, "got axis. Expected axis and angle, sequence and angles, or quaternion."),
        ({"axes": (0, 0, 1), "angle": 1}, "Did you mean 'axis'?"),
        ({"sequence": "zaz", "angles": (1, 2, 3)}, "Expected 1 to 6 letters of x, y and z, such as 'zxz'."),
        ({"sequence": "zxz", "angles": (1, 2)}, "Expected 3 angles, one for each axis of 'zxz'."),
        ({"quaternion": (0, 0, 0, 0)}, "quaternion: its norm is 0."),
        ({"quaternion": (1, 0, 0)}, "Expected 4 components (w, x, y, z)."),
        ({"sequence": "yzx", "angles": ("pi/2", "a - 2/5", "a")}, "the pitch is a right angle"),
        ((1, 2), "rotation: got (1, 2). Expected 3 components."),
    ],
)
def test_invalid_rotations(given, message):
    with pytest.raises(InputError) as caught:
        begin().fixed(rotation=given)
    assert message in str(caught.value)


def test_file_rotates_joints_loops_and_shapes_in_all_forms():
    text = """
    name = "arm"
    parameters.a = 0.4
    coordinates.q = {}
    [[body]]
    name = "arm"
    mass = 1
    inertia = [1, 1, 1]
    inertia_axes = { axis = [0, 0, 1], angle = "a" }
    joint = { type = "revolute", axis = [0, 0, 1], angle = "q", rotation = { sequence = "zxz", angles = [0.1, 0.2, 0.3] } }
    [[shape]]
    body = "arm"
    kind = "sphere"
    size = [1]
    rotation = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    """
    model = loads_toml(text)
    assert loads_toml(to_toml(model)).bodies == model.bodies
    assert model.shapes[0].rotation == pytest.approx((0, 0, np.pi / 2))
    with pytest.raises(ModelFileError, match=r"there is no key 'angel' here\. Did you mean 'angle'"):
        loads_toml(text.replace('angle = "a"', 'angel = "a"'))
    with pytest.raises(ModelFileError, match="is not orthogonal"):
        loads_toml(text.replace("[[0, -1, 0]", "[[0, -2, 0]"))
