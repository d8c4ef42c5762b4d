"""Every kind of joint in numbers: derivatives by complex steps, rotations by SciPy."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dalembert.errors import InputError
from dalembert.model.joints import JOINTS
from dalembert.model.joints.base import Joint, plane
from dalembert.model.joints.fixed import Fixed
from dalembert.model.joints.free import Free
from dalembert.model.joints.spherical import SEQUENCES, Quaternion, Spherical
from dalembert.model.joints.universal import Universal
from dalembert.model.model import Model
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

STEP = 1e-30
AXES = {
    "x": (1, 0, 0),
    "y": (0, 1, 0),
    "z": (0, 0, 1),
    "down": (0, 0, -1),
    "left": (0, -1, 0),
    "back": (-1, 0, 0),
    "oblique": (2, -3, 6),
}
ACROSS = {"xy": ((1, 0, 0), (0, 1, 0)), "zx": ((0, 0, 1), (1, 0, 0)), "oblique": ((2, -3, 6), (3, 2, 0))}


def scratch() -> Model:
    return Model("scratch").coordinates("a", "b", "c", "d", "e", "f", "w", "x", "y", "z")


def every() -> dict[str, Joint]:
    """Joints of every kind, along principal and other axes."""
    m = scratch()
    out: dict[str, Joint] = {"fixed": m.fixed()}
    for name, axis in AXES.items():
        out[f"revolute {name}"] = m.revolute(axis, "a")
        out[f"prismatic {name}"] = m.prismatic(axis, "a")
        out[f"screw {name}"] = m.screw(axis, "a", 0.3)
        out[f"cylindrical {name}"] = m.cylindrical(axis, "a", "b")
        out[f"planar {name}"] = m.planar(axis, ("a", "b"), "c")
    out["screw left-handed"] = m.screw((1, 2, 2), "a", -1.7)
    for name, axes in ACROSS.items():
        out[f"universal {name}"] = m.universal(axes, ("a", "b"))
    for sequence in SEQUENCES:
        out[f"spherical {sequence}"] = m.spherical(("a", "b", "c"), sequence)
    out["quaternion"] = m.spherical(quaternion=("w", "x", "y", "z"))
    out["free"] = m.free(("a", "b", "c"), ("d", "e", "f"), "zxy")
    out["free by quaternion"] = m.free(("a", "b", "c"), quaternion=("w", "x", "y", "z"))
    return out


EVERY = every()
every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())
MOVING = {name: joint for name, joint in EVERY.items() if joint.values}
every_moving_joint = pytest.mark.parametrize("joint", MOVING.values(), ids=MOVING.keys())


def as_floats(array) -> np.ndarray:
    """Convert an object array to a numeric array, complex if necessary."""
    found: np.ndarray[Any, np.dtype[np.complex128]] = np.array(array, dtype=complex)
    return found if found.imag.any() else found.real


def exact(array) -> np.ndarray:
    """An array of numbers as an object array."""
    out = np.empty(np.shape(array), dtype=object)
    for index in np.ndindex(*out.shape):
        out[index] = array[index]
    return out


def some_values(joint: Joint, seed: int = 1) -> list[float]:
    """Values within the ranges of `measure`; unit quaternions with w > 0."""
    random = np.random.default_rng(seed)
    found = random.uniform(-1.4, 1.4, len(joint.values))
    attitude = joint.attitude if isinstance(joint, Free) else joint
    if joint.quaternion:
        four = random.normal(size=4)
        found[-4:] = four / np.linalg.norm(four) * (1 if four[0] > 0 else -1)
    elif isinstance(attitude, Spherical) and attitude.sequence[0] == attitude.sequence[2]:
        found[-2] = abs(found[-2]) + 0.2  # the middle angle of a sequence such as zxz is between 0 and π
    return found.tolist()


def turns(count: int, seed: int) -> Rotation:
    """Random rotations."""
    return Rotation.from_quat(np.random.default_rng(seed).normal(size=(count, 4)))


def skewed(w) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def slopes(function, values) -> np.ndarray:
    """The derivative with respect to each value, on a new last axis, without truncation error."""
    columns = []
    for i in range(len(values)):
        moved = [v + (1j * STEP if i == k else 0) for k, v in enumerate(values)]
        columns.append(np.imag(np.array(function(moved), dtype=complex)) / STEP)
    return np.stack(columns, axis=-1)


# the motion


def test_the_table_of_this_file_is_complete():
    assert {type(joint) for joint in EVERY.values()} == set(JOINTS)
    assert len({joint.kind for joint in JOINTS}) == len(JOINTS)


@every_joint
def test_every_motion_has_a_name(joint):
    assert len(joint.motions) == len(set(joint.motions)) == len(joint.values)


@every_joint
def test_rotations_are_orthogonal_matrices(joint):
    R = as_floats(joint.rotation_matrix(FLOATS, some_values(joint)))
    assert np.allclose(R.T @ R, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1)


@every_moving_joint
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_motion_subspaces_are_the_derivatives_of_rotation_and_translation(joint, seed):
    values = some_values(joint, seed)
    R = as_floats(joint.rotation_matrix(FLOATS, values))
    turning = np.einsum("ji,jkv->ikv", R, slopes(lambda v: joint.rotation_matrix(FLOATS, v), values))
    assert np.allclose(turning, -np.swapaxes(turning, 0, 1), atol=1e-13)
    angular = np.array([turning[2, 1], turning[0, 2], turning[1, 0]])
    assert np.allclose(as_floats(joint.angular_motion_subspace(FLOATS, values)), angular, atol=1e-13)
    linear = slopes(lambda v: joint.translation(FLOATS, v), values)
    assert np.allclose(as_floats(joint.linear_motion_subspace(FLOATS, values)), linear, atol=1e-13)


def test_a_fixed_joint_has_no_motion():
    joint = EVERY["fixed"]
    assert isinstance(joint, Fixed)
    assert np.array_equal(as_floats(joint.rotation_matrix(FLOATS, [])), np.eye(3))
    assert np.array_equal(as_floats(joint.translation(FLOATS, [])), np.zeros(3))
    assert joint.angular_motion_subspace(FLOATS, []).shape == joint.linear_motion_subspace(FLOATS, []).shape == (3, 0)


@every_joint
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_measure_inverts_rotation_and_translation(joint, seed):
    values = some_values(joint, seed)
    R, p = as_floats(joint.rotation_matrix(FLOATS, values)), as_floats(joint.translation(FLOATS, values))
    assert np.allclose(joint.measure(R, p), values, atol=1e-12)


@pytest.mark.parametrize("name", AXES)
def test_rotation_about_an_axis_agrees_with_scipy(name):
    unit = np.array(AXES[name]) / np.linalg.norm(AXES[name])
    for kind in ("revolute", "screw", "cylindrical", "planar"):
        joint = EVERY[f"{kind} {name}"]
        values = [0.0] * len(joint.values)
        values[joint.motions.index("angle")] = 0.7
        assert np.allclose(
            as_floats(joint.rotation_matrix(FLOATS, values)), Rotation.from_rotvec(0.7 * unit).as_matrix(), atol=1e-15
        )
    along = as_floats(EVERY[f"prismatic {name}"].translation(FLOATS, [0.7]))
    assert np.allclose(along, 0.7 * unit, atol=1e-15)
    assert np.allclose(as_floats(EVERY[f"cylindrical {name}"].translation(FLOATS, [0.2, 0.7])), 0.7 * unit, atol=1e-15)


@pytest.mark.parametrize("name", ACROSS)
def test_a_universal_joint_turns_first_about_the_axis_on_the_parent(name):
    first, second = (np.array(axis) / np.linalg.norm(axis) for axis in ACROSS[name])
    R = Rotation.from_rotvec(0.4 * first) * Rotation.from_rotvec(-0.9 * second)
    assert np.allclose(
        as_floats(EVERY[f"universal {name}"].rotation_matrix(FLOATS, [0.4, -0.9])), R.as_matrix(), atol=1e-15
    )


def test_a_universal_joint_is_measured_in_every_quadrant():
    joint = EVERY["universal oblique"]
    assert isinstance(joint, Universal)
    for first in (-3.0, -1.6, 0.1, 1.7, 3.1):
        for second in (-2.9, -0.4, 2.2):
            found = joint.measure(as_floats(joint.rotation_matrix(FLOATS, [first, second])), np.zeros(3))
            assert np.allclose(found, [first, second], atol=1e-12)


def test_there_are_twelve_sequences():
    assert len(SEQUENCES) == len(set(SEQUENCES)) == 12
    assert all(a != b and b != c for a, b, c in SEQUENCES)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_euler_angles_are_those_of_scipy(sequence):
    angles = [0.3, 0.8, -1.1]
    R = Rotation.from_euler(sequence.upper(), angles).as_matrix()  # upper case: axes that are carried along
    joint = EVERY[f"spherical {sequence}"]
    assert np.allclose(as_floats(joint.rotation_matrix(FLOATS, angles)), R, atol=1e-15)
    assert np.allclose(joint.measure(R, np.zeros(3)), angles, atol=1e-14)


def test_quaternions_are_those_of_scipy():
    joint = EVERY["quaternion"]
    for x, y, z, w in turns(10, 4).as_quat():
        R = Rotation.from_quat([x, y, z, w])
        assert np.allclose(as_floats(joint.rotation_matrix(FLOATS, [w, x, y, z])), R.as_matrix(), atol=1e-14)
        assert np.allclose(as_floats(joint.rotation_matrix(FLOATS, [-w, -x, -y, -z])), R.as_matrix(), atol=1e-14)
        sign = 1 if w > 0 else -1
        assert np.allclose(joint.measure(R.as_matrix(), np.zeros(3)), sign * np.array([w, x, y, z]), atol=1e-14)


def test_rotation_does_not_depend_on_the_quaternion_norm():
    joint = EVERY["quaternion"]
    values = np.array(some_values(joint))
    once, twice = (as_floats(joint.rotation_matrix(FLOATS, (k * values).tolist())) for k in (1, 2.5))
    assert np.allclose(once, twice, atol=1e-15)
    # a change along q does not rotate, and 2 G(q) / |q|² has orthogonal rows
    angular = as_floats(joint.angular_motion_subspace(FLOATS, values.tolist()))
    assert np.allclose(angular @ values, 0, atol=1e-15)
    assert np.allclose(angular @ angular.T, 4 * np.eye(3), atol=1e-14)


# the rows that close a loop


def freedoms(joint: Joint) -> int:
    return len(joint.values) - (1 if joint.quaternion else 0)


@every_joint
def test_closure_rows_are_independent_and_complement_the_freedoms(joint):
    names = joint.row_names
    assert len(names) == len(set(names)) == 6 - freedoms(joint)
    values = some_values(joint)
    R, p = joint.rotation_matrix(FLOATS, values), joint.translation(FLOATS, values)
    rows = joint.closure(FLOATS, R, p)
    assert tuple(row.name for row in rows) == names
    wrenches = np.array([[*as_floats(row.force), *as_floats(row.moment)] for row in rows]).reshape(-1, 6)
    assert np.linalg.matrix_rank(wrenches, tol=1e-9) == len(rows)


@every_joint
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_rows_vanish_on_the_motions_of_the_joint_and_their_wrenches_do_no_work(joint, seed):
    values = some_values(joint, seed)
    R, p = as_floats(joint.rotation_matrix(FLOATS, values)), as_floats(joint.translation(FLOATS, values))
    v, w = (
        as_floats(joint.linear_motion_subspace(FLOATS, values)),
        R @ as_floats(joint.angular_motion_subspace(FLOATS, values)),
    )
    for row in joint.closure(FLOATS, exact(R), exact(p)):
        assert abs(row.phi) < 1e-14
        assert np.allclose(as_floats(row.force) @ v + as_floats(row.moment) @ w, 0, atol=1e-13)


@every_joint
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_wrenches_are_the_derivatives_of_the_rows_also_off_the_constraint(joint, seed):
    random = np.random.default_rng(seed)
    R, p = turns(1, seed)[0].as_matrix(), random.uniform(-1, 1, 3)
    velocity, spin = random.normal(size=3), random.normal(size=3)  # of M in F, in axes of F
    still = joint.closure(FLOATS, exact(R), exact(p))
    moved = joint.closure(FLOATS, exact(R + 1j * STEP * skewed(spin) @ R), exact(p + 1j * STEP * velocity))
    for row, stepped in zip(still, moved, strict=True):
        rate = np.imag(stepped.phi) / STEP
        assert as_floats(row.force) @ velocity + as_floats(row.moment) @ spin == pytest.approx(rate, abs=1e-12)
        assert np.isreal(row.phi)


@every_joint
def test_displaced_or_rotated_frame_violates_a_row(joint):
    # six small displacements from the assembled position: exactly those in the span of the motions satisfy every row
    values = some_values(joint, 5)
    R, p = as_floats(joint.rotation_matrix(FLOATS, values)), as_floats(joint.translation(FLOATS, values))
    S = np.concatenate(
        [
            as_floats(joint.linear_motion_subspace(FLOATS, values)),
            R @ as_floats(joint.angular_motion_subspace(FLOATS, values)),
        ]
    ).reshape(6, -1)
    rows = joint.closure(FLOATS, exact(R), exact(p))
    wrenches = np.array([[*as_floats(row.force), *as_floats(row.moment)] for row in rows]).reshape(-1, 6)
    allowed = np.linalg.matrix_rank(S, tol=1e-9) if S.size else 0
    assert allowed == freedoms(joint)
    assert allowed + (np.linalg.matrix_rank(wrenches, tol=1e-9) if len(rows) else 0) == 6


@pytest.mark.parametrize("name", ["screw z", "screw oblique", "screw left-handed"])
def test_a_screw_has_no_seam(name):
    joint: Any = EVERY[name]
    lead = joint.pitch / (2 * math.pi)
    axis = np.array(joint.axis, dtype=float)
    around = np.concatenate([[k * math.pi + e for e in (-1e-6, 0, 1e-6)] for k in range(-9, 10)])
    for angle in [*around, *np.linspace(-40, 40, 37)]:
        R, p = as_floats(joint.rotation_matrix(FLOATS, [angle])), as_floats(joint.translation(FLOATS, [angle]))
        assert np.allclose(p, lead * angle * axis, atol=1e-13)
        assert joint.measure(R, p) == pytest.approx((angle,), abs=1e-9)
        thread = joint.closure(FLOATS, exact(R), exact(p))[-1]
        assert abs(thread.phi) < 1e-14
        # the thread transmits a force along the axis and the moment of its lead, at every angle
        assert np.allclose(as_floats(thread.force), -axis, atol=1e-12)
        assert as_floats(thread.moment) @ axis == pytest.approx(lead, abs=1e-12)


def test_one_revolution_of_a_screw_advances_by_its_pitch():
    joint: Any = EVERY["screw oblique"]
    ahead = as_floats(joint.translation(FLOATS, [2 * math.pi])) - as_floats(joint.translation(FLOATS, [0.0]))
    assert np.linalg.norm(ahead) == pytest.approx(0.3)
    # advancing a full pitch without rotation satisfies the thread; a fraction does not, and half a pitch has the largest error
    axis = vector(list(joint.axis))
    phi = [joint.closure(FLOATS, exact(np.eye(3)), 0.3 * k * axis)[-1].phi for k in (0, 0.2, 0.4, 0.6, 0.8, 1)]
    lead = 0.3 / (2 * math.pi)
    expected = [-2 * lead * math.sin(math.pi * k) for k in (0, 0.2, 0.4, -0.4, -0.2, 0)]
    assert np.allclose(phi, expected, atol=1e-15)


@pytest.mark.parametrize("kind", ["fixed", "prismatic z"])
def test_no_other_rotation_passes_for_none(kind):
    # the three rows are 2 sin(θ/2) along the axis of the rotation
    others = [Rotation.from_rotvec(2 * math.pi / 3 * np.ones(3) / math.sqrt(3)), *turns(20, 2)]
    for R in others:
        rows = EVERY[kind].closure(FLOATS, exact(R.as_matrix()), exact(np.zeros(3)))
        found: dict[str, Any] = {row.name[-1]: row.phi for row in rows if row.name.startswith("turn")}
        axis = R.as_rotvec() / R.magnitude()
        assert np.allclose([found[e] for e in "xyz"], 2 * math.sin(R.magnitude() / 2) * axis, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_plane_completes_its_normal_to_a_right_handed_frame(seed):
    axes = [*np.eye(3), *-np.eye(3), *np.random.default_rng(seed).normal(size=(4, 3))]
    for axis in axes:
        n = axis / np.linalg.norm(axis)
        e1, e2 = (np.array(e, dtype=float) for e in plane(tuple(n)))
        frame = np.array([e1, e2, n])
        assert np.allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(frame) == pytest.approx(1)


@every_moving_joint
def test_batches_of_values_move_as_each_alone(joint):
    batch = np.random.default_rng(0).uniform(-1, 1, (len(joint.values), 4))
    for function in (
        joint.rotation_matrix,
        joint.translation,
        joint.angular_motion_subspace,
        joint.linear_motion_subspace,
    ):
        together = function(FLOATS, list(batch))
        for k in range(4):
            one = [np.broadcast_to(entry, 4)[k] for entry in together.ravel()]
            assert np.allclose(one, as_floats(function(FLOATS, batch[:, k].tolist())).ravel(), atol=1e-15)


# what cannot be made


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: m.revolute((0, 0, 0), "a"), "joint (revolute)"),
        (lambda m: m.prismatic((0, 0, 1), "dot(a)"), "joint (prismatic), displacement"),
        (
            lambda m: m.screw((0, 0, 1), "a", 0),
            "joint (screw), pitch: the value is 0. Expected a nonzero advance per revolution",
        ),
        (
            lambda m: m.universal(((1, 0, 0),), ("a", "b")),
            "joint (universal), axes: got 1. Expected two perpendicular axes",
        ),
        (
            lambda m: m.universal(((1, 0, 0), (1, 1, 0)), ("a", "b")),
            "joint (universal), axes: the cosine of the angle between them is 0.707107. Expected perpendicular axes.",
        ),
        (lambda m: m.universal(ACROSS["xy"], ("a",)), "joint (universal), angles: got ('a',). Expected 2 formulas."),
        (lambda m: m.universal(ACROSS["xy"], "ab"), "joint (universal), angles: got 'ab'. Expected 2 formulas."),
        (lambda m: m.planar((0, 0, 1), ("a", "b", "c"), "d"), "joint (planar), displacement: got ('a', 'b', 'c')."),
        (
            lambda m: m.body("b", joint=m.spherical()),
            "body 'b', joint 0 (spherical): got neither angles nor quaternion.",
        ),
        (
            lambda m: m.spherical(("a", "b", "c"), quaternion=("w", "x", "y", "z")),
            "joint (spherical): got both angles and quaternion.",
        ),
        (lambda m: m.spherical(("a", "b", "c"), "zzx"), "joint (spherical), sequence: there is no 'zzx'."),
        (lambda m: m.spherical(("a", "b", "c"), "ZYX"), "joint (spherical), sequence: there is no 'ZYX'."),
        (
            lambda m: m.spherical(quaternion=("w", "x", "y", "2*z")),
            "joint (spherical), quaternion: got w, x, y, 2*z. Expected four different coordinates (w, x, y, z).",
        ),
        (lambda m: m.spherical(quaternion=("w", "x", "y", "y")), "joint (spherical), quaternion: got w, x, y, y."),
        (lambda m: m.spherical(quaternion=(1, 0, 0, 0)), "joint (spherical), quaternion: got 1, 0, 0, 0."),
        (lambda m: m.spherical(quaternion=("w", "x", "y")), "joint (spherical), quaternion: got ('w', 'x', 'y')."),
        (lambda m: m.free(("a", "b"), ("c", "d", "e")), "joint (free), displacement: got ('a', 'b'). Expected 3"),
        (lambda m: m.fixed(position=("a", 0, 0)), "joint (fixed), position[0]: 'a' depends on a."),
        (
            lambda m: m.revolute((0, 0, 1), "a", where="joint 'hip'", rotation=(0, 0)),
            "joint 'hip' (revolute), rotation",
        ),
    ],
)
def test_invalid_joints_are_reported(make, message):
    with pytest.raises(InputError) as caught:
        make(scratch())
    assert message in str(caught.value)


def test_a_quaternion_needs_no_declared_order():
    joint = scratch().spherical(quaternion=("z", "w", "a", "b"))
    assert isinstance(joint, Quaternion)
    assert [str(part) for part in joint.parts] == ["z", "w", "a", "b"]
