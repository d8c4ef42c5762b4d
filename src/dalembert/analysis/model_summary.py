"""The summary of a model as plain data, and its mobility."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.api.load import accepts_source
from dalembert.formalisms import catalog as formalisms
from dalembert.mechanics import rank, state_batch
from dalembert.mechanics.constraint_levels import with_contacts
from dalembert.mechanics.facts import Facts, facts_of
from dalembert.mechanics.state_batch import concatenate, constraint_matrix, one_state
from dalembert.model.constraints.loop import Loop
from dalembert.model.description import Elements
from dalembert.model.elements import Body, Rotor
from dalembert.model.evaluation import value
from dalembert.model.joints.base import Joint
from dalembert.model.loads.base import Load
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula
from dalembert.tables import Table, Tabular

Row = dict[str, Any]
_REFERENCE_STATES = 6  # number of states that the initial one is compared with
_NEARLY_SINGULAR = 1e-6  # relative independence of the constraints at the start below which a warning is given


@dataclass(frozen=True)
class ModelSummary:
    """A valid model with contacts as constraints, and the facts derived from it."""

    model: Elements
    facts: Facts
    mobility: Mobility
    refused: dict[str, str]  # the formulations that do not apply, with the reason

    @property
    def formalisms(self) -> list[str]:
        """The formulations that apply to the model."""
        return [key for key in formalisms.KEYS if key not in self.refused]

    def sections(self) -> dict[str, list[Row]]:
        """All declared elements by section."""
        model, facts = self.model, self.facts
        about = {speed.name: speed.description for speed in model.generalized_speeds}
        pairs = zip(facts.speed_names, facts.speeds, strict=True)
        return {
            "parameters": [vars(parameter) for parameter in model.declared_parameters],
            "coordinates": _coordinates(model, facts),
            "bodies": [_body(body, model) for body in model.bodies],
            "loops": [_loop(loop, facts) for loop in model.loops],
            "loads": [_load(load, model) for load in model.loads],
            "rotors": [_rotor(rotor, model) for rotor in model.rotors],
            "constraints": _constraints(model, facts),
            "speeds": [{"name": u, "formula": formula_string(f), "description": about.get(u, "")} for u, f in pairs],
            "limits": [{"coordinate": name, **vars(limits)} for name, limits in model.limits.items()],
            "shapes": [vars(shape) for shape in model.shapes],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        model, facts, moves = self.model, self.facts, self.mobility
        return {
            "model": model.name,
            "description": model.text,
            "gravity": _formula_strings(model.gravity),
            **self.sections(),
            "speeds_chosen": facts.chosen,
            "energies": _energies(model),
            "degrees_of_freedom": facts.d,
            "constraint_rows": list(facts.levels.names),
            "independent": list(moves.independent),
            "ignorable": list(moves.ignorable),
            "redundant": list(facts.dropped),
            "non_ideal": {name: formula_string(force) for name, force in model.non_ideal_forces.items()},
            "warnings": list(moves.warnings),
            "notes": list(model.notes),
            "formalisms": self.formalisms,
            "refused": self.refused,
            "duration": model.duration,
            "samples": model.samples,
            "assemble": model.assemble_start,
        }


def summarize(model: Elements) -> ModelSummary:
    """The summary of a valid model."""
    model = with_contacts(model)
    facts = facts_of(model)
    refusals = {m.ABOUT.key: formalisms.unsupported_reason(m.ABOUT, model, facts) for m in formalisms.FORMALISMS}
    refused = {key: reason for key, reason in refusals.items() if reason is not None}
    return ModelSummary(model, facts, mobility_of(model, facts), refused)


def _formula_strings(formulas: Iterable[Formula]) -> list[str]:
    return [formula_string(formula) for formula in formulas]


def _coordinates(model: Elements, facts: Facts) -> list[Row]:
    return [
        {
            "name": c.name,
            "start": c.start,
            "rate": c.start_rate,
            "unit": c.unit,
            "description": c.description,
            "ignorable": i in facts.ignorable,
            "reason": facts.reasons[c.name],
        }
        for i, c in enumerate(model.generalized_coordinates)
    ]


def _body(body: Body, model: Elements) -> Row:
    return {
        "name": body.name,
        "parent": body.parent,
        "mass": formula_string(body.mass),
        "mass_value": value(body.mass, model.parameter_values),
        "joints": [_joint(joint) for joint in body.joints],
        "description": body.description,
    }


def _joint(joint: Joint) -> Row:
    axes = getattr(joint, "axes", None) or [getattr(joint, key) for key in ("axis", "normal") if hasattr(joint, key)]
    motions = zip(joint.motions, joint.values, strict=True)
    return {
        "kind": joint.kind,
        "axis": [float(a) for a in axes[0]] if len(axes) == 1 else None,
        "axes": [[float(a) for a in axis] for axis in axes],
        "value": ", ".join(_formula_strings(joint.values)),
        "motions": [{"name": name, "formula": formula_string(formula)} for name, formula in motions],
        "position": _formula_strings(joint.position),
        "rotation": _formula_strings(joint.rotation),
    }


def _loop(loop: Loop, facts: Facts) -> Row:
    """The bodies and the joint of a loop, and its redundant rows."""
    rows = dict(zip(loop.row_names, loop.joint.row_names, strict=True))
    return {
        "name": loop.name,
        "bodies": list(loop.bodies),
        "joint": loop.joint.kind,
        "rows": list(rows.values()),
        "redundant": [row for name, row in rows.items() if name in facts.dropped],
        "position": _formula_strings(loop.position),
        "rotation": _formula_strings(loop.rotation),
        "feedback": _formula_strings(loop.feedback),
        "description": loop.description,
    }


def _rotor(rotor: Rotor, model: Elements) -> Row:
    on = _motion((rotor.body, rotor.joint, rotor.motion), model)
    return {
        "name": rotor.name,
        "on": on,
        "inertia": formula_string(rotor.inertia),
        "ratio": formula_string(rotor.ratio),
    }


def _motion(key: tuple[str, int, int], model: Elements) -> str:
    """The description of a joint, with the motion if the joint has several."""
    name, joint, motion = key
    motions = next(body for body in model.bodies if body.name == name).joints[joint].motions
    which = f", {motions[motion]}" if len(motions) > 1 else ""
    return f"joint {joint} of {name}{which}"


def _load(load: Load, model: Elements) -> Row:
    """The kind of a load, the element it acts on, and its law."""
    kind, law = load.law()
    on = " and ".join(_motion(motion, model) for motion in load.in_joints) or load.on
    return {"name": load.name, "kind": kind, "on": on, "law": law}


def _constraints(model: Elements, facts: Facts) -> list[Row]:
    return [
        {
            "name": c.name,
            "kind": c.kind,
            "formula": formula_string(c.formula),
            "description": c.description,
            "redundant": c.name in facts.dropped,
            "feedback": _formula_strings(c.feedback),
        }
        for c in model.formula_constraints
    ]


def _energies(model: Elements) -> Row | None:
    if model.energies is None:
        return None
    kinetic, potential = _formula_strings((model.energies.kinetic, model.energies.potential))
    return {"kinetic": kinetic, "potential": potential, "forces": _formula_strings(model.energies.forces)}


@dataclass(frozen=True, repr=False)
class Mobility(Tabular):
    """Degrees of freedom, numbers of coordinates and constraints, and warnings."""

    coordinates: int
    constraints: int
    degrees_of_freedom: int
    independent: tuple[str, ...]
    redundant: tuple[str, ...]
    ignorable: tuple[str, ...]
    regular_mass: bool
    rank_at_start: int
    warnings: tuple[str, ...]

    def tables(self) -> tuple[Table, ...]:
        """The counts with the names of the elements."""
        rows = [
            ("degrees of freedom", str(self.degrees_of_freedom), ""),
            ("coordinates", str(self.coordinates), ""),
            ("ignorable coordinates", str(len(self.ignorable)), ", ".join(self.ignorable)),
            ("constraints", str(self.constraints), ""),
            ("independent constraints", str(len(self.independent)), "; ".join(self.independent)),
            ("redundant constraints", str(len(self.redundant)), "; ".join(self.redundant)),
        ]
        return (Table(("mobility", "count", "names"), tuple(rows), "", self.warnings),)

    def __repr__(self) -> str:
        return f"<Mobility: {self.degrees_of_freedom} degrees of freedom, {self.coordinates} coordinates>"


@accepts_source
def mobility(model: Elements) -> Mobility:
    """Degrees of freedom, redundant constraints by name, and singular configurations.

    Parameters
    ----------
    model : Model, Description, str or Path
        The model, the name of a gallery example, or the path of a model file.

    Returns
    -------
    Mobility
        Numbers and names of coordinates and constraints, the rank at the initial state, and warnings.

    Raises
    ------
    ModelError
        If the model is incomplete or inconsistent.

    Examples
    --------
    >>> import dalembert as dl
    >>> mobility(dl.load("cart-pendulum")).degrees_of_freedom
    2
    """
    model.require_valid()
    written = with_contacts(model)
    return mobility_of(written, facts_of(written))


def mobility_of(model: Elements, facts: Facts) -> Mobility:
    """The mobility of a model with known structure; contacts must be converted to constraints before."""
    names = facts.levels.names
    rank, weakest = _at_start(model, facts)
    warnings = []
    if rank < len(facts.rows):
        warnings.append(
            f"singular configuration: at the initial state the constraint matrix has rank {rank} instead of {len(facts.rows)}, "
            f"so the system has {len(model.generalized_coordinates) - rank} instantaneous degrees of freedom"
        )
    elif weakest < _NEARLY_SINGULAR:
        warnings.append(
            "nearly singular configuration: at the initial state the independence of the constraints is "
            f"{weakest:.2g} of that at other states"
        )
    if facts.rank_note:
        warnings.append(facts.rank_note)
    if facts.nearly_dependent:
        warnings.append(
            f"the constraints are nearly dependent at all states: their independence is {facts.independence:.2g} (at most 1)"
        )
    if not facts.regular_mass:
        warnings.append("the mass matrix is singular; only formulations that do not invert it apply")
    warnings += [
        f"the constraint '{c.name}' contains momenta: it restricts states, not velocities, and is not counted here"
        for c in model.canonical_constraints
    ]
    return Mobility(
        len(model.generalized_coordinates),
        len(names),
        facts.d,
        tuple(names[i] for i in facts.rows),
        facts.dropped,
        tuple(model.coordinate_names[i] for i in facts.ignorable),
        facts.regular_mass,
        rank,
        tuple(warnings),
    )


def _at_start(model: Elements, facts: Facts) -> tuple[int, float]:
    """The rank of A at the initial state, and the independence of its rows relative to other states."""
    if not facts.rows:
        return 0, 1.0
    states = concatenate(one_state(*model.initial), state_batch.consistent_states(model, _REFERENCE_STATES))
    A = facts.dimensionless(constraint_matrix(model, facts.levels, states))[:, facts.rows]
    unit = facts.scales.positions
    # rows are scaled by their typical size, not by their size at the start
    lengths = np.linalg.norm(A * unit, axis=2)
    relative_lengths = lengths[0] / np.median(lengths[1:], axis=0)
    found = rank.independence(A, unit)
    start_rank = rank.numeric_rank(A[0] * (relative_lengths > rank.TOLERANCE)[:, None], unit)
    return int(start_rank), float(min(relative_lengths.min(), found[0] / np.median(found[1:])))
