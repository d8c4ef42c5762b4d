"""Closed mechanisms of `closed_mechanisms` in Pinocchio and in Drake.

Both are designed for trees. So the body at the closing joint is split into two halves of half its inertia: one is on its tree
joint, the other on the closing joint, and a weld of six rows joins them. The mechanism is the same for every joint type.
"""

import importlib.util
from dataclasses import dataclass, replace

import numpy as np
import pytest
from closed_mechanisms import Body, Joint, Mechanism, Transform, body_transforms, compose, relative_transform

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: make robots installs it")


def inverse(transform: Transform) -> Transform:
    return transform[0].T, -transform[0].T @ transform[1]


@dataclass(frozen=True)
class Halved:
    """A tree with one body more, the half on the closing joint; `order` gives its bodies from branch to branch."""

    tree: Mechanism  # all bodies, the half at the end
    order: tuple[int, ...]
    whole: int  # the body that is split
    behind: Transform  # the frame of the half relative to the closing joint

    def joint_values(self, q: np.ndarray) -> np.ndarray:
        """The coordinates of the closing joint at which the halves coincide."""
        at = body_transforms(self.tree, np.concatenate([q, _still(self.tree.bodies[-1].joint)]))
        half = self.tree.bodies[-1]
        base = compose(at[half.parent] if half.parent >= 0 else (np.eye(3), np.zeros(3)), half.joint.frame)
        return measured(half.joint, relative_transform(base, compose(at[self.whole], inverse(self.behind))))


def _still(joint: Joint) -> np.ndarray:
    return np.array([1.0, 0, 0, 0]) if joint.kind == "ball" else np.zeros(joint.n)


def measured(joint: Joint, transform: Transform) -> np.ndarray:
    """The coordinates of a joint from the pose of its child."""
    R, p = transform
    if joint.kind == "prismatic":
        return np.array([joint.axes[0] @ p])
    if joint.kind == "ball":
        x, y, z, w = pin.Quaternion(R).coeffs()
        return np.array([w, x, y, z])
    a = joint.axes[0]
    if joint.kind == "revolute":
        return np.array(
            [np.arctan2(a @ np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]), np.trace(R) - 1)]
        )
    b = joint.axes[1]
    c = np.cross(a, b)
    return np.array([np.arctan2(c @ R @ b, b @ R @ b), np.arctan2(c @ R.T @ a, a @ R.T @ a)])


def halved(mechanism: Mechanism) -> Halved:
    """The mechanism as a tree with a body in two halves."""
    cut = mechanism.closing
    if cut.second >= 0:
        whole, parent, base, behind, axes = cut.second, cut.first, cut.frame, inverse(cut.other), cut.axes
    else:  # the first body is attached to the world by the reversed joint
        whole, parent, base, behind, axes = cut.first, -1, cut.other, inverse(cut.frame), cut.axes[::-1]
    split = mechanism.bodies[whole]
    part = replace(split, mass=split.mass / 2, inertia=split.inertia / 2)
    bodies = [part if i == whole else body for i, body in enumerate(mechanism.bodies)]
    half = Body(parent, Joint(cut.kind, base, axes), part.mass, part.center, part.inertia)
    first = [i for i in range(len(bodies)) if i <= cut.first]  # one branch after the other
    rest = [i for i in range(len(bodies)) if i > cut.first]
    order = (*first, len(bodies), *rest) if parent >= 0 else (*first, *rest, len(bodies))
    return Halved(replace(mechanism, bodies=(*bodies, half)), order, whole, behind)


# Pinocchio


def se3(transform: Transform):
    return pin.SE3(np.array(transform[0]), np.array(transform[1]))


def pin_joint(joint: Joint):
    if joint.kind == "ball":
        return pin.JointModelSpherical()
    if joint.kind == "universal":
        return pin.JointModelUniversal(*joint.axes)
    make = pin.JointModelRevoluteUnaligned if joint.kind == "revolute" else pin.JointModelPrismaticUnaligned
    return make(joint.axes[0])


class Tree:
    """A tree in Pinocchio, and conversions between its coordinates and ours."""

    def __init__(
        self, mechanism: Mechanism, order: tuple[int, ...] | None = None, behind: Transform | None = None
    ) -> None:
        self.model, self.mechanism = pin.Model(), mechanism
        self.model.gravity.linear = mechanism.gravity
        self.order = order or tuple(range(len(mechanism.bodies)))
        self.joints: dict[int, int] = {-1: 0}
        for i in self.order:
            body, last = mechanism.bodies[i], behind is not None and i == len(mechanism.bodies) - 1
            own = behind if last and behind is not None else (np.eye(3), np.zeros(3))
            self.joints[i] = self.model.addJoint(
                self.joints[body.parent], pin_joint(body.joint), se3(body.joint.frame), f"joint{i}"
            )
            inertia = pin.Inertia(body.mass, body.center, body.inertia)
            self.model.appendBodyToJoint(self.joints[i], inertia, se3(own))
        self.data = self.model.createData()

    def q(self, ours: np.ndarray) -> np.ndarray:
        """Pinocchio's coordinates: the scalar of a quaternion is last."""
        out = []
        for i in self.order:
            own = ours[self.mechanism.slices[i]]
            out += [*own[1:], own[0]] if self.mechanism.bodies[i].joint.kind == "ball" else list(own)
        return np.array(out)

    def velocities(self, ours: np.ndarray) -> np.ndarray:
        """N of q̇ = N v, with our coordinates q and Pinocchio's velocities v."""
        N = np.zeros((len(ours), self.model.nv))
        at = 0
        for i in self.order:
            own, joint = self.mechanism.slices[i], self.mechanism.bodies[i].joint
            if joint.kind == "ball":
                w, x, y, z = ours[own]
                N[own, at : at + 3] = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2
                at += 3
            else:
                N[own, at : at + joint.n] = np.eye(joint.n)
                at += joint.n
        return N


class PinocchioReference:
    """The accelerations of a closed mechanism by Pinocchio's constrained dynamics, and its reactions by inverse dynamics."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.halved = halved(mechanism)
        self.open = Tree(mechanism)
        self.closed = Tree(self.halved.tree, self.halved.order, self.halved.behind)
        first, second = self.closed.joints[self.halved.whole], self.closed.joints[len(mechanism.bodies)]
        self.weld = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_6D,
            self.closed.model,
            first,
            pin.SE3.Identity(),
            second,
            se3(self.halved.behind),
            pin.LOCAL,
        )

    def gap(self, q: np.ndarray) -> float:
        """The distance between the halves; not zero where the axes of a closing pin are antiparallel, as its rows permit."""
        whole = np.concatenate([q, self.halved.joint_values(q)])
        at = body_transforms(self.halved.tree, whole)
        return max(
            float(np.abs(a - b).max())
            for a, b in zip(at[self.halved.whole], compose(at[-1], self.halved.behind), strict=True)
        )

    def accelerations(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, float]:
        """N⁺q̈ of the tree's velocities, and the relative velocity of the halves."""
        tree, n = self.closed, len(q)
        whole = np.concatenate([q, self.halved.joint_values(q)])
        at, N = tree.q(whole), tree.velocities(whole)
        constraints, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        constraints.append(self.weld)
        data.append(self.weld.createData())
        pin.forwardKinematics(tree.model, tree.data, at)
        J = self._rows(at)
        own = np.linalg.pinv(N)[:, :n] @ qd  # the velocities of the tree, zero on the closing joint
        free = np.flatnonzero(np.abs(N[n:]).max(axis=0) > 0)
        v = own.copy()
        v[free] = -np.linalg.lstsq(J[:, free], J @ own, rcond=None)[0]
        newer = int(pin.__version__.split(".")[0]) >= 4
        pin.initConstraintDynamics(tree.model, tree.data, constraints, *((data,) if newer else ()))
        settings = pin.ProximalSettings(1e-14, 1e-12, 1e-9, 100)
        a = pin.constraintDynamics(tree.model, tree.data, at, v, np.zeros(tree.model.nv), constraints, data, settings)
        kept = [k for k in range(tree.model.nv) if k not in set(free.tolist())]
        return a[kept], float(np.abs(J @ v).max())

    def _rows(self, at: np.ndarray) -> np.ndarray:
        tree = self.closed
        pin.computeJointJacobians(tree.model, tree.data, at)
        whole = pin.getJointJacobian(tree.model, tree.data, tree.joints[self.halved.whole], pin.LOCAL)
        last = pin.getJointJacobian(tree.model, tree.data, tree.joints[len(tree.mechanism.bodies) - 1], pin.LOCAL)
        return whole - se3(self.halved.behind).toActionMatrixInverse() @ last

    def mapped(self, q: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Our q̈ as rates of Pinocchio's velocities."""
        return np.linalg.pinv(self.open.velocities(q)) @ qdd

    def reactions(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Generalized forces on the open tree for accelerations q̈, along its velocities."""
        tree, back = self.open, np.linalg.pinv(self.open.velocities(q))
        return pin.rnea(tree.model, tree.data, tree.q(q), back @ qd, back @ qdd).copy()


def drake_reference(mechanism: Mechanism):
    """The same by Drake if it is installed, else None."""
    if importlib.util.find_spec("pydrake") is None:
        return None
    from drake_reference import DrakeReference

    return DrakeReference(mechanism)
