"""What was understood of a model, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert import formalisms
from dalembert.analysis.mobility import report
from dalembert.expressions.numbers import written_out
from dalembert.kinematics.contacts import with_contacts
from dalembert.model.checks.values import value
from dalembert.model.loads import InJoint, Load
from dalembert.structure import Facts, facts_of

if TYPE_CHECKING:
    from dalembert.model import Elements
    from dalembert.model.constraints import Loop
    from dalembert.model.elements import Body, Rotor
    from dalembert.model.joints import Joint


def understood(model: Elements) -> dict[str, Any]:
    """Everything declared in a sound model, and what follows from it; contacts are shown as the constraints they make."""
    model = with_contacts(model)
    known = facts_of(model)
    able = formalisms.applicable(model, known)
    moves = report(model, known)
    refusals = {m.ABOUT.key: formalisms.refusal(m.ABOUT, model, known) for m in formalisms.FORMALISMS}
    return {
        "model": model.name,
        "description": model.text,
        "gravity": [written_out(g) for g in model.gravity],
        "parameters": [vars(parameter) for parameter in model.parameter_list],
        "coordinates": _coordinates(model, known),
        "bodies": [_body(body, model) for body in model.bodies],
        "loops": [_loop(loop, known) for loop in model.loops],
        "loads": [_load(load, model) for load in model.loads],
        "rotors": [_rotor(rotor, model) for rotor in model.rotors],
        "constraints": _constraints(model, known),
        "speeds": _speeds(model, known),
        "speeds_chosen": known.chosen,
        "energies": _energies(model),
        "limits": [{"coordinate": name, **vars(limits)} for name, limits in model.limits.items()],
        "shapes": [vars(shape) for shape in model.shapes],
        "degrees_of_freedom": known.d,
        "constraint_rows": list(known.levels.names),
        "independent": list(moves.independent),
        "ignorable": [model.coordinate_names[i] for i in known.ignorable],
        "redundant": list(known.dropped),
        "non_ideal": {name: written_out(force) for name, force in model.non_ideal_forces.items()},
        "warnings": list(moves.warnings),
        "notes": list(model.notes),
        "formalisms": list(able),
        "refused": {key: reason for key, reason in refusals.items() if reason is not None},
        "duration": model.duration,
        "samples": model.samples,
        "assemble": model.assemble_start,
    }


def _coordinates(model: Elements, known: Facts) -> list[dict[str, Any]]:
    return [
        {
            "name": c.name,
            "start": c.start,
            "rate": c.start_rate,
            "unit": c.unit,
            "description": c.description,
            "ignorable": i in known.ignorable,
            "reason": known.reasons[c.name],
        }
        for i, c in enumerate(model.coordinate_list)
    ]


def _body(body: Body, model: Elements) -> dict[str, Any]:
    return {
        "name": body.name,
        "parent": body.parent,
        "mass": written_out(body.mass),
        "mass_value": value(body.mass, model.parameter_values),
        "joints": [_joint(joint) for joint in body.joints],
        "description": body.description,
    }


def _joint(joint: Joint) -> dict[str, Any]:
    axes = getattr(joint, "axes", None) or [getattr(joint, key) for key in ("axis", "normal") if hasattr(joint, key)]
    moves = zip(joint.motions, joint.values, strict=True)
    return {
        "kind": joint.kind,
        "axis": [float(a) for a in axes[0]] if len(axes) == 1 else None,
        "axes": [[float(a) for a in axis] for axis in axes],
        "value": ", ".join(map(written_out, joint.values)),
        "motions": [{"name": name, "formula": written_out(formula)} for name, formula in moves],
        "position": [written_out(p) for p in joint.position],
        "rotation": [written_out(r) for r in joint.rotation],
    }


def _loop(loop: Loop, known: Facts) -> dict[str, Any]:
    """What a loop joins, and which of its rows say nothing new."""
    rows = dict(zip(loop.row_names, loop.joint.row_names, strict=True))
    return {
        "name": loop.name,
        "bodies": list(loop.bodies),
        "joint": loop.joint.kind,
        "rows": list(rows.values()),
        "redundant": [row for name, row in rows.items() if name in known.dropped],
        "position": [written_out(p) for p in loop.position],
        "rotation": [written_out(r) for r in loop.rotation],
        "feedback": [written_out(gain) for gain in loop.feedback],
        "description": loop.description,
    }


def _rotor(rotor: Rotor, model: Elements) -> dict[str, Any]:
    on = _motion(rotor, model)
    return {"name": rotor.name, "on": on, "inertia": written_out(rotor.inertia), "ratio": written_out(rotor.ratio)}


def _motion(element: InJoint | Rotor, model: Elements) -> str:
    """The joint something sits in, with the motion where the joint has several."""
    body = next(body for body in model.bodies if body.name == element.body)
    moves = body.joints[element.joint].motions
    which = f", {moves[element.motion]}" if len(moves) > 1 else ""
    return f"joint {element.joint} of {element.body}{which}"


def _load(load: Load, model: Elements) -> dict[str, Any]:
    """What kind of load, on what, by which law."""
    kind, law = load.law()
    on = _motion(load, model) if isinstance(load, InJoint) else load.on
    return {"name": load.name, "kind": kind, "on": on, "law": law}


def _constraints(model: Elements, known: Facts) -> list[dict[str, Any]]:
    return [
        {
            "name": c.name,
            "kind": c.kind,
            "formula": written_out(c.formula),
            "description": c.description,
            "redundant": c.name in known.dropped,
            "feedback": [written_out(gain) for gain in c.feedback],
        }
        for c in model.formula_constraints
    ]


def _speeds(model: Elements, known: Facts) -> list[dict[str, Any]]:
    about = {speed.name: speed.description for speed in model.speed_list}
    pairs = zip(known.speed_names, known.speeds, strict=True)
    return [{"name": name, "formula": written_out(u), "description": about.get(name, "")} for name, u in pairs]


def _energies(model: Elements) -> dict[str, Any] | None:
    if model.energies is None:
        return None
    given = model.energies
    forces = [written_out(force) for force in given.forces]
    return {"kinetic": written_out(given.kinetic), "potential": written_out(given.potential), "forces": forces}
