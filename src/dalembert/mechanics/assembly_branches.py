"""On which side the joints of a loop are bent: what tells elbow up from elbow down."""

from __future__ import annotations

import numpy as np

from dalembert.mechanics import random_states
from dalembert.mechanics.loop_closure import ends
from dalembert.mechanics.motion import Motion
from dalembert.mechanics.state_batch import one_state
from dalembert.model.constraints.loop import ancestors, loop_bodies
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.symbolic.floats import plain
from dalembert.symbolic.rotations import roll_pitch_yaw

_STRAIGHT = 1e-9


def bends(model: Elements, q: np.ndarray, t: float = 0.0) -> dict[str, str]:
    """`left`, `right` or `straight` for every turning joint of every loop, by the body it carries or the loop's name.

    A joint is bent to the left when the way round the loop turns there counter-clockwise about the joint's axis.
    """
    if not model.loops:
        return {}
    motion = random_states.at(model, one_state(q, t=t))
    out: dict[str, str] = {}
    for loop in model.loops:
        joints: list[tuple[str, np.ndarray, np.ndarray | None]] = []
        inward = set(ancestors(model, loop.bodies[0]))
        for name in loop_bodies(model, loop):
            body = next(b for b in model.bodies if b.name == name)
            moving = [joint for joint in body.joints if joint.values]
            if moving:
                axis = getattr(moving[-1], "axis", None) if moving[-1].kind == "revolute" else None
                R = plain(motion.frames[name].R) @ _behind(body, motion).T
                joints.append(
                    (name, plain(motion.body(name).p_WJ), None if axis is None else R @ np.array(axis, float))
                )
        F, _ = ends(loop, motion)
        axis = getattr(loop.joint, "axis", None) if loop.joint.kind == "revolute" else None
        cut = (loop.name, plain(F.p), None if axis is None else plain(F.R) @ np.array(axis, float))
        first = [j for j in joints if j[0] in inward]
        second = [j for j in joints if j[0] not in inward]
        # from the root of the first chain out to the cut, and back along the second chain
        way = [*reversed(first), cut, *reversed(second)]
        for k, (name, point, normal) in enumerate(way):
            if normal is not None and name not in out:
                here, there = point - way[k - 1][1], way[(k + 1) % len(way)][1] - point
                out[name] = _side(
                    float(normal @ np.cross(here, there)), float(np.linalg.norm(here) * np.linalg.norm(there))
                )
    return out


def _behind(body: Body, motion: Motion) -> np.ndarray:
    """The rotation from the axes of a body to those of its last moving joint: fixed placements may follow behind it."""
    R = np.eye(3)
    for joint in body.joints:
        turned = R @ plain(roll_pitch_yaw(motion.algebra, [motion.lower(x) for x in joint.rotation]))
        R = np.eye(3) if joint.values else turned
    return R


def _side(turn: float, size: float) -> str:
    if abs(turn) <= _STRAIGHT * max(size, 1e-300):
        return "straight"
    return "left" if turn > 0 else "right"
