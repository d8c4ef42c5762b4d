"""Validation of bodies, loads, contacts and loops."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InputError, Problem, suggest_name
from dalembert.model.contacts.base import Contact
from dalembert.model.evaluation import CONSTRAINT_TOLERANCE, Table, at_start, value, violation
from dalembert.model.loads.base import Load
from dalembert.model.reference_model import ReferenceFrame
from dalembert.model.values import WORLD
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, vector, zeros
from dalembert.symbolic.floats import FLOATS, number
from dalembert.symbolic.rotations import roll_pitch_yaw
from dalembert.symbolic.symbols import TIME, Formula, Lowering, rate

if TYPE_CHECKING:
    from dalembert.model.constraints.loop import Loop
    from dalembert.model.description import Elements
    from dalembert.model.elements import Body

_DEFINITE_TOLERANCE = 1e-9
_TRIANGLE_TOLERANCE = 0.1  # published inertias violate the triangle inequality by up to this share


def body_problems(model: Elements) -> list[Problem]:
    """Negative masses, physically inconsistent inertias, and massless bodies without children or loads."""
    table = at_start(model)
    used = {body.parent for body in model.bodies}
    used |= {name for element in (*model.loads, *model.contacts) for _, name in element.referenced_bodies}
    used |= {name for loop in model.loops for name in loop.bodies}
    found = []
    for body in model.bodies:
        mass = value(body.mass, table)
        if mass < 0:
            advice = "Expected a number >= 0; correct `mass` or the parameters in it."
            found.append(Problem(f"body '{body.name}', mass", f"the mass is {mass:g}.", advice))
        inertia = _matrix(body, table)
        found += _inertia(f"body '{body.name}', inertia", inertia, model.published)
        moves = any(joint.values for joint in body.joints)  # a massless body fixed on another is a frame
        if moves and mass == 0 and not inertia.any() and body.name not in used:
            fact = "it is massless, carries no other body and no load acts on it."
            own = {s for joint in body.joints for formula in joint.values for s in formula.free_symbols}
            bound = bool(own & {s for c in model.holonomic_constraints for s in c.phi.free_symbols})
            bound = bound or any(body.name in loop.bodies for loop in model.loops)
            found.append(Problem(f"body '{body.name}'", fact, "Give it a `mass`, or remove it.", blocking=not bound))
    return found + _quaternions(model, table)


def unknown(path: str, name: str, known: Collection[str]) -> list[Problem]:
    """The problem of a reference to a body that does not exist."""
    return [] if name in known else [Problem(path, f"there is no body '{name}'.", suggest_name(name, known))]


def _quaternions(model: Elements, table: Table) -> list[Problem]:
    """Initial quaternions that are not of unit length; with `assemble` any nonzero length is allowed."""
    found = []
    for body in model.bodies:
        for joint in (joint for joint in body.joints if joint.quaternion):
            parts = [value(part, table) for part in joint.values[-4:]]
            length = math.hypot(*parts)
            if length == 0 or (abs(length - 1) > CONSTRAINT_TOLERANCE and not model.assemble_start):
                entries = ", ".join(f"{part:.10g}" for part in parts)
                fact = f"its initial quaternion is ({entries}), of norm {length:.10g}."
                advice = "Start at (1, 0, 0, 0), or at another unit quaternion (w, x, y, z)."
                found.append(Problem(f"body '{body.name}'", fact, advice, blocking=False))
    return found


def massless_bodies(model: Elements) -> list[str]:
    """The moving bodies without mass and inertia that carry no body with mass or inertia.

    >>> from dalembert.model.model import Model
    >>> model = Model("knot").coordinates("x", "y")
    >>> _ = model.body("cart", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    >>> massless_bodies(model.body("knot", parent="cart", joint=model.prismatic((1, 0, 0), "y")))
    ['knot']
    """
    table, heavy = at_start(model), set()
    for body in reversed(model.bodies):
        if body.name in heavy or value(body.mass, table) != 0 or _matrix(body, table).any():
            heavy |= {body.name, body.parent}
    return [body.name for body in model.bodies if body.name not in heavy and any(j.values for j in body.joints)]


def _matrix(body: Body, table: Table) -> np.ndarray:
    return np.array([[value(entry, table) for entry in row] for row in body.inertia])


def _inertia(path: str, matrix: np.ndarray, published: bool) -> list[Problem]:
    """An inertia must be symmetric, positive semidefinite and satisfy the triangle inequality."""
    if not np.isfinite(matrix).all():
        return []  # reported by `check.undefined`
    small = _DEFINITE_TOLERANCE * float(np.abs(matrix).max())
    i, j = divmod(int(np.abs(matrix - matrix.T).argmax()), 3)
    if abs(matrix[i, j] - matrix[j, i]) > small:
        fact = f"the matrix is not symmetric: [{i}][{j}] is {matrix[i, j]:g} but [{j}][{i}] is {matrix[j, i]:g}."
        return [Problem(path, fact, "Make both entries equal.")]
    moments = np.linalg.eigvalsh(matrix)
    values = ", ".join(f"{0.0 if abs(m) <= small else m:.6g}" for m in moments)
    if moments[0] < -small:
        fact = f"a principal moment is negative; they are {values}."
        return [Problem(path, fact, "Expected moments >= 0; check signs and the products of inertia.")]
    # planar models set a single moment, since the others have no effect
    if moments[1] > small and moments[2] > moments[0] + moments[1] + small:
        fact = f"the principal moments {values} violate the triangle inequality."
        advice = "Expected no moment larger than the sum of the other two; give the inertia about the mass center."
        gross = moments[2] > (1 + _TRIANGLE_TOLERANCE) * (moments[0] + moments[1])
        return [Problem(path, fact, advice, blocking=bool(gross) and not published)]
    return []


def load_problems(model: Elements) -> list[Problem]:
    """Loads and gravity without bodies, unknown bodies and joints, constraints without effect or violated at the start."""
    table = at_start(model)
    found = _without_bodies(model) if model.energies is not None and not model.bodies else _on_bodies(model, table)
    return found + [problem for c in model.formula_constraints for problem in c.problems(model, table)]


def _on_bodies(model: Elements, table: Table) -> list[Problem]:
    names = {body.name for body in model.bodies}
    found = [problem for contact in model.contacts for problem in contact_problems(contact, model, table)]
    found += [problem for loop in model.loops for problem in loop.problems(model, table)]
    for rotor in model.rotors:
        found += unknown(rotor.title, rotor.body, names)
        found += joint_motion(rotor.title, rotor.body, rotor.joint, rotor.motion, model)
        inertia = value(rotor.inertia, table)
        if inertia < 0:
            found.append(Problem(f"{rotor.title}, inertia", f"the inertia is {inertia:g}.", "Expected a number >= 0."))
    for load in model.loads:
        found += _bodies(load, names)
        for index in load.in_joints:
            found += joint_motion(load.title, *index, model)
        found += load.problems(table)
    return found + _impacts(model)


def _impacts(model: Elements) -> list[Problem]:
    """Rigid contacts with different impact laws."""
    found = []
    for known in model.rigid[1:]:
        first = model.rigid[0]
        if known.impact != first.impact:
            fact = f"the impact law is '{known.impact}' here and '{first.impact}' in {first.title}."
            found.append(Problem(f"{known.title}, impact", fact, "Give all rigid contacts the same impact law."))
    return found


def contact_problems(contact: Contact, model: Elements, table: Table) -> list[Problem]:
    """Unknown bodies, joints and motions; if there are none, the problems of the contact itself."""
    names = {body.name for body in model.bodies}
    known = names if contact.in_joints or len(contact.referenced_bodies) == 1 else {WORLD, *names}
    found = [problem for _, name in contact.referenced_bodies for problem in unknown(contact.title, name, known)]
    for index in contact.in_joints:
        found += joint_motion(contact.title, *index, model)
    return found or contact.problems(model, table)


def _without_bodies(model: Elements) -> list[Problem]:
    into = "Add it to the potential energy or the applied forces."
    found = [(contact.title, "it acts on a body", "Write it as a constraint formula.") for contact in model.contacts]
    found += [(load.title, "it acts on a body", into) for load in model.loads]
    # a gravity that cannot be read is reported by `check.undefined`
    with suppress(InputError):
        found += [("gravity", "it acts on bodies", into)] if any(g != 0 for g in model.gravity) else []
    found += [(loop.title, "it connects bodies", "Write it as a holonomic constraint.") for loop in model.loops]
    term = "Write it as a term of the kinetic energy."
    found += [(rotor.title, "it rotates with a body", term) for rotor in model.rotors]
    why = "but the system is defined by energies."
    return [Problem(path, f"{fact}, {why}", advice) for path, fact, advice in found]


def _bodies(load: Load, names: set[str]) -> list[Problem]:
    found = []
    for key, name in load.referenced_bodies:
        if name == WORLD and key == "body":
            fact = "it acts on the world, which is fixed."
            found.append(Problem(f"{load.title}, body", fact, f"Expected a body. {suggest_name('', names)}"))
        else:
            found += unknown(f"{load.title}, {key}", name, names if key == "body" else {WORLD, *names})
    return found


def joint_motion(title: str, name: str, joint: int, motion: int, model: Elements) -> list[Problem]:
    """The problem of a joint or joint motion that does not exist or cannot be driven."""
    body = next((body for body in model.bodies if body.name == name), None)
    if body is None:
        return []
    path, count = f"{title}, joint", len(body.joints)
    if not 0 <= joint < count:
        fact = f"body '{body.name}' has no joint {joint}."
        return [Problem(path, fact, f"Expected 0 to {count - 1}: joints are counted from 0.")]
    chosen = body.joints[joint]
    if not chosen.values:
        fact = f"joint {joint} of body '{body.name}' is fixed and cannot be driven."
        return [Problem(path, fact, "Name a joint that moves, or apply a force or torque to the body.")]
    if not 0 <= motion < len(chosen.values):
        fact = f"joint {joint} of body '{body.name}' has no motion {motion}."
        motions = ", ".join(f"{i} ({what})" for i, what in enumerate(chosen.motions))
        return [Problem(f"{title}, motion", fact, f"Its motions are {motions}.")]
    if chosen.quaternion and motion >= len(chosen.values) - 4:
        fact = f"joint {joint} of body '{body.name}' is a quaternion joint, which has no joint angle to act along."
        return [Problem(path, fact, "Apply a torque to the body, with a reaction on its parent.")]
    return []


_GAP_TOLERANCE = 1e-8
_STEP = 1e-30
_ADVICE = "Change the initial {}, or set `assemble = true` in [simulation] (`dl.assemble_model(model)` in Python)."


def loop_problems(model: Elements) -> list[Problem]:
    """Loops and contacts that the initial positions or rates violate; not checked with `assemble`."""
    if model.assemble_start or not (model.contacts or any(not loop.feedback for loop in model.loops)):
        return []
    with np.errstate(all="ignore"):
        table, lower = at_start(model), Lowering(FLOATS, _stepped(model))
        poses = _initial_frames(model, lower)
        closed = [loop for loop in model.loops if not loop.feedback and set(loop.bodies) <= set(poses)]
        found = [problem for loop in closed for problem in _open(loop, poses, lower)]
        kinematics = _InitialPoses(model, lower, poses)
        known = [c for c in model.contacts if {name for _, name in c.referenced_bodies} <= set(poses)]
        valid = [c for c in known if not contact_problems(c, model, table)]
        return found + [problem for contact in valid for problem in _violated(contact, kinematics)]


@dataclass(frozen=True)
class _InitialPoses:
    """Initial body frames as complex numbers; the imaginary parts are the rates times a small step."""

    model: Elements
    lower: Lowering
    frames: dict[str, ReferenceFrame]
    algebra: Algebra = FLOATS

    def point(self, body: str, x: Sequence[Formula]) -> Array:
        return self.frames[body].point(vector([self.lower(each) for each in x]))

    def fixed_frame(self, body: str, position: Sequence[Formula], rotation: Sequence[Formula]) -> ReferenceFrame:
        return _fixed(self.frames[body], position, rotation, self.lower)

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        child = next(each for each in self.model.bodies if each.name == body)
        return self.lower(child.joints[joint].values[motion])

    def initial_value(self, body: str, joint: int, motion: int) -> Scalar:
        return np.real(number(self.value(body, joint, motion)))


def _violated(contact: Contact, poses: _InitialPoses) -> Iterator[Problem]:
    """The problem of a contact or coupling that the initial positions or rates violate."""
    rows = contact.residual_terms(poses)
    if rows is None:
        return
    parts = np.array([[complex(number(x)) for x in row] for row in rows])
    for pick, step, letter, what in ((np.real, 1.0, "φ", "positions"), (np.imag, _STEP, "dφ/dt", "rates")):
        terms = pick(parts) / step
        gap, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
        worst = int(np.argmax(np.abs(gap)))
        if abs(gap[worst]) > _GAP_TOLERANCE * size[worst]:
            yield violation(contact.title, letter, gap[worst], size[worst], _ADVICE.format(what))
            return


def _stepped(model: Elements) -> dict[str, np.complex128]:
    """Values of all symbols for the complex-step derivative with respect to time."""
    table = {name: np.complex128(x) for name, x in at_start(model).items()}  # NumPy scalars: 1/0 is inf
    positions = {name: table[name] + 1j * _STEP * table[rate(name).name] for name in model.coordinate_names}
    return {**table, **positions, TIME.name: np.complex128(1j * _STEP)}


def _initial_frames(model: Elements, lower: Lowering) -> dict[str, ReferenceFrame]:
    """The frames of the bodies that are connected to the world; `check.structure` reports the others."""
    found = {WORLD: ReferenceFrame(zeros(3), identity(3))}
    waiting = list(model.bodies)
    while connected := [body for body in waiting if body.parent in found]:
        for body in connected:
            frame = found[body.parent]
            for joint in body.joints:
                frame = _fixed(frame, joint.position, joint.rotation, lower)
                if values := [lower(value) for value in joint.values]:
                    R = frame.R @ joint.rotation_matrix(FLOATS, values)
                    frame = ReferenceFrame(frame.point(joint.translation(FLOATS, values)), R)
            found[body.name] = frame
        waiting = [body for body in waiting if body.name not in found]
    return found


def _fixed(
    frame: ReferenceFrame, position: Sequence[Formula], rotation: Sequence[Formula], lower: Lowering
) -> ReferenceFrame:
    """A frame with a constant position and rotation in another one."""
    R = frame.R @ roll_pitch_yaw(FLOATS, [lower(angle) for angle in rotation])
    return ReferenceFrame(frame.point(vector([lower(x) for x in position])), R)


def _open(loop: Loop, poses: dict[str, ReferenceFrame], lower: Lowering) -> Iterator[Problem]:
    halves = zip(loop.bodies, (loop.joint, loop), strict=True)
    F, M = (_fixed(poses[body], half.position, half.rotation, lower) for body, half in halves)
    # scales of the entire mechanism, since both ends may be at the origin or at rest
    frames = [*poses.values(), F, M]
    rotations, positions = (
        np.array([each.R for each in frames], complex),
        np.array([each.p for each in frames], complex),
    )
    length, speed = (float(np.abs(part(positions)).sum(axis=1).max()) for part in (np.real, np.imag))
    spin = float(np.abs(np.imag(rotations)).sum(axis=(1, 2)).max())
    rows = loop.joint.closure(FLOATS, F.R.T @ M.R, F.R.T @ (M.p - F.p))
    values = {row.name: complex(number(row.phi)) for row in rows}
    scales = {row.name: (length, speed + length * spin) if any(row.force) else (1.0, spin) for row in rows}
    gaps = {name: x.real for name, x in values.items() if abs(x.real) > _GAP_TOLERANCE * scales[name][0]}
    opening = {name: x.imag for name, x in values.items() if abs(x.imag) > _GAP_TOLERANCE * scales[name][1]}
    rates = {name: x / _STEP for name, x in opening.items()}
    cases = (("it is not closed at the start", gaps, "positions"), ("the initial rates open it", rates, "rates"))
    for fact, found, what in cases:
        if found:
            residuals = ", ".join(f"{name} = {x:.6g}" for name, x in found.items())
            yield Problem(loop.title, f"{fact}: {residuals}, expected 0.", _ADVICE.format(what), blocking=False)
            return
