"""Constraints on velocities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from dalembert.arguments import checked
from dalembert.errors import Problem
from dalembert.model.checks.check_start import unfulfilled
from dalembert.model.checks.check_values import Table
from dalembert.model.constraints.base import DESCRIBED, GAIN, ConstraintMaker, FormulaConstraint, Gains
from dalembert.model.keys import Key, Keys, moving
from dalembert.symbolic.reserved_symbols import rate
from dalembert.symbolic.symbols import Formula, Written, coordinate

if TYPE_CHECKING:
    from dalembert.model.description import Elements


@dataclass(frozen=True)
class Nonholonomic(FormulaConstraint):
    """A constraint ψ(q, q̇, t) = 0; with a feedback gain α a servo constraint ψ̇ + α ψ = 0."""

    kind: ClassVar[str] = "nonholonomic"
    gains: ClassVar[int] = 1
    forms: ClassVar[Mapping[str, Keys]] = {"nonholonomic": {**DESCRIBED, "formula": Key(moving, required=True), **GAIN}}

    @property
    def psi(self) -> Formula:
        """ψ."""
        return self.formula

    def pull(self, velocity: Formula) -> Formula:
        """α ψ."""
        (alpha,) = self.feedback or (0,)
        return alpha * velocity

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """A formula without velocities, and a start that violates it."""
        q, qd = ({symbol(name) for name in model.coordinate_names} for symbol in (coordinate, rate))
        if self.psi.free_symbols & qd:
            free = self.feedback or model.assemble_start
            return [] if free else unfulfilled(self.title, "ψ", self.psi, qd, "rates", table)
        if self.psi.free_symbols & q:
            return self._idle("no velocity", "It restricts positions: declare it as holonomic.")
        advice = "Remove it, or use the velocities it ties together."
        return self._idle("neither coordinates nor velocities", advice)


class NonholonomicMaker(ConstraintMaker):
    """Makes constraints on velocities."""

    nonholonomic_list: tuple[Nonholonomic, ...]

    @checked
    def nonholonomic(
        self, psi: Written, name: str | None = None, description: str = "", feedback: Gains | None = None
    ) -> Self:
        """Impose ψ(q, q̇, t) = 0; with `feedback` = α as a servo constraint, ψ̇ + α ψ = 0."""
        given = {"formula": psi, "description": description, "feedback": feedback}
        self.nonholonomic_list = self._constraint(Nonholonomic, name, self.nonholonomic_list, **given)
        return self
