"""The loads of a model as generalized forces on the speeds, over any algebra. Gravity is excluded: the recursions include it.

Torques, springs and friction inside joints need only the motions of their joints; other loads need the poses of the bodies,
which one pass over the model computes.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.mechanics.energies import NON_IDEAL, applied_forces, non_ideal_forces, working_forces
from dalembert.mechanics.motion import Motion, move
from dalembert.model.description import Elements
from dalembert.model.joints.base import JointMotion
from dalembert.recursive.joint_speeds import to_rates, to_speed_forces
from dalembert.recursive.link_states import Moving
from dalembert.recursive.tree import Tree
from dalembert.symbolic.algebra_base import Array, Parameters, Scalar, Scalars, vector, zeros


def with_active_loads(model: Elements, *, friction: bool) -> Elements:
    """The model with its active loads: all of them, or all except joint friction."""
    return model.replaced(loads=tuple(load for load in model.loads if friction or not load.is_friction))


def load_forces(model: Elements, moving: Moving, t: Scalar, q: Scalars, s: Scalars, parameters: Parameters) -> Array:
    """Generalized forces along every speed, of the loads of `model` and of its non-ideal constraint forces."""
    tree, algebra = moving.tree, moving.algebra
    if not model.loads and not model.non_ideal_forces:
        return zeros(tree.n_speeds)
    motion = _motion(model, moving, t, q, s, parameters)
    gravities = len(applied_forces(replace(motion, model=motion.model.replaced(loads=()))))  # gravity forces come first
    total = zeros(tree.n)
    for load in applied_forces(motion)[gravities:]:
        total = total + load.J.T @ load.force
    extra = non_ideal_forces(motion)
    return to_speed_forces(tree, algebra, q, list(total if extra is None else total + extra))


def load_powers(model: Elements, moving: Moving, t: Scalar, q: Scalars, s: Scalars, parameters: Parameters) -> Array:
    """The power of each of `working_loads`."""
    motion = _motion(model, moving, t, q, s, parameters)
    return vector([each.Q @ motion.qd + each.drift for each in working_forces(motion, potentials=True)])


def working_loads(model: Elements) -> tuple[str, ...]:
    """Elements that do work on a tree besides gravity: the loads, including springs, and C."""
    return (*(load.name for load in model.loads), *([NON_IDEAL] if model.non_ideal_forces else []))


def _motion(model: Elements, moving: Moving, t: Scalar, q: Scalars, s: Scalars, parameters: Parameters) -> Motion:
    """The motion of the model, as far as its loads need it."""
    qd = to_rates(moving.tree, moving.algebra, q, s)
    if all(load.in_joints for load in model.loads):
        return Motion(model, moving.algebra, t, vector(list(q)), qd, moving.lower, (), _joints(model, moving))
    return move(model, moving.algebra, t, vector(list(q)), qd, dict(parameters))


def _joints(model: Elements, moving: Moving) -> tuple[JointMotion, ...]:
    """The motions of joints that have internal loads."""
    used = {joint_motion for load in model.loads for joint_motion in load.in_joints}
    return tuple(_joint(moving.tree, moving, *key) for key in sorted(used))


def _joint(tree: Tree, moving: Moving, body: str, joint: int, motion: int) -> JointMotion:
    value, lower = tree.values[body, joint, motion], moving.lower
    gradient = zeros(tree.n)
    for i, partial in value.gradient:
        gradient[i] = lower(partial)
    return JointMotion(body, joint, motion, lower(value.value), gradient, lower(value.drift))
