"""Constraints on coordinates and momenta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.model.constraints.base import FormulaConstraint
from dalembert.model.evaluation import Table
from dalembert.model.keys import ValueType, of_momenta
from dalembert.model.record import argument, builder_of, record
from dalembert.symbolic.formula_writer import write_formula
from dalembert.symbolic.symbols import Formula, Written, momentum

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

_formula = ValueType(
    of_momenta, lambda model, x, where: model.formula(x, where, momenta=True), write_formula, unnamed=True
)


@record
class Canonical(FormulaConstraint):
    """A constraint φ(q, p, t) = 0 on coordinates and momenta: (5.287) of papers/desapio."""

    kind = "canonical"
    model_attribute = "canonical_constraints"

    formula: Formula = argument(
        _formula, positional=True, about="a formula of coordinates, momenta and `t`; the constraint is formula = 0"
    )

    @property
    def phi(self) -> Formula:
        """φ."""
        return self.formula

    def problems(self, model: Elements, table: Table) -> list[Problem]:
        """A formula without momenta; the initial state is checked later, when momenta are known."""
        if self.phi.free_symbols & {momentum(name) for name in model.coordinate_names}:
            return []
        return self._ineffective("no momentum", "It constrains positions: declare it as holonomic.")


@builder_of(Canonical, {key: about for key, about in Canonical.keys().items() if key != "feedback"})
def canonical(model: Model, phi: Written, name: str | None = None, description: str = "") -> Model:
    """Impose φ(q, p, t) = 0 on coordinates and momenta, with p(x) = ∂L/∂q̇ of the coordinate x; `dirac` only.

    The multiplier enters the Hamiltonian and changes both coordinates and momenta: (5.287)–(5.292) of papers/desapio.
    The motion differs from that of d'Alembert's principle, even if p = M q̇ makes φ a constraint on velocities.
    The initial momenta follow from the initial rates.

    Parameters
    ----------
    model : Model
        The model to which it is added.
    phi : formula
        φ(q, p, t), with the momentum p(x) of a coordinate x.
    name : str, optional
        Unique name of the constraint; numbered if None.
    description : str
        What it means.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("particle").coordinates("x", "y")
    >>> _ = model.body("particle", joint=[model.prismatic((1, 0, 0), "x"), model.prismatic((0, 1, 0), "y")], mass=2)
    >>> model.canonical("x*p(y) - y*p(x) - 3", name="spin").canonical_constraints[0].phi
    -3 + x*p(y) - y*p(x)
    """
    return Canonical.build(model, formula=phi, name=name, description=description, feedback=None)
