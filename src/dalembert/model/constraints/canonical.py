"""Constraints on coordinates and momenta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from dalembert.arguments import checked
from dalembert.errors import Problem
from dalembert.model.checks.check_values import Table
from dalembert.model.constraints.base import DESCRIBED, ConstraintMaker, FormulaConstraint
from dalembert.model.keys import Key, Keys, Kind, canonical
from dalembert.symbolic.formula_writer import written
from dalembert.symbolic.reserved_symbols import momentum
from dalembert.symbolic.symbols import Formula, Written

if TYPE_CHECKING:
    from dalembert.model.description import Elements

_formula = Kind(canonical, lambda maker, x, where: maker.formula(x, where, momenta=True), written, alone=True)


@dataclass(frozen=True)
class Canonical(FormulaConstraint):
    """A constraint φ(q, p, t) = 0 on coordinates and momenta: (5.287) of papers/desapio."""

    kind: ClassVar[str] = "canonical"
    forms: ClassVar[Mapping[str, Keys]] = {"canonical": {**DESCRIBED, "formula": Key(_formula, required=True)}}

    @property
    def phi(self) -> Formula:
        """φ."""
        return self.formula

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """A formula without momenta; whether the start fulfils it is asked where momenta are known."""
        if self.phi.free_symbols & {momentum(name) for name in model.coordinate_names}:
            return []
        return self._idle("no momentum", "It restricts positions: declare it as holonomic.")


class CanonicalMaker(ConstraintMaker):
    """Makes constraints on momenta."""

    canonical_list: tuple[Canonical, ...]

    @checked
    def canonical(self, phi: Written, name: str | None = None, description: str = "") -> Self:
        """Impose φ(q, p, t) = 0 on coordinates and momenta, p(x) being ∂L/∂q̇ of the coordinate x; for `dirac` only.

        The multiplier enters the Hamiltonian, so that it moves coordinates and momenta: (5.287)–(5.292) of papers/desapio.
        This is another motion than that of d'Alembert's principle, also where p = M q̇ would make φ a constraint on velocities.
        The initial rates give the initial momenta.

        >>> from dalembert.model.model import Model
        >>> model = Model("particle").coordinates("x", "y")
        >>> _ = model.body("particle", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
        >>> model.canonical("x*p(y) - y*p(x) - 3", name="spin").canonical_list[0].phi
        -3 + x*p(y) - y*p(x)
        """
        given = {"formula": phi, "description": description}
        self.canonical_list = self._constraint(Canonical, name, self.canonical_list, **given)
        return self
