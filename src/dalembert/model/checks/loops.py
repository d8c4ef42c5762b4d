"""Are the loops closed at the start?

The frames are walked in complex numbers: the imaginary part of a step along the initial rates is the rate of each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra import FLOATS, Array, identity, vector, zeros
from dalembert.algebra.floats import number
from dalembert.errors import Problem
from dalembert.expressions import TIME, rate
from dalembert.expressions.lower import Lowering
from dalembert.model.checks.values import at_start
from dalembert.model.elements import WORLD
from dalembert.spatial import roll_pitch_yaw

if TYPE_CHECKING:
    from dalembert.model.constraints import Loop
    from dalembert.model.description import Elements
    from dalembert.model.joints import Joint

Place = tuple[Array, Array]  # R_WF and p_WF

_CLOSE = 1e-8
_STEP = 1e-30
_ADVICE = "Change the initial {}, or set `assemble = true` in [simulation] (`dl.assembled(model)` in Python)."


def problems(model: Elements) -> list[Problem]:
    """Loops that do not close at the start, or that the initial rates open; a start that is only a guess is not asked."""
    if model.assemble_start or not any(not loop.feedback for loop in model.loops):
        return []
    with np.errstate(all="ignore"):
        lower = Lowering(FLOATS, _stepped(model))
        places = _places(model, lower)
        closed = [loop for loop in model.loops if not loop.feedback and set(loop.bodies) <= set(places)]
        return [problem for loop in closed for problem in _open(loop, places, lower)]


def _stepped(model: Elements) -> dict[str, np.complex128]:
    """A number for every symbol, with a small step of time as its imaginary part."""
    table = {name: np.complex128(x) for name, x in at_start(model).items()}  # of NumPy: 1/0 is infinite
    moved = {name: table[name] + 1j * _STEP * table[rate(name).name] for name in model.coordinate_names}
    return {**table, **moved, TIME.name: np.complex128(1j * _STEP)}


def _places(model: Elements, lower: Lowering) -> dict[str, Place]:
    """Where the bodies are; those that hang on nothing are left out, as another check tells of them."""
    found: dict[str, Place] = {WORLD: (identity(3), zeros(3))}
    waiting = list(model.bodies)
    while ready := [body for body in waiting if body.parent in found]:
        for body in ready:
            place = found[body.parent]
            for joint in body.joints:
                values = [lower(value) for value in joint.values]
                R, p = _fixed(place, joint, lower)
                place = (R @ joint.turn(FLOATS, values), p + R @ joint.shift(FLOATS, values)) if values else (R, p)
            found[body.name] = place
        waiting = [body for body in waiting if body.name not in found]
    return found


def _fixed(place: Place, at: Joint | Loop, lower: Lowering) -> Place:
    """A frame with a constant position and rotation in another one."""
    R, p = place
    turned = roll_pitch_yaw(FLOATS, [lower(angle) for angle in at.rotation])
    return R @ turned, p + R @ vector([lower(x) for x in at.position])


def _open(loop: Loop, places: dict[str, Place], lower: Lowering) -> Iterator[Problem]:
    ends = [_fixed(places[body], half, lower) for body, half in zip(loop.bodies, (loop.joint, loop), strict=True)]
    (R_F, p_F), (R_M, p_M) = ends
    # of the whole mechanism: both ends may be at the origin, or at rest
    rotations, positions = (np.array(each, complex) for each in zip(*places.values(), *ends, strict=True))
    length, speed = (float(np.abs(part(positions)).sum(axis=1).max()) for part in (np.real, np.imag))
    turning = float(np.abs(np.imag(rotations)).sum(axis=(1, 2)).max())
    rows = loop.joint.closure(FLOATS, R_F.T @ R_M, R_F.T @ (p_M - p_F))
    values = {row.name: complex(number(row.phi)) for row in rows}
    scales = {row.name: (length, speed + length * turning) if any(row.force) else (1.0, turning) for row in rows}
    apart = {name: x.real for name, x in values.items() if abs(x.real) > _CLOSE * scales[name][0]}
    parting = {name: x.imag for name, x in values.items() if abs(x.imag) > _CLOSE * scales[name][1]}
    if apart:
        yield _problem(loop, "it is not closed at the start", apart, "positions")
    elif parting:
        yield _problem(loop, "the initial rates open it", {name: x / _STEP for name, x in parting.items()}, "rates")


def _problem(loop: Loop, fact: str, rows: dict[str, float], what: str) -> Problem:
    shown = ", ".join(f"{name} = {x:.6g}" for name, x in rows.items())
    return Problem(f"loop '{loop.name}'", f"{fact}: {shown}, expected 0.", _ADVICE.format(what), blocking=False)
