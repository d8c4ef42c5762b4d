"""Do the loads act on something that exists?"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem, nearest
from dalembert.model.checks.values import at_start, value
from dalembert.model.elements import WORLD
from dalembert.model.loads import Damper, Force, InJoint, JointFriction, JointSpring, JointTorque, Load, Spring, Torque

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def problems(model: Elements) -> list[Problem]:
    """Loads and gravity without bodies, bodies and joints that do not exist, connections of a body with itself."""
    if model.energies is not None and not model.bodies:
        return _without_bodies(model)
    found = _contacts(model) + _loops(model) + _rotors(model)
    for load in model.loads:
        found += _bodies(load, model)
        if isinstance(load, InJoint):
            found += joint_motion(title(load), load.body, load.joint, load.motion, model)
        if isinstance(load, JointFriction):
            found += _friction(load, model)
        elif isinstance(load, Spring | Damper) and load.bodies[0] == load.bodies[1]:
            fact = f"both ends are on '{load.bodies[0]}', so it does nothing."
            found.append(Problem(title(load), fact, "Give `bodies` two different names."))
    return found


def _friction(load: JointFriction, model: Elements) -> list[Problem]:
    table = at_start(model)
    if value(load.coulomb, table) == 0 or value(load.smoothing, table) > 0:
        return []
    fact = f"the smoothing is {value(load.smoothing, table):g}, so Coulomb's friction has no value at rest."
    return [Problem(f"{title(load)}, smoothing", fact, "Expected a small positive rate, such as 1e-3.")]


def _contacts(model: Elements) -> list[Problem]:
    names = {body.name for body in model.bodies}
    return [
        Problem(f"contact '{contact.name}'", f"there is no body '{contact.body}'.", nearest(contact.body, names))
        for contact in model.contacts
        if contact.body not in names
    ]


def _loops(model: Elements) -> list[Problem]:
    names = {body.name for body in model.bodies}
    found = []
    for loop in model.loops:
        path = f"loop '{loop.name}'"
        found += [
            Problem(path, f"there is no body '{name}'.", nearest(name, {WORLD, *names}))
            for name in loop.bodies
            if name != WORLD and name not in names
        ]
        if loop.bodies[0] == loop.bodies[1]:
            found.append(Problem(path, f"both ends are on '{loop.bodies[0]}'.", "Give `bodies` two different names."))
        if loop.name in names:
            found.append(Problem(path, "a body has this name, too.", "Give the loop a name of its own."))
        if not loop.joint.row_names:
            found.append(
                Problem(path, f"a {loop.joint.kind} joint holds nothing.", "Remove it, or choose another joint.")
            )
    return found


def _rotors(model: Elements) -> list[Problem]:
    names = {body.name for body in model.bodies}
    found = []
    for rotor in model.rotors:
        path = f"rotor '{rotor.name}'"
        if rotor.body not in names:
            found.append(Problem(path, f"there is no body '{rotor.body}'.", nearest(rotor.body, names)))
        found += joint_motion(path, rotor.body, rotor.joint, rotor.motion, model)
        inertia = value(rotor.inertia, at_start(model))
        if inertia < 0:
            found.append(Problem(f"{path}, inertia", f"the inertia is {inertia:g}.", "Expected at least 0."))
    return found


def title(load: Load) -> str:
    """What messages call a load."""
    kinds = {
        Force: "force",
        Torque: "torque",
        JointTorque: "joint_torque",
        JointSpring: "joint_spring",
        JointFriction: "joint_friction",
        Spring: "spring",
        Damper: "damper",
    }
    return f"{kinds[type(load)]} '{load.name}'"


def named(load: Load) -> list[tuple[str, str]]:
    """The bodies a load names, each with the key it stands under."""
    match load:
        case Force():
            return [("body", load.body), ("frame", load.frame)]
        case Torque():
            reaction = [] if load.reaction is None else [("reaction", load.reaction)]
            return [("body", load.body), ("frame", load.frame), *reaction]
        case JointTorque() | JointSpring() | JointFriction():
            return [("body", load.body)]
        case Spring() | Damper():
            return [("bodies", name) for name in load.bodies]


def _without_bodies(model: Elements) -> list[Problem]:
    advice = "Put it into the potential or the forces of the energies."
    found = [
        Problem(
            f"contact '{c.name}'", "it touches a body, but the system is described by energies.", "Write a formula."
        )
        for c in model.contacts
    ] + [
        Problem(title(load), "it acts on a body, but the system is described by energies.", advice)
        for load in model.loads
    ]
    # a gravity that cannot be read is told by `numbers`
    with suppress(InputError):
        if any(g != 0 for g in model.gravity):
            found.append(Problem("gravity", "it acts on bodies, but the system is described by energies.", advice))
    return found


def _bodies(load: Load, model: Elements) -> list[Problem]:
    names = {body.name for body in model.bodies}
    found = []
    for key, name in named(load):
        if name == WORLD and key == "body":
            fact = "it acts on the world, which does not move."
            found.append(Problem(f"{title(load)}, body", fact, f"Expected a body. {nearest('', names)}"))
        elif name not in names and name != WORLD:
            known = names if key == "body" else {WORLD, *names}
            fact = f"there is no body '{name}'."
            found.append(Problem(f"{title(load)}, {key}", fact, nearest(name, known)))
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
