"""Do loads, contacts, loops and rotors act on something that exists, and do constraints hold?"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem, nearest
from dalembert.model.checks.check_bodies import unknown
from dalembert.model.checks.check_values import Table, at_start, value
from dalembert.model.contacts.base import Contact
from dalembert.model.loads.base import Load
from dalembert.model.vectors import WORLD

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def problems(model: Elements) -> list[Problem]:
    """Loads and gravity without bodies, bodies and joints that do not exist, constraints that hold nothing or are violated."""
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
            found.append(Problem(f"{rotor.title}, inertia", f"the inertia is {inertia:g}.", "Expected at least 0."))
    for load in model.loads:
        found += _bodies(load, names)
        for place in load.in_joints:
            found += joint_motion(load.title, *place, model)
        found += load.problems(table)
    return found + _impacts(model)


def _impacts(model: Elements) -> list[Problem]:
    """Rigid contacts that would meet in an impact by different laws."""
    found = []
    for known in model.rigid[1:]:
        first = model.rigid[0]
        if known.impact != first.impact:
            fact = f"impacts are '{known.impact}' here and '{first.impact}' in {first.title}."
            found.append(Problem(f"{known.title}, impact", fact, "Give all rigid contacts the same."))
    return found


def contact_problems(contact: Contact, model: Elements, table: Table) -> list[Problem]:
    """Bodies, joints and motions that do not exist, else what the contact itself finds."""
    names = {body.name for body in model.bodies}
    known = names if contact.in_joints or len(contact.named) == 1 else {WORLD, *names}
    found = [problem for _, name in contact.named for problem in unknown(contact.title, name, known)]
    for place in contact.in_joints:
        found += joint_motion(contact.title, *place, model)
    return found or contact.problems(model, table)


def _without_bodies(model: Elements) -> list[Problem]:
    into = "Put it into the potential or the forces of the energies."
    found = [(contact.title, "it touches a body", "Write a formula.") for contact in model.contacts]
    found += [(load.title, "it acts on a body", into) for load in model.loads]
    # a gravity that cannot be read is told by `formulas`
    with suppress(InputError):
        found += [("gravity", "it acts on bodies", into)] if any(g != 0 for g in model.gravity) else []
    found += [(loop.title, "it joins bodies", "Write it as a holonomic formula.") for loop in model.loops]
    term = "Write it as a term of the kinetic energy."
    found += [(rotor.title, "it turns with a body", term) for rotor in model.rotors]
    why = "but the system is described by energies."
    return [Problem(path, f"{fact}, {why}", advice) for path, fact, advice in found]


def _bodies(load: Load, names: set[str]) -> list[Problem]:
    found = []
    for key, name in load.named:
        if name == WORLD and key == "body":
            fact = "it acts on the world, which does not move."
            found.append(Problem(f"{load.title}, body", fact, f"Expected a body. {nearest('', names)}"))
        else:
            found += unknown(f"{load.title}, {key}", name, names if key == "body" else {WORLD, *names})
    return found


def joint_motion(title: str, name: str, joint: int, motion: int, model: Elements) -> list[Problem]:
    """The problem of a joint, or a motion of it, that does not exist or cannot be driven on its own."""
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
        moves = ", ".join(f"{i} ({what})" for i, what in enumerate(chosen.motions))
        return [Problem(f"{title}, motion", fact, f"Its motions are {moves}.")]
    if chosen.quaternion and motion >= len(chosen.values) - 4:
        fact = f"joint {joint} of body '{body.name}' turns by a quaternion, which has no angle to push along."
        return [Problem(path, fact, "Apply a torque to the body, with a reaction on its parent.")]
    return []
