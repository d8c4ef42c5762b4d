"""Robots that Pinocchio knows: its mass matrices, inverse and forward dynamics against ours, at random states.

The models are Pinocchio's own, read from URDF, built by its sample functions or grown at random, and rebuilt here joint by joint;
and files that both read by themselves.
Velocities differ in two places: a free or planar joint has the linear velocity in axes of the moved body there, ours are the
rates of the displacement in axes of the parent. Angular velocities stand in axes of the moved body in both.
"""

from pathlib import Path

import numpy as np
import pytest

from dalembert.analysis.dynamics import forward_dynamics, inverse_dynamics, mass_matrix, speed_names
from dalembert.importers.urdf import read_urdf
from dalembert.model import Model
from dalembert.recursive import plan_of
from dalembert.recursive.rows import rows_of

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install pin example-robot-data")

STATES = 20
TOLERANCE = 1e-9
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "talos-full": "talos_data/robots/talos_full_v2.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "romeo": "romeo_description/urdf/romeo_small.urdf",
    "simple-humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
}
# mimic joints are constraints of ours, while Pinocchio lets them move freely
WITHOUT_MIMIC = [name for name in ROBOTS if name not in ("panda", "talos-full", "baxter", "pr2")]
AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
PARTS = ("qw", "qx", "qy", "qz")


def robots_folder():
    """Where the package example-robot-data put its files; None without it."""
    prefix = next((parent for parent in Path(pin.__file__).parents if parent.name == "cmeel.prefix"), None)
    folder = None if prefix is None else prefix / "share" / "example-robot-data" / "robots"
    return folder if folder is not None and folder.is_dir() else None


def kind_of(joint):
    return joint.shortname().removeprefix("JointModel")


def coordinates(model, name, *endings):
    """New coordinates of one joint."""
    names = [f"{name}_{ending}" for ending in endings]
    for coordinate in names:
        model.coordinate(coordinate, 1.0 if coordinate.endswith("_qw") else 0.0)
    return names


def rebuilt_joint(model, joint, name, place):
    """Our joint, or sequence of joints, for one of Pinocchio's."""
    kind = kind_of(joint)
    if kind == "FreeFlyer":
        x, y, z, *attitude = coordinates(model, name, "x", "y", "z", *PARTS)
        return model.free((x, y, z), quaternion=attitude, **place)
    if kind == "Spherical":
        return model.spherical(quaternion=coordinates(model, name, *PARTS), **place)
    if kind == "SphericalZYX":
        return model.spherical(coordinates(model, name, "a", "b", "c"), "zyx", **place)
    if kind == "Planar":
        x, y, angle = coordinates(model, name, "x", "y", "angle")
        return model.planar((0, 0, 1), (x, y), angle, **place)
    if kind == "Translation":
        names = coordinates(model, name, "x", "y", "z")
        slides = [model.prismatic(axis, along) for axis, along in zip(AXES.values(), names, strict=True)]
        return [model.fixed(**place), *slides]
    if kind == "Universal":
        own = joint.extract()
        return model.universal((own.axis1, own.axis2), coordinates(model, name, "a", "b"), **place)
    (q,) = coordinates(model, name, "q")
    own = joint.extract()
    axis = own.axis if kind.endswith("Unaligned") else AXES[kind[-1]]
    if kind.startswith("H"):
        return model.screw(axis, q, 2 * np.pi * own.pitch, **place)
    return (model.prismatic if kind.startswith("P") else model.revolute)(axis, q, **place)


def rebuilt_inertia(inertia):
    """Without the rounding of Pinocchio's way to its own store, which may leave −1e-20 where there was 0."""
    symmetric = (inertia + inertia.T) / 2
    return (symmetric if np.abs(symmetric).max() > 1e-15 else np.zeros((3, 3))).tolist()


def make_possible(theirs):
    """Raise the inertias of Romeo's file that no body can have, one moment being larger than the sum of the others."""
    for index in range(1, theirs.njoints):
        body = theirs.inertias[index]
        moments = np.linalg.eigvalsh(body.inertia)
        lack = max(0.0, moments[2] - moments[0] - moments[1])
        theirs.inertias[index] = pin.Inertia(body.mass, body.lever, body.inertia + 1.01 * lack * np.eye(3))


def rebuilt(theirs):
    """Pinocchio's model as ours; its armature becomes rotors."""
    model = Model("robot", gravity=theirs.gravity.linear.tolist())
    names = ["world", *(f"link{index}" for index in range(1, theirs.njoints))]
    for index in range(1, theirs.njoints):
        at, body, joint = theirs.jointPlacements[index], theirs.inertias[index], theirs.joints[index]
        place = {"position": at.translation.tolist(), "rotation": pin.rpy.matrixToRpy(at.rotation).tolist()}
        model.body(
            names[index],
            parent=names[theirs.parents[index]],
            joint=rebuilt_joint(model, joint, f"joint{index}", place),
            mass=body.mass,
            center=body.lever.tolist(),
            inertia=rebuilt_inertia(body.inertia),
        )
        for motion, armature in enumerate(theirs.armature[joint.idx_v : joint.idx_v + joint.nv]):
            if armature:
                model.rotor(names[index], float(armature), motion=motion)
    return model


def placed(joint, v, rng):
    """A random place of one joint: Pinocchio's q, ours, and T and d of s = T v, ṡ = T v̇ + d."""
    kind, T, drift = kind_of(joint), np.eye(joint.nv), np.zeros(joint.nv)
    if kind in ("FreeFlyer", "Spherical"):
        x, quaternion = rng.normal(size=3), rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        x = x if kind == "FreeFlyer" else x[:0]
        if kind == "FreeFlyer":
            T[:3, :3] = R = pin.Quaternion(quaternion).matrix()
            drift[:3] = R @ np.cross(v[3:], v[:3])
        return [*x, *quaternion], [*x, quaternion[3], *quaternion[:3]], T, drift
    values = rng.uniform(-1.4, 1.4, joint.nv)
    if kind == "Planar":
        x, y, angle = values
        c, s = np.cos(angle), np.sin(angle)
        T[:2, :2] = R = np.array([[c, -s], [s, c]])
        drift[:2] = R @ (v[2] * np.array([-v[1], v[0]]))
        return [x, y, c, s], values, T, drift
    return placed_at(joint, values[0]) if joint.nv == 1 else values, values, T, drift


def random_states(theirs, seed):
    """State by state: Pinocchio's q and ours, v, v̇, and T and d of all joints."""
    rng = np.random.default_rng(seed)
    for _ in range(STATES):
        v, a = rng.normal(size=(2, theirs.nv))
        q, ours, T, drift = [], [], np.zeros((theirs.nv, theirs.nv)), np.zeros(theirs.nv)
        for joint in list(theirs.joints)[1:]:
            own = slice(joint.idx_v, joint.idx_v + joint.nv)
            first, second, T[own, own], drift[own] = placed(joint, v[own], rng)
            q, ours = [*q, *first], [*ours, *second]
        yield np.array(q), np.array(ours), v, a, T, drift


def close(ours, theirs, tolerance=TOLERANCE):
    assert np.abs(ours - theirs).max() <= tolerance * np.abs(theirs).max()


def condition(M):
    """The condition of a mass matrix whose diagonal is scaled to one: rounding grows by it in forward dynamics."""
    scale = 1 / np.sqrt(np.diag(M))
    return np.linalg.cond(M * np.outer(scale, scale))


def compare(theirs, model, seed, places=None, columns=None):
    """Mass matrix, inverse and forward dynamics at all states; ours in one batch.

    `places` and `columns` tell where Pinocchio's coordinates and velocities stand among ours, if not in the same order.
    """
    data, states = theirs.createData(), list(random_states(theirs, seed))
    n = theirs.nv
    places = np.arange(len(model.coordinate_names)) if places is None else places
    columns = np.arange(n) if columns is None else columns

    def batch(vectors, where):
        out = np.zeros((len(where), STATES))
        out[where] = np.stack(list(vectors), axis=1)
        return out

    q = batch((ours for _, ours, _, _, _, _ in states), places)
    s = batch((T @ v for _, _, v, _, T, _ in states), columns)
    sd = batch((T @ a + drift for _, _, _, a, T, drift in states), columns)
    # forces of the usual size, on v; those on s follow from Tᵀ f = pushed
    rng = np.random.default_rng(seed + 1)
    usual = np.mean([np.abs(pin.rnea(theirs, data, at, v, a)) for at, _, v, a, _, _ in states], axis=0)
    pushed = [usual * rng.normal(size=n) for _ in states]
    push = batch((np.linalg.solve(T.T, f) for (_, _, _, _, T, _), f in zip(states, pushed, strict=True)), columns)
    M = mass_matrix(model, q)[np.ix_(columns, columns)]
    tau, moved = inverse_dynamics(model, q, s, sd)[columns], forward_dynamics(model, q, s, push)[columns]
    for k, (at, _, v, a, T, drift) in enumerate(states):
        crba = np.triu(pin.crba(theirs, data, at))
        crba = crba + np.triu(crba, 1).T
        close(T.T @ M[:, :, k] @ T, crba)
        close(T.T @ tau[:, k], pin.rnea(theirs, data, at, v, a))
        # 1e-9 but for iCub on a floating base, whose mass matrix has a condition of 4e7
        allowed = max(TOLERANCE, np.finfo(float).eps * condition(crba))
        close(np.linalg.solve(T, moved[:, k] - drift), pin.aba(theirs, data, at, v, pushed[k]), allowed)


def read_by_pinocchio(name, base):
    folder = robots_folder()
    if folder is None:
        pytest.skip("the robots are not installed: pip install example-robot-data")
    path = folder / ROBOTS[name]
    return path, pin.buildModelFromUrdf(str(path), *(() if base == "fixed" else (pin.JointModelFreeFlyer(),)))


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_of_example_robot_data(name, base):
    _, theirs = read_by_pinocchio(name, base)
    if name == "romeo":
        make_possible(theirs)
    compare(theirs, rebuilt(theirs), seed=len(name))


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", WITHOUT_MIMIC)
def test_urdf_files_that_both_read(name, base):
    path, theirs = read_by_pinocchio(name, base)
    model = read_urdf(path, floating=base == "floating")
    places, columns = [], []
    for joint, label in zip(list(theirs.joints)[1:], list(theirs.names)[1:], strict=True):
        free = kind_of(joint) == "FreeFlyer"
        places += [f"base_{part}" for part in ("x", "y", "z", *PARTS)] if free else [label]
        spin = [speed for speed in speed_names(model) if speed.startswith("omega")]
        columns += ["dot(base_x)", "dot(base_y)", "dot(base_z)", *spin] if free else [f"dot({label})"]
    where = [model.coordinate_names.index(place) for place in places]
    compare(theirs, model, len(name), where, [speed_names(model).index(column) for column in columns])


@pytest.mark.parametrize("name", ["panda", "baxter", "pr2"])
def test_mimic_joints_are_held_as_pinocchio_holds_them(name):
    """Constraints of ours: the same torques at the leading joints, and the same accelerations."""
    path, _ = read_by_pinocchio(name, "fixed")
    theirs, model = pin.buildModelFromUrdf(str(path), mimic=True), read_urdf(path)
    data, names = theirs.createData(), model.coordinate_names
    joints = [joint for joint in list(theirs.joints)[1:] if joint.nv]
    leading = [theirs.names[joint.id] for joint in joints]
    lead = [names.index(label) for label in leading]
    follow = [i for i in range(len(names)) if i not in lead]
    n = len(names)
    still = np.zeros((n, 1))
    held = rows_of(plan_of(model), still, still, still, np.zeros(1))  # linear: φ = A q + φ(0)
    A, offset = held.A[:, :, 0], held.phi[:, 0]

    def completed(x, constant):
        out = np.zeros(n)
        out[lead] = x
        out[follow] = -np.linalg.solve(A[:, follow], A[:, lead] @ x + constant)
        return out

    rng = np.random.default_rng(len(name))
    for _ in range(STATES):
        x, v, a = rng.uniform(-1, 1, (3, theirs.nv))
        q = np.concatenate([placed_at(joint, x[joint.idx_v]) for joint in joints])
        motion = completed(x, offset), completed(v, 0 * offset), completed(a, 0 * offset)
        tau = inverse_dynamics(model, *motion, actuated=leading)
        close(tau[lead], pin.rnea(theirs, data, q, v, a))
        assert (tau[follow] == 0).all()
        push = np.zeros(n)
        push[lead] = np.abs(tau[lead]) * rng.normal(size=theirs.nv)
        crba = np.triu(pin.crba(theirs, data, q))
        bent = np.linalg.solve(crba + np.triu(crba, 1).T, push[lead] - pin.nle(theirs, data, q, v))
        close(forward_dynamics(model, *motion[:2], push)[lead], bent)


def placed_at(joint, x):
    """Pinocchio's coordinates of a joint with one freedom."""
    return [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]


@pytest.mark.parametrize("name", ["Manipulator", "Humanoid"])
def test_models_that_pinocchio_builds_itself(name):
    theirs = getattr(pin, f"buildSampleModel{name}")()
    compare(theirs, rebuilt(theirs), seed=3)


def physical_inertia(rng):
    """A random inertia that a body can have."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    second = turn @ np.diag(rng.uniform(0.05, 0.4, 3)) @ turn.T  # ∫ r rᵀ dm
    return pin.Inertia(rng.uniform(0.5, 3.0), rng.normal(size=3) * 0.3, np.trace(second) * np.eye(3) - second)


def random_joint(rng):
    first, second = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    kinds = (
        pin.JointModelRX(),
        pin.JointModelRevoluteUnaligned(*first),
        pin.JointModelRUBY(),
        pin.JointModelPZ(),
        pin.JointModelPrismaticUnaligned(*first),
        pin.JointModelHelicalUnaligned(*first, 0.3),
        pin.JointModelHZ(-0.2),
        pin.JointModelUniversal(first, second),
        pin.JointModelPlanar(),
        pin.JointModelTranslation(),
        pin.JointModelSphericalZYX(),
        pin.JointModelSpherical(),
        pin.JointModelFreeFlyer(),
    )
    return kinds[int(rng.integers(len(kinds)))]


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_of_joints_of_every_kind(seed):
    rng = np.random.default_rng(seed)
    theirs = pin.Model()
    theirs.gravity.linear = rng.normal(size=3) * 5
    branch = [0]
    for index in range(8):
        placement = pin.SE3(pin.Quaternion(rng.normal(size=4)).normalized().matrix(), rng.normal(size=3))
        branch = branch[: int(rng.integers(1, len(branch) + 1))]  # Pinocchio wants one branch after the other
        joint = theirs.addJoint(branch[-1], random_joint(rng), placement, f"joint{index}")
        branch.append(joint)
        theirs.appendBodyToJoint(joint, physical_inertia(rng), pin.SE3.Identity())
    compare(theirs, rebuilt(theirs), seed)


def test_rotors_are_pinocchios_armature():
    theirs = pin.buildSampleModelManipulator()
    theirs.armature = np.random.default_rng(5).uniform(0.1, 2.0, theirs.nv)
    compare(theirs, rebuilt(theirs), seed=4)
