"""What was understood of a model, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dalembert.analysis.mobility import Mobility, report
from dalembert.formalisms import catalogue as formalisms
from dalembert.mechanics.contact_constraints import with_contacts
from dalembert.mechanics.facts import Facts, facts_of
from dalembert.model.constraints.loop import Loop
from dalembert.model.description import Elements
from dalembert.model.elements import Body, Rotor
from dalembert.model.evaluation import value
from dalembert.model.joints.base import Joint
from dalembert.model.loads.base import Load
from dalembert.symbolic.exact_numbers import written_out
from dalembert.symbolic.symbols import Formula

Row = dict[str, object]


@dataclass(frozen=True)
class Understanding:
    """A sound model, contacts as the constraints they make, and what follows from it."""

    model: Elements
    known: Facts
    moves: Mobility
    refused: dict[str, str]  # the formalisms that cannot treat it, with the reason

    @property
    def formalisms(self) -> list[str]:
        """The formalisms that can treat it."""
        return [key for key in formalisms.KEYS if key not in self.refused]

    def sections(self) -> dict[str, list[Row]]:
        """Everything declared, element by element."""
        model, known = self.model, self.known
        about = {speed.name: speed.description for speed in model.generalized_speeds}
        pairs = zip(known.speed_names, known.speeds, strict=True)
        return {
            "parameters": [vars(parameter) for parameter in model.declared_parameters],
            "coordinates": _coordinates(model, known),
            "bodies": [_body(body, model) for body in model.bodies],
            "loops": [_loop(loop, known) for loop in model.loops],
            "loads": [_load(load, model) for load in model.loads],
            "rotors": [_rotor(rotor, model) for rotor in model.rotors],
            "constraints": _constraints(model, known),
            "speeds": [{"name": u, "formula": written_out(f), "description": about.get(u, "")} for u, f in pairs],
            "limits": [{"coordinate": name, **vars(limits)} for name, limits in model.limits.items()],
            "shapes": [vars(shape) for shape in model.shapes],
        }

    def to_dict(self) -> dict[str, object]:
        """Everything as plain data."""
        model, known, moves = self.model, self.known, self.moves
        return {
            "model": model.name,
            "description": model.text,
            "gravity": _texts(model.gravity),
            **self.sections(),
            "speeds_chosen": known.chosen,
            "energies": _energies(model),
            "degrees_of_freedom": known.d,
            "constraint_rows": list(known.levels.names),
            "independent": list(moves.independent),
            "ignorable": list(moves.ignorable),
            "redundant": list(known.dropped),
            "non_ideal": {name: written_out(force) for name, force in model.non_ideal_forces.items()},
            "warnings": list(moves.warnings),
            "notes": list(model.notes),
            "formalisms": self.formalisms,
            "refused": self.refused,
            "duration": model.duration,
            "samples": model.samples,
            "assemble": model.assemble_start,
        }


def understood(model: Elements) -> Understanding:
    """What is declared in a sound model, and what follows from it."""
    model = with_contacts(model)
    known = facts_of(model)
    refusals = {m.ABOUT.key: formalisms.refusal(m.ABOUT, model, known) for m in formalisms.FORMALISMS}
    refused = {key: reason for key, reason in refusals.items() if reason is not None}
    return Understanding(model, known, report(model, known), refused)


def _texts(formulas: Iterable[Formula]) -> list[str]:
    return [written_out(formula) for formula in formulas]


def _coordinates(model: Elements, known: Facts) -> list[Row]:
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
        for i, c in enumerate(model.generalized_coordinates)
    ]


def _body(body: Body, model: Elements) -> Row:
    return {
        "name": body.name,
        "parent": body.parent,
        "mass": written_out(body.mass),
        "mass_value": value(body.mass, model.parameter_values),
        "joints": [_joint(joint) for joint in body.joints],
        "description": body.description,
    }


def _joint(joint: Joint) -> Row:
    axes = getattr(joint, "axes", None) or [getattr(joint, key) for key in ("axis", "normal") if hasattr(joint, key)]
    moves = zip(joint.motions, joint.values, strict=True)
    return {
        "kind": joint.kind,
        "axis": [float(a) for a in axes[0]] if len(axes) == 1 else None,
        "axes": [[float(a) for a in axis] for axis in axes],
        "value": ", ".join(_texts(joint.values)),
        "motions": [{"name": name, "formula": written_out(formula)} for name, formula in moves],
        "position": _texts(joint.position),
        "rotation": _texts(joint.rotation),
    }


def _loop(loop: Loop, known: Facts) -> Row:
    """What a loop joins, and which of its rows say nothing new."""
    rows = dict(zip(loop.row_names, loop.joint.row_names, strict=True))
    return {
        "name": loop.name,
        "bodies": list(loop.bodies),
        "joint": loop.joint.kind,
        "rows": list(rows.values()),
        "redundant": [row for name, row in rows.items() if name in known.dropped],
        "position": _texts(loop.position),
        "rotation": _texts(loop.rotation),
        "feedback": _texts(loop.feedback),
        "description": loop.description,
    }


def _rotor(rotor: Rotor, model: Elements) -> Row:
    on = _motion((rotor.body, rotor.joint, rotor.motion), model)
    return {"name": rotor.name, "on": on, "inertia": written_out(rotor.inertia), "ratio": written_out(rotor.ratio)}


def _motion(place: tuple[str, int, int], model: Elements) -> str:
    """The joint something sits in, with the motion where the joint has several."""
    name, joint, motion = place
    moves = next(body for body in model.bodies if body.name == name).joints[joint].motions
    which = f", {moves[motion]}" if len(moves) > 1 else ""
    return f"joint {joint} of {name}{which}"


def _load(load: Load, model: Elements) -> Row:
    """What kind of load, on what, by which law."""
    kind, law = load.law()
    on = " and ".join(_motion(place, model) for place in load.in_joints) or load.on
    return {"name": load.name, "kind": kind, "on": on, "law": law}


def _constraints(model: Elements, known: Facts) -> list[Row]:
    return [
        {
            "name": c.name,
            "kind": c.kind,
            "formula": written_out(c.formula),
            "description": c.description,
            "redundant": c.name in known.dropped,
            "feedback": _texts(c.feedback),
        }
        for c in model.formula_constraints
    ]


def _energies(model: Elements) -> Row | None:
    if model.energies is None:
        return None
    kinetic, potential = _texts((model.energies.kinetic, model.energies.potential))
    return {"kinetic": kinetic, "potential": potential, "forces": _texts(model.energies.forces)}
