"""What was understood of a model, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert import formalisms
from dalembert.analysis.mobility import mobility
from dalembert.kinematics import Structure, structure
from dalembert.kinematics.contacts import with_contacts
from dalembert.model.checks.values import value
from dalembert.model.loads import Damper, Force, JointTorque, Load, Spring, Torque

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.model.elements import Body
    from dalembert.model.joints import Joint


def understood(model: Model) -> dict[str, Any]:
    """Everything declared in a sound model, and what follows from it; contacts are shown as the constraints they make."""
    model = with_contacts(model)
    known = structure(model)
    able = formalisms.applicable(model, known)
    refusals = {m.ABOUT.key: formalisms.refusal(m.ABOUT, model, known) for m in formalisms.FORMALISMS}
    return {
        "model": model.name,
        "description": model.description,
        "gravity": [str(g) for g in model.gravity],
        "parameters": [vars(parameter) for parameter in model.parameter_list],
        "coordinates": _coordinates(model, known),
        "bodies": [_body(body, model) for body in model.bodies],
        "loads": [_load(load) for load in model.loads],
        "constraints": _constraints(model, known),
        "speeds": _speeds(model, known),
        "speeds_chosen": known.chosen,
        "energies": _energies(model),
        "degrees_of_freedom": known.d,
        "ignorable": [model.coordinate_names[i] for i in known.ignorable],
        "redundant": list(known.dropped),
        "non_ideal": {name: str(force) for name, force in model.non_ideal_forces.items()},
        "warnings": list(mobility(model, known).warnings),
        "formalisms": list(able),
        "refused": {key: reason for key, reason in refusals.items() if reason is not None},
        "duration": model.duration,
        "samples": model.samples,
    }


def _coordinates(model: Model, known: Structure) -> list[dict[str, Any]]:
    return [
        {
            "name": c.name,
            "start": c.start,
            "rate": c.start_rate,
            "unit": c.unit,
            "description": c.description,
            "ignorable": c.name not in known.reasons,
            "reason": known.reasons.get(c.name),
        }
        for c in model.coordinate_list
    ]


def _body(body: Body, model: Model) -> dict[str, Any]:
    return {
        "name": body.name,
        "parent": body.parent,
        "mass": str(body.mass),
        "mass_value": value(body.mass, model.parameter_values),
        "joints": [_joint(joint) for joint in body.joints],
        "description": body.description,
    }


def _joint(joint: Joint) -> dict[str, Any]:
    axis = getattr(joint, "axis", None)
    return {
        "kind": joint.kind,
        "axis": None if axis is None else [float(a) for a in axis],
        "value": ", ".join(map(str, joint.values)),
        "position": [str(p) for p in joint.position],
        "rotation": [str(r) for r in joint.rotation],
    }


def _load(load: Load) -> dict[str, Any]:
    """What kind of load, on what, by which law."""
    match load:
        case Force():
            kind, on, law = "force", load.body, f"({_list(load.force)}) in axes of {load.frame}"
        case Torque():
            on = f"{load.body} against {load.reaction}" if load.reaction else load.body
            kind, law = "torque", f"({_list(load.torque)}) in axes of {load.frame}"
        case JointTorque():
            kind, on, law = "joint_torque", f"joint {load.joint} of {load.body}", str(load.value)
        case Spring():
            law = f"stiffness {load.stiffness}, natural length {load.natural_length}"
            kind, on = "spring", " and ".join(load.bodies)
        case Damper():
            kind, on, law = "damper", " and ".join(load.bodies), f"damping {load.damping}"
    return {"name": load.name, "kind": kind, "on": on, "law": law}


def _list(formulas: tuple[Any, ...]) -> str:
    return ", ".join(str(formula) for formula in formulas)


def _constraints(model: Model, known: Structure) -> list[dict[str, Any]]:
    written = [("holonomic", c, c.phi) for c in model.holonomic_list]
    written += [("nonholonomic", c, c.psi) for c in model.nonholonomic_list]
    return [
        {
            "name": c.name,
            "kind": kind,
            "formula": str(formula),
            "description": c.description,
            "redundant": c.name in known.dropped,
            "feedback": [str(gain) for gain in c.feedback],
        }
        for kind, c, formula in written
    ]


def _speeds(model: Model, known: Structure) -> list[dict[str, Any]]:
    about = {speed.name: speed.description for speed in model.speed_list}
    pairs = zip(known.speed_names, known.speeds, strict=True)
    return [{"name": name, "formula": str(u), "description": about.get(name, "")} for name, u in pairs]


def _energies(model: Model) -> dict[str, Any] | None:
    if model.energies is None:
        return None
    given = model.energies
    forces = [str(force) for force in given.forces]
    return {"kinetic": str(given.kinetic), "potential": str(given.potential), "forces": forces}
