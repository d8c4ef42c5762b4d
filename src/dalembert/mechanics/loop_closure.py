"""Loops: the rows of every cut joint, at position and velocity level, read off the motion of the two bodies it joins.

A joint states its rows as functions of where M is in F, each with its unit wrench; the wrench gives the row of the Jacobian,
since its power is the rate of the row. Nothing is differentiated, so this works over every algebra, also numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.mechanics.motion import Motion
from dalembert.model.constraints.loop import Loop
from dalembert.model.joints.constraint_rows_of_joints import Row
from dalembert.symbolic.algebra_base import Array, Scalar, vector
from dalembert.symbolic.floats import plain
from dalembert.symbolic.frames import Frame
from dalembert.symbolic.rotations import skew


@dataclass(frozen=True)
class LoopRow:
    """One constraint of a loop: φ, its rate a q̇ + b, and the unit wrench on the second body at the origin of M, world axes."""

    name: str
    bodies: tuple[str, str]
    phi: Scalar
    a: Array
    b: Scalar
    force: Array
    moment: Array
    point: Array


def loop_rows(motion: Motion) -> list[LoopRow]:
    """The rows of all loops, in the order of their declaration."""
    return [row for loop in motion.model.loops for row in _rows(loop, motion)]


def ends(loop: Loop, motion: Motion) -> tuple[Frame, Frame]:
    """The frames F on the first body and M on the second."""
    halves = zip(loop.bodies, (loop.joint, loop), strict=True)
    first, second = (
        motion.frames[body].placed(
            motion.algebra, vector([motion.lower(x) for x in half.position]), [motion.lower(x) for x in half.rotation]
        )
        for body, half in halves
    )
    return first, second


def _rows(loop: Loop, motion: Motion) -> list[LoopRow]:
    F, M = ends(loop, motion)
    R, p = F.R.T @ M.R, F.R.T @ (M.p - F.p)
    # velocity of M relative to F as seen in F: v_M − v_F − ω_F × p
    arm = skew(p)
    v, v0 = F.R.T @ (M.J - F.J) + arm @ F.D, F.R.T @ (M.c - F.c) + arm @ F.E
    w, w0 = R @ M.D - F.D, R @ M.E - F.E
    return [_row(loop, row, F, M, v, v0, w, w0) for row in loop.joint.closure(motion.algebra, R, p)]


def _row(loop: Loop, row: Row, F: Frame, M: Frame, v: Array, v0: Array, w: Array, w0: Array) -> LoopRow:
    return LoopRow(
        f"{loop.name}, {row.name}",
        loop.bodies,
        row.phi,
        row.force @ v + row.moment @ w,
        row.force @ v0 + row.moment @ w0,
        F.R @ row.force,
        F.R @ row.moment,
        M.p,
    )


def displacement(F: Frame, M: Frame) -> tuple[np.ndarray, np.ndarray]:
    """R_FM and p_FM at one state, in numbers."""
    R_F, R_M, d = (plain(x) for x in (F.R, M.R, M.p - F.p))
    return R_F.T @ R_M, R_F.T @ d
