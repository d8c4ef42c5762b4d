"""Forces on links: of loads, and external wrenches that callers give.

Torques, springs and friction inside joints need only the motions of their joints; other loads need the poses of the bodies,
which one pass over the model computes.

A wrench is six numbers, the force above the moment, like the rows of a Jacobian. Its frame defines axes and point of application:

    world          axes of the world, at the origin of the body frame
    body           axes of the body, at the origin of the body frame     `fext` of Pinocchio, for a body on its joint
    mass_center    axes of the world, at the mass center of the body     `xfrc_applied` of MuJoCo
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dalembert.arguments import as_finite_array
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.mechanics.energies import NON_IDEAL, applied_forces, non_ideal_forces, working_forces
from dalembert.mechanics.motion import Motion, move
from dalembert.model.description import Elements
from dalembert.model.joints.base import JointMotion
from dalembert.recursive._transforms import Three, crossed, plus, three
from dalembert.recursive.composite_inertia import generalized_force
from dalembert.recursive.joint_speeds import to_rates, to_speed_forces
from dalembert.recursive.link_states import Moving
from dalembert.recursive.point_jacobians import link_of
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


WrenchFrame = Literal["world", "body", "mass_center"]
FRAMES: tuple[str, ...] = get_args(WrenchFrame)
ExternalWrenches = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True)
class Wrenches:
    """Wrenches on bodies: `values` (6 × bodies,) for one state, or with a batch on the last axis."""

    bodies: tuple[str, ...]
    frame: WrenchFrame
    values: np.ndarray

    @property
    def by_body(self) -> dict[str, np.ndarray]:
        """The wrench of each body."""
        return dict(zip(self.bodies, np.split(self.values, len(self.bodies)), strict=True))


def read_wrenches(
    model: Elements, fext: ExternalWrenches | None, frame: WrenchFrame, batch: tuple[int, ...]
) -> Wrenches | None:
    """Wrenches by body, each (6,), or (6, batch) for a batch of this shape; None if there are none."""
    if frame not in FRAMES:
        expected = ", ".join(f"'{name}'" for name in FRAMES)
        raise InputError(
            f"frame: got {short_repr(frame)}. {suggest_name(str(frame), FRAMES)} Expected one of {expected}."
        )
    if fext is None:
        return None
    if not isinstance(fext, Mapping):
        raise InputError(f"fext: got {short_repr(fext)}. Expected a dict from names of bodies to wrenches.")
    names, rows = [body.name for body in model.bodies], list[np.ndarray]()
    for body, wrench in fext.items():
        if body not in names:
            raise InputError(f"fext: there is no body {short_repr(body)}. {suggest_name(str(body), names)}")
        values = as_finite_array(wrench, f"fext['{body}']")
        if values.shape not in ((6,), (6, *batch)):
            expected = " or ".join(map(str, dict.fromkeys([(6,), (6, *batch)])))
            raise InputError(
                f"fext['{body}'] has shape {values.shape}. Expected {expected}: three components of the force, then three of "
                "the moment."
            )
        rows.append(values if values.ndim > len(batch) else np.broadcast_to(values[:, None], (6, *batch)))
    return Wrenches(tuple(fext), frame, np.concatenate(rows)) if rows else None


def wrench_forces(moving: Moving, bodies: Sequence[str], frame: str, values: Scalars) -> Array:
    """Generalized forces of the wrenches along the speeds; links use the frames of the model.

    The wrenches are transformed to axes of their bodies, then inwards as in (25) of papers/denoc.
    """
    carried, out = dict[int, tuple[Three, Three]](), zeros(moving.tree.n_speeds)
    for k, body in enumerate(bodies):
        index = link_of(moving, body)
        n, f = _in_body_axes(moving, index, frame, values[6 * k : 6 * k + 6])
        carried[index] = _sum(carried.get(index), (n, f))
    for index in reversed(range(len(moving.links))):
        if index not in carried:
            continue
        link, wrench = moving.links[index], carried[index]
        for row, axis in zip(link.G, link.constants.axes, strict=True):
            for speed, g in zip(link.speeds, row, strict=True):
                out[speed] = out[speed] + g * generalized_force(axis, wrench)
        if link.parent >= 0:
            carried[link.parent] = _sum(carried.get(link.parent), link.transform.wrench_inwards(*wrench))
    return out


def _in_body_axes(moving: Moving, index: int, frame: str, values: Scalars) -> tuple[Three, Three]:
    """The moment and the force of one wrench in axes of its body, about the origin of the body."""
    f, n = three(values[:3]), three(values[3:])
    body, path = moving.tree.links[index].body, list[int]()
    while index >= 0 and frame != "body":
        path.append(index)
        index = moving.links[index].parent
    for at in reversed(path):
        f, n = moving.links[at].transform.outwards(f), moving.links[at].transform.outwards(n)
    if frame == "mass_center" and body is not None:
        center = three(vector([moving.lower(x) for x in body.center]))
        n = plus(n, crossed(center, f))
    return n, f


def _sum(known: tuple[Three, Three] | None, more: tuple[Three, Three]) -> tuple[Three, Three]:
    return more if known is None else (plus(known[0], more[0]), plus(known[1], more[1]))
