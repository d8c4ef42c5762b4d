"""Closed mechanisms in Drake: its mass matrix, bias and Jacobians, and the weld of two halves (`closed_references`)."""

import numpy as np
from closed_mechanisms import Joint, Mechanism, Transform, quaternion_rotation, roll_pitch_yaw
from closed_references import halved, inverse
from pydrake.math import RigidTransform, RotationMatrix  # pyright: ignore[reportMissingImports]
from pydrake.multibody.plant import MultibodyPlant  # pyright: ignore[reportMissingImports]
from pydrake.multibody.tree import (  # pyright: ignore[reportMissingImports]
    BallRpyJoint,
    FixedOffsetFrame,
    JacobianWrtVariable,
    PrismaticJoint,
    RevoluteJoint,
    RotationalInertia,
    SpatialInertia,
)

HERE: Transform = (np.eye(3), np.zeros(3))


def _transform(transform: Transform):
    return RigidTransform(RotationMatrix(RotationMatrix.ProjectToRotationMatrix(np.array(transform[0]))), transform[1])


class DrakeReference:
    """Accelerations by the mass matrix, bias and Jacobians of Drake; rows of the weld may be redundant."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.halved, self.mechanism = halved(mechanism), mechanism
        self.plant = MultibodyPlant(0.0)
        self.plant.mutable_gravity_field().set_gravity_vector(mechanism.gravity)
        self.bodies, self.joints = {-1: self.plant.world_body()}, {}
        for i in self.halved.order:
            self._add(i)
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

    def _add(self, i: int) -> None:
        body = self.halved.tree.bodies[i]
        about = RotationalInertia(*np.diag(body.inertia), *body.inertia[[0, 0, 1], [1, 2, 2]])
        inertia = SpatialInertia.MakeFromCentralInertia(body.mass, body.center, about)
        self.bodies[i] = self.plant.AddRigidBody(f"body{i}", inertia)
        base = self._frame(f"base{i}", self.bodies[body.parent], body.joint.frame)
        last = i == len(self.halved.tree.bodies) - 1
        child = self._frame(f"child{i}", self.bodies[i], inverse(self.halved.behind) if last else HERE)
        self.joints[i] = self._joint(i, body.joint, base, child)

    def _frame(self, name: str, body, transform: Transform):
        return self.plant.AddFrame(FixedOffsetFrame(name, body.body_frame(), _transform(transform)))

    def _joint(self, i: int, joint: Joint, base, child) -> list:
        if joint.kind == "ball":
            return [self.plant.AddJoint(BallRpyJoint(f"joint{i}", base, child))]
        if joint.kind == "prismatic":
            return [self.plant.AddJoint(PrismaticJoint(f"joint{i}", base, child, joint.axes[0]))]
        if joint.kind == "revolute":
            return [self.plant.AddJoint(RevoluteJoint(f"joint{i}", base, child, joint.axes[0]))]
        cross = self.plant.AddRigidBody(f"cross{i}", SpatialInertia.Zero()).body_frame()
        first = self.plant.AddJoint(RevoluteJoint(f"first{i}", base, cross, joint.axes[0]))
        return [first, self.plant.AddJoint(RevoluteJoint(f"second{i}", cross, child, joint.axes[1]))]

    def _put(self, i: int, q: np.ndarray) -> None:
        for joint, value in zip(self.joints[i], q, strict=False):
            if isinstance(joint, BallRpyJoint):
                joint.set_angles(self.context, np.array(roll_pitch_yaw(quaternion_rotation(q))))
            elif isinstance(joint, PrismaticJoint):
                joint.set_translation(self.context, value)
            else:
                joint.set_angle(self.context, value)

    def _velocity_indices(self, i: int) -> list[int]:
        """Indices of the velocities of the joints of a body."""
        found = ((joint.velocity_start(), joint.num_velocities()) for joint in self.joints[i])
        return [k for start, count in found for k in range(start, start + count)]

    def _rates(self, i: int, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The velocities of a joint, or their rates: of a spherical joint in axes of the parent's half."""
        if self.halved.tree.bodies[i].joint.kind != "ball":
            return qd
        w, x, y, z = q
        return quaternion_rotation(q) @ (2 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]) @ qd)

    def accelerations(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """v̇ of the tree without the closing joint, in the order of Drake's velocities."""
        plant, context, last = self.plant, self.context, len(self.mechanism.bodies)
        v = np.zeros(plant.num_velocities())
        for i, own in enumerate(self.mechanism.slices):
            self._put(i, q[own])
            v[self._velocity_indices(i)] = self._rates(i, q[own], qd[own])
        self._put(last, self.halved.joint_values(q))
        free = self._velocity_indices(last)
        J = self._jacobian(last) - self._jacobian(self.halved.whole)
        v[free] = -np.linalg.lstsq(J[:, free], J @ v, rcond=None)[0]
        plant.SetVelocities(context, v)
        beta = self._bias(self.halved.whole) - self._bias(last)
        M, h = plant.CalcMassMatrix(context), plant.CalcGravityGeneralizedForces(context) - plant.CalcBiasTerm(context)
        free_motion, W = np.linalg.solve(M, h), np.linalg.solve(M, J.T)
        found = free_motion + W @ np.linalg.lstsq(J @ W, beta - J @ free_motion, rcond=1e-10)[0]
        return found[self._tree_velocity_indices()]

    def _tree_velocity_indices(self) -> list[int]:
        return [k for i in range(len(self.mechanism.bodies)) for k in self._velocity_indices(i)]

    def _jacobian(self, i: int) -> np.ndarray:
        world = self.plant.world_frame()
        return self.plant.CalcJacobianSpatialVelocity(
            self.context, JacobianWrtVariable.kV, self.bodies[i].body_frame(), np.zeros(3), world, world
        )

    def _bias(self, i: int) -> np.ndarray:
        world, frame = self.plant.world_frame(), self.bodies[i].body_frame()
        found = self.plant.CalcBiasSpatialAcceleration(
            self.context, JacobianWrtVariable.kV, frame, np.zeros(3), world, world
        )
        return np.concatenate([found.rotational(), found.translational()])

    def mapped(self, q: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Our q̈ in the same order."""
        return np.concatenate([self._rates(i, q[own], qdd[own]) for i, own in enumerate(self.mechanism.slices)])
