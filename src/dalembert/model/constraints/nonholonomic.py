"""Nonholonomic constraints: formulas of velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.model.constraints.base import FormulaConstraint, Gains, one_gain
from dalembert.model.evaluation import Table, constraint_problems
from dalembert.model.keys import moving
from dalembert.model.record import argument, builder_of, record
from dalembert.symbolic.symbols import Formula, Written, coordinate, rate

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model


@record
class Nonholonomic(FormulaConstraint):
    """A constraint ψ(q, q̇, t) = 0; with a feedback gain α a servo constraint ψ̇ + α ψ = 0."""

    kind = "nonholonomic"
    model_attribute = "nonholonomic_constraints"
    gains = 1

    formula: Formula = argument(moving, positional=True, about="a formula; the constraint is formula = 0")
    feedback: tuple[Formula, ...] = argument(
        one_gain, None, saved=[], about="gain `alpha` of a servo constraint", default=(), kw_only=True
    )

    @property
    def psi(self) -> Formula:
        """ψ."""
        return self.formula

    def pull(self, velocity: Formula) -> Formula:
        """α ψ."""
        (alpha,) = self.feedback or (0,)
        return alpha * velocity

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        q, qd = ({symbol(name) for name in model.coordinate_names} for symbol in (coordinate, rate))
        if self.psi.free_symbols & qd:
            free = self.feedback or model.assemble_start
            return [] if free else constraint_problems(self.title, "ψ", self.psi, qd, "rates", table)
        if self.psi.free_symbols & q:
            return self._ineffective("no velocity", "It constrains positions: declare it as holonomic.")
        advice = "Remove it, or use the velocities it constrains."
        return self._ineffective("neither coordinates nor velocities", advice)


@builder_of(Nonholonomic)
def nonholonomic(
    model: Model, psi: Written, name: str | None = None, description: str = "", feedback: Gains | None = None
) -> Model:
    """Impose the nonholonomic constraint ψ(q, q̇, t) = 0.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    psi : formula
        ψ(q, q̇, t).
    name : str, optional
        Unique name of the constraint; numbered if None.
    description : str
        What it means.
    feedback : formula, optional
        Gain α of a servo constraint, ψ̇ + α ψ = 0, 1/s.
    """
    return Nonholonomic.build(model, formula=psi, name=name, description=description, feedback=feedback)
