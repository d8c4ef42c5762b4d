"""The constraints in the words of the declarations: what must vanish, its rates along the motion, and what it forbids.

Formulas are taken as written. Loops are said anew, from where their two frames are: which origins meet, which axes stay
parallel. What a joint of a loop or a contact forbids stands in its own file (`unfulfilled`, `declared`).
Where feedback drives a loop to zero, its rows matter also off the target, so the joint's own rows φ are taken there.
"""

from __future__ import annotations

import numpy as np

from dalembert.evidence.numeric_differentiation import Watch
from dalembert.evidence.reference_poses import Places
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.constraints.loop import Loop
from dalembert.model.constraints.nonholonomic import Nonholonomic
from dalembert.model.joints.base import Joint
from dalembert.model.reference_model import Condition, Level, Place, Traced, held, length
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.taylor_numbers import series


def declared_conditions(watch: Watch) -> list[Condition]:
    """All constraints of the model, with the norms of quaternions and the contacts."""
    model = watch.model
    out = [_norm(watch, body.name, joint) for body in model.bodies for joint in body.joints if joint.quaternion]
    out += [_holonomic(watch, c) for c in model.holonomic_constraints]
    out += [_loop(watch, loop) for loop in model.loops if loop.row_names]
    out += [_nonholonomic(watch, c) for c in model.nonholonomic_constraints]
    for contact in model.contacts:
        out += contact.declared(watch)
    return out


def _norm(watch: Watch, body: str, joint: Joint) -> Condition:
    def excess(places: Places) -> Array:
        parts = places.numbers(joint.values[-4:])
        return vector([0.5 * (parts @ parts - 1)])

    return held(f"norm of {body}", watch, watch.traced(excess), ())


def _holonomic(watch: Watch, constraint: Holonomic) -> Condition:
    gap = watch.traced(lambda places: vector([places.lower(constraint.phi)]))
    return held(constraint.name, watch, gap, constraint.feedback)


def _nonholonomic(watch: Watch, constraint: Nonholonomic) -> Condition:
    """ψ = 0 and ψ̇ = 0; with a gain α only ψ̇ + α ψ = 0."""
    along = series(watch.path.lower(constraint.psi))
    value, rate = (np.broadcast_to(x, watch.K)[None] for x in (along.value, along.rate))
    slopes = watch.slopes(constraint.psi)[0][None]
    still = np.zeros_like(value)
    if constraint.feedback:
        pull = watch.number(constraint.feedback[0]) * value
        return Condition(constraint.name, slopes, None, None, Level(rate + pull, np.abs(pull)))
    return Condition(constraint.name, slopes, None, Level(value, still), Level(rate, still))


def _loop(watch: Watch, loop: Loop) -> Condition:
    """The two halves of a joint stay within what it admits."""

    def ends(places: Places) -> tuple[Place, Place]:
        first, second = loop.bodies
        return (
            places.placed(first, loop.joint.position, loop.joint.rotation),
            places.placed(second, loop.position, loop.rotation),
        )

    def gap(places: Places) -> Array:
        F, M = ends(places)
        if loop.feedback:
            rows = loop.joint.closure(places.algebra, F.R.T @ M.R, F.R.T @ (M.p - F.p))
            return vector([row.phi for row in rows])
        lengths, turns = loop.joint.unfulfilled(places.algebra, F, M)
        return vector([*lengths, *turns])

    halves = [
        (watch.traced(lambda places, i=i: ends(places)[i].p), watch.traced(lambda places, i=i: ends(places)[i].R))
        for i in (0, 1)
    ]
    return held(loop.name, watch, watch.traced(gap), loop.feedback, _sizes(watch, _are_lengths(loop, watch), *halves))


def _are_lengths(loop: Loop, watch: Watch) -> np.ndarray:
    """Row by row: does it measure a length, or else a direction?"""
    if loop.feedback:
        return np.array(loop.joint.holds_lengths)[:, None]
    still = watch.path.frames[WORLD]
    lengths, turns = loop.joint.unfulfilled(watch.path.algebra, still, still)
    return np.array([[True]] * len(lengths) + [[False]] * len(turns))


def _sizes(
    watch: Watch, lengths: np.ndarray, first: tuple[Traced, Traced], second: tuple[Traced, Traced]
) -> tuple[np.ndarray, ...]:
    """How large the parts of the rows are on each level: places and their rates, or axes and theirs."""
    (F, R_F), (M, R_M) = first, second
    apart, reach = length(M.value - F.value), length(F.value) + length(M.value)
    fast, spin = (sum(_size(x.rate, x, watch.states.qd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    quick, jerk = (sum(_size(x.second, x, watch.qdd) for x in pair) for pair in ((F, M), (R_F, R_M)))
    jerk = jerk + spin**2
    return (
        np.where(lengths, reach, 1.0),
        np.where(lengths, fast + apart * spin, spin),
        np.where(lengths, quick + 2 * fast * spin + apart * jerk, jerk),
    )


def _size(rate: np.ndarray, moved: Traced, by: np.ndarray) -> np.ndarray:
    """The size of a rate, and of the parts of it that come from each coordinate and may cancel."""
    parts = np.sqrt(np.sum(moved.change.reshape(-1, *moved.change.shape[-2:]) ** 2, axis=0))
    return length(rate) + np.sum(parts * np.abs(by), axis=0)
