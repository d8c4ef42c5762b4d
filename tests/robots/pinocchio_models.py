"""Models of Pinocchio and equivalent dalembert models, rebuilt joint by joint, at the same random states.

Velocities differ in two cases: a free or planar joint has the linear velocity in axes of the moved body there, ours are the
rates of the displacement in axes of the parent. Angular velocities are in axes of the moved body in both.
"""

import numpy as np
import pytest

from dalembert.model.model import Model

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: make robots installs it")

AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
PARTS = ("qw", "qx", "qy", "qz")


def kind_of(joint):
    return joint.shortname().removeprefix("JointModel")


def coordinates(model, name, *endings):
    """New coordinates of one joint."""
    names = [f"{name}_{ending}" for ending in endings]
    for coordinate in names:
        model.coordinate(coordinate, 1.0 if coordinate.endswith("_qw") else 0.0)
    return names


def rebuilt_joint(model, joint, name, placement):
    """Our joint, or sequence of joints, for one of Pinocchio's."""
    kind = kind_of(joint)
    if kind == "FreeFlyer":
        x, y, z, *attitude = coordinates(model, name, "x", "y", "z", *PARTS)
        return model.free((x, y, z), quaternion=attitude, **placement)
    if kind == "Spherical":
        return model.spherical(quaternion=coordinates(model, name, *PARTS), **placement)
    if kind == "SphericalZYX":
        return model.spherical(coordinates(model, name, "a", "b", "c"), "zyx", **placement)
    if kind == "Planar":
        x, y, angle = coordinates(model, name, "x", "y", "angle")
        return model.planar((0, 0, 1), (x, y), angle, **placement)
    if kind == "Translation":
        names = coordinates(model, name, "x", "y", "z")
        slides = [model.prismatic(axis, along) for axis, along in zip(AXES.values(), names, strict=True)]
        return [model.fixed(**placement), *slides]
    own = joint.extract()
    if kind == "Composite" and joint.nv == 2:  # about an axis and along it
        angle, along = coordinates(model, name, "angle", "along")
        return model.cylindrical(AXES[kind_of(own.joints[0])[-1]], angle, along, **placement)
    if kind == "Composite":
        x, y, z, *angles = coordinates(model, name, *"xyzabc")
        return model.free((x, y, z), angles, "zyx", **placement)
    if kind == "Universal":
        return model.universal((own.axis1, own.axis2), coordinates(model, name, "a", "b"), **placement)
    (q,) = coordinates(model, name, "q")
    axis = axis_of(joint) if kind.endswith("Unaligned") else AXES[kind[-1]]
    if kind.startswith("H"):
        return model.screw(axis, q, 2 * np.pi * own.pitch, **placement)
    return (model.prismatic if kind.startswith("P") else model.revolute)(axis, q, **placement)


def axis_of(joint):
    """The axis of a joint about or along any direction; that of a continuous one is only known from its motion."""
    own = joint.extract()
    if hasattr(own, "axis"):
        return own.axis
    data = joint.createData()
    joint.calc(data, np.array([1.0, 0.0]))
    return np.ravel(data.S)[3:]


def rebuilt_inertia(inertia):
    """Remove rounding of Pinocchio's storage, which may give −1e-20 instead of 0."""
    symmetric = (inertia + inertia.T) / 2
    return (symmetric if np.abs(symmetric).max() > 1e-15 else np.zeros((3, 3))).tolist()


def make_possible(theirs):
    """Increase the physically inconsistent inertias of Romeo's file, with one moment larger than the sum of the others."""
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
        placement = {"position": at.translation.tolist(), "rotation": pin.rpy.matrixToRpy(at.rotation).tolist()}
        model.body(
            names[index],
            parent=names[theirs.parents[index]],
            joint=rebuilt_joint(model, joint, f"joint{index}", placement),
            mass=body.mass,
            center=body.lever.tolist(),
            inertia=rebuilt_inertia(body.inertia),
        )
        for motion, armature in enumerate(theirs.armature[joint.idx_v : joint.idx_v + joint.nv]):
            if armature:
                model.rotor(names[index], float(armature), motion=motion)
    return model


def random_configuration(joint, v, rng):
    """A random configuration of one joint: Pinocchio's q, ours, and T and d of s = T v, ṡ = T v̇ + d."""
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
    return configuration_at(joint, values[0]) if joint.nv == 1 else values, values, T, drift


def random_states(theirs, seed, count):
    """State by state: Pinocchio's q and ours, v, v̇, and T and d of all joints."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        v, a = rng.normal(size=(2, theirs.nv))
        q, ours, T, drift = [], [], np.zeros((theirs.nv, theirs.nv)), np.zeros(theirs.nv)
        for joint in list(theirs.joints)[1:]:
            own = slice(joint.idx_v, joint.idx_v + joint.nv)
            first, second, T[own, own], drift[own] = random_configuration(joint, v[own], rng)
            q, ours = [*q, *first], [*ours, *second]
        yield np.array(q), np.array(ours), v, a, T, drift


def configuration_at(joint, x):
    """Pinocchio's coordinates of a joint with one degree of freedom."""
    return [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]


def condition(M):
    """The condition of a mass matrix whose diagonal is scaled to one: rounding grows by it in forward dynamics."""
    scale = 1 / np.sqrt(np.diag(M))
    return np.linalg.cond(M * np.outer(scale, scale))


def physical_inertia(rng):
    """A random physically consistent inertia."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    second = turn @ np.diag(rng.uniform(0.05, 0.4, 3)) @ turn.T  # ∫ r rᵀ dm
    return pin.Inertia(rng.uniform(0.5, 3.0), rng.normal(size=3) * 0.3, np.trace(second) * np.eye(3) - second)


def continuous(axis):
    """A continuous joint about any axis, which Pinocchio creates from URDF only."""
    turns = f'<axis xyz="{" ".join(map(repr, axis.tolist()))}"/>'
    joint = f'<joint name="j" type="continuous"><parent link="a"/><child link="b"/>{turns}</joint>'
    return pin.buildModelFromXML(f'<robot name="r"><link name="a"/>{joint}<link name="b"/></robot>').joints[1]


def composite(*parts):
    joint = pin.JointModelComposite()
    for part in parts:
        joint.addJoint(part)
    return joint


def random_joint(rng):
    """A joint of any type that both support."""
    first, second = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    kinds = (
        lambda: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)[rng.integers(3)](),
        lambda: pin.JointModelRevoluteUnaligned(*first),
        lambda: (pin.JointModelRUBX, pin.JointModelRUBY, pin.JointModelRUBZ)[rng.integers(3)](),
        lambda: continuous(first),
        lambda: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)[rng.integers(3)](),
        lambda: pin.JointModelPrismaticUnaligned(*first),
        lambda: (pin.JointModelHX, pin.JointModelHY, pin.JointModelHZ)[rng.integers(3)](-0.2),
        lambda: pin.JointModelHelicalUnaligned(*first, 0.3),
        lambda: composite(pin.JointModelRY(), pin.JointModelPY()),
        lambda: pin.JointModelUniversal(first, second),
        pin.JointModelPlanar,
        pin.JointModelTranslation,
        pin.JointModelSphericalZYX,
        pin.JointModelSpherical,
        pin.JointModelFreeFlyer,
        lambda: composite(pin.JointModelTranslation(), pin.JointModelSphericalZYX()),
    )
    return kinds[int(rng.integers(len(kinds)))]()
