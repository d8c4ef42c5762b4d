"""Holonomic constraints: formulas, and drives that prescribe the motion of a coordinate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem, suggest_name
from dalembert.model.constraints.base import FormulaConstraint, Gains, read_gains, two_gains
from dalembert.model.evaluation import Table, constraint_problems, open_rate
from dalembert.model.keys import (
    MAX_FILE_ROWS,
    Element,
    Key,
    Keys,
    ValueType,
    many,
    name,
    number,
    of_time,
    omit_default,
    position,
    problem_of,
    table,
)
from dalembert.model.record import argument, builder_of, record
from dalembert.model.values import TimeLaw
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.lookup_tables import cubic_points
from dalembert.symbolic.symbols import TIME, Formula, Written, coordinate

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

_formula = ValueType(
    position.check, lambda model, x, where: model.reader.read(x, where, rates=False), write_formula, unnamed=True
)
_DRIVEN = "prescribed motion of "
_COLUMN = many(number, "numbers", MAX_FILE_ROWS)
_POINTS: Keys = {
    "times": Key(_COLUMN, required=True),
    "values": Key(_COLUMN, required=True),
    "accelerations": Key(_COLUMN),
}


def _motion(value: object, where: str, model: Elements) -> Iterator[Problem]:
    """Validate a formula of time, or the points of a spline."""
    if not isinstance(value, dict):
        yield from of_time(value, where, model)
        return
    found = list(table(value, _POINTS, where, model))
    yield from found or problem_of(where, lambda: model.reader.law(value, where, 0.0))


@record
class Holonomic(FormulaConstraint):
    """A constraint φ(q, t) = 0; with feedback gains (α, β) a servo constraint φ̈ + β φ̇ + α φ = 0."""

    kind = "holonomic"
    model_attribute = "holonomic_constraints"

    formula: Formula = argument(_formula, positional=True, about="a formula; the constraint is formula = 0")

    @property
    def phi(self) -> Formula:
        """φ."""
        return self.formula

    def pull(self, velocity: Formula) -> Formula:
        """β φ̇ + α φ of (5.96) in papers/desapio."""
        alpha, beta = self.feedback or (0, 0)
        return beta * velocity + alpha * self.phi

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        q = {coordinate(name) for name in model.coordinate_names}
        if not self.phi.free_symbols & q:
            return self._ineffective("no coordinate", "Remove it, or use the coordinates it constrains.")
        if self.feedback or model.assemble_start:
            return []
        found = constraint_problems(self.title, "φ", self.phi, q, "positions", table)
        return found + open_rate(self.title, self.phi, q, table)

    @property
    def prescribed(self) -> str | None:
        """The coordinate whose motion it prescribes; None for a constraint defined by a formula."""
        name = self.description.removeprefix(_DRIVEN)
        known = {symbol.name for symbol in self.phi.free_symbols}
        return name if name != self.description and name in known else None

    def driven(self, model: Elements) -> Element | None:
        """The keys of the drive that created it; None for a constraint defined by a formula."""
        name = self.prescribed
        if name is None or name not in model.coordinate_names:
            return None
        motion, where = -self.phi.subs({coordinate(name): 0}), f"drive '{self.name}'"
        points = cubic_points(motion)
        known = {TIME.name, *model.parameter_values}
        if points is None and (
            coordinate(name) - motion != self.phi or not {symbol.name for symbol in motion.free_symbols} <= known
        ):
            return None
        if points is not None and len(points[0]) > MAX_FILE_ROWS:
            raise InputError(
                f"{where}: the motion has {len(points[0])} points. Expected at most {MAX_FILE_ROWS} in a file. "
                "Sample it with a larger `accuracy`."
            )
        columns = {key: x.tolist() for key, x in zip(("times", "values", "accelerations"), points or (), strict=False)}
        return {
            "name": omit_default(self.name, f"drive of {name}"),
            "coordinate": name,
            "motion": write_formula(motion, where) if points is None else columns,
            "feedback": omit_default(two_gains.write(self.feedback, where), []),
        }


@builder_of(Holonomic)
def holonomic(
    model: Model, phi: Written, name: str | None = None, description: str = "", feedback: Gains | None = None
) -> Model:
    """Impose the holonomic constraint φ(q, t) = 0.

    With `feedback` = (α, β) it is a servo constraint, φ̈ + β φ̇ + α φ = 0, that a control force drives to zero: the initial
    state may violate it.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    phi : formula
        φ(q, t).
    name : str, optional
        Unique name of the constraint; numbered if None.
    description : str
        What it means.
    feedback : tuple of formula, optional
        Gains (α, β), 1/s² and 1/s.
    """
    return Holonomic.build(model, formula=phi, name=name, description=description, feedback=feedback)


@builder_of(
    Holonomic,
    {
        "name": replace(Holonomic.keys()["name"], default_description="`drive of` and the name of the coordinate"),
        "coordinate": Key(name, required=True, description="the driven coordinate"),
        "motion": Key(
            _motion, required=True, description="a formula of parameters and the time `t`, or interpolation points"
        ),
        "feedback": replace(
            Holonomic.keys()["feedback"],
            description="gains `[alpha, beta]` of a [servo constraint](#feedback-servo-constraints)",
        ),
    },
)
def drive(
    model: Model, coordinate: str, motion: TimeLaw, name: str | None = None, feedback: Gains | None = None
) -> Model:
    """Prescribe the motion of a coordinate (rheonomic constraint). Its multiplier is the driving force.

    A motion is a formula of time (str or SymPy), a profile such as `dl.cycloidal(0, 1, 2)`, points (times, values) that are
    interpolated by a spline, or a function of time, which is sampled over the duration of the model. In files, points are a
    table of `times`, `values` and `accelerations`, the accelerations at the points.
    With `feedback` = (α, β) it is a computed-torque controller: the tracking error e decays as ë + β ė + α e = 0.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    coordinate : str
        The driven coordinate.
    motion : formula, Profile, callable or tuple of array_like
        The motion as a function of time.
    name : str, optional
        Unique name of the constraint; by default `drive of` and the coordinate.
    feedback : tuple of formula, optional
        Gains (α, β), 1/s² and 1/s.
    """
    if coordinate not in model.coordinate_names:
        raise InputError(
            f"drive: there is no coordinate '{coordinate}'. {suggest_name(coordinate, model.coordinate_names)}"
        )
    key = name or f"drive of {coordinate}"
    (formula,) = model.reader.law(motion, f"'{key}'", model.duration).formulas
    phi = model.reader.read(coordinate, f"'{key}'") - formula
    gains = read_gains(model, feedback, 2, f"'{key}', feedback")
    model.holonomic_constraints += (Holonomic(key, phi, description=_DRIVEN + coordinate, feedback=gains),)
    return model
