"""Are the loops closed at the start, and do contacts and couplings hold that hold positions?

The frames are walked in complex numbers: the imaginary part of a step along the initial rates is the rate of each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import Problem
from dalembert.model.checks.check_loads import contact_problems
from dalembert.model.checks.check_values import at_start
from dalembert.model.contacts.base import Contact
from dalembert.model.reference_model import Place
from dalembert.model.vectors import WORLD
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, vector, zeros
from dalembert.symbolic.floats import FLOATS, number
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.reserved_symbols import rate
from dalembert.symbolic.rotations import roll_pitch_yaw
from dalembert.symbolic.symbols import TIME, Formula

if TYPE_CHECKING:
    from dalembert.model.constraints.loop import Loop
    from dalembert.model.description import Elements
    from dalembert.model.joints.base import Joint

Pose = tuple[Array, Array]  # R_WF and p_WF

_CLOSE = 1e-8
_STEP = 1e-30
_ADVICE = "Change the initial {}, or set `assemble = true` in [simulation] (`dl.assembled(model)` in Python)."


def problems(model: Elements) -> list[Problem]:
    """What does not hold at the start, or what the initial rates open; a start that is only a guess is not asked."""
    if model.assemble_start or not (model.contacts or any(not loop.feedback for loop in model.loops)):
        return []
    with np.errstate(all="ignore"):
        table, lower = at_start(model), Lowering(FLOATS, _stepped(model))
        places = _places(model, lower)
        closed = [loop for loop in model.loops if not loop.feedback and set(loop.bodies) <= set(places)]
        found = [problem for loop in closed for problem in _open(loop, places, lower)]
        seen = _Places(model, lower, {name: Place(p, R) for name, (R, p) in places.items()})
        sound = [
            c
            for c in model.contacts
            if {name for _, name in c.named} <= set(places) and not contact_problems(c, model, table)
        ]
        return found + [problem for contact in sound for problem in _apart(contact, seen)]


@dataclass(frozen=True)
class _Places:
    """Where the bodies are at the start, with the rates as imaginary parts."""

    model: Elements
    lower: Lowering
    frames: dict[str, Place]

    @property
    def algebra(self) -> Algebra:
        return FLOATS

    def point(self, body: str, x: Sequence[Formula]) -> Array:
        return self.frames[body].point(vector([self.lower(each) for each in x]))

    def placed(self, body: str, position: Sequence[Formula], rotation: Sequence[Formula]) -> Place:
        turn = roll_pitch_yaw(FLOATS, [self.lower(angle) for angle in rotation])
        return Place(self.point(body, position), self.frames[body].R @ turn)

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        carried = next(each for each in self.model.bodies if each.name == body)
        return self.lower(carried.joints[joint].values[motion])

    def started(self, body: str, joint: int, motion: int) -> Scalar:
        return np.real(number(self.value(body, joint, motion)))


def _apart(contact: Contact, places: _Places) -> Iterator[Problem]:
    """The problem of a contact or coupling that the start violates, in positions or in rates."""
    held = contact.parts(places)
    if held is None:
        return
    parts = np.array([[complex(number(x)) for x in row] for row in held])
    for pick, step, letter, what in ((np.real, 1.0, "φ", "positions"), (np.imag, _STEP, "dφ/dt", "rates")):
        terms = pick(parts) / step
        gap, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
        worst = int(np.argmax(np.abs(gap)))
        if abs(gap[worst]) > _CLOSE * size[worst]:
            shown = f"{letter} = {gap[worst]:.6g}, expected 0 (its terms are of size {size[worst]:.3g})"
            yield Problem(
                contact.title, f"the initial state violates it: {shown}.", _ADVICE.format(what), blocking=False
            )
            return


def _stepped(model: Elements) -> dict[str, np.complex128]:
    """A number for every symbol, with a small step of time as its imaginary part."""
    table = {name: np.complex128(x) for name, x in at_start(model).items()}  # of NumPy: 1/0 is infinite
    moved = {name: table[name] + 1j * _STEP * table[rate(name).name] for name in model.coordinate_names}
    return {**table, **moved, TIME.name: np.complex128(1j * _STEP)}


def _places(model: Elements, lower: Lowering) -> dict[str, Pose]:
    """Where the bodies are; those that hang on nothing are left out, as another check tells of them."""
    found: dict[str, Pose] = {WORLD: (identity(3), zeros(3))}
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


def _fixed(place: Pose, at: Joint | Loop, lower: Lowering) -> Pose:
    """A frame with a constant position and rotation in another one."""
    R, p = place
    turned = roll_pitch_yaw(FLOATS, [lower(angle) for angle in at.rotation])
    return R @ turned, p + R @ vector([lower(x) for x in at.position])


def _open(loop: Loop, places: dict[str, Pose], lower: Lowering) -> Iterator[Problem]:
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
