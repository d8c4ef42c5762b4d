"""Reading formulas for a model: text through the safe parser, SymPy expressions through the bridge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import FormulaError
from dalembert.expressions import from_sympy, parse
from dalembert.expressions.formula import Formula


@dataclass(frozen=True)
class Reader:
    """Knows the declared names and turns whatever the user wrote into a formula."""

    coordinates: tuple[str, ...]
    parameters: tuple[str, ...]
    symbols: Mapping[str, Any]  # the SymPy objects that names were declared by

    @property
    def names(self) -> set[str]:
        """All declared names."""
        return {*self.coordinates, *self.parameters}

    def read(self, formula: Formula, where: str, *, rates: bool = True) -> Any:
        """The formula of coordinates, time, parameters and, if `rates`, velocities."""
        if isinstance(formula, str | int | float):
            return parse(formula, coordinates=self.coordinates, parameters=self.parameters, where=where, rates=rates)
        return from_sympy(
            formula,
            coordinates=self._sympy_coordinates(),
            parameters=self._sympy_parameters(),
            where=where,
            rates=rates,
        )

    def canonical(self, formula: Formula, where: str) -> Any:
        """The formula of coordinates, time, parameters and momenta p(x); momenta can be written as text only."""
        if isinstance(formula, str | int | float):
            known, values = self.coordinates, self.parameters
            return parse(formula, coordinates=known, parameters=values, where=where, rates=False, momenta=True)
        return self.read(formula, where, rates=False)

    def constant(self, formula: Formula, where: str) -> Any:
        """A formula of parameters only."""
        out = self.read(formula, where)
        changing = sorted(str(s) for s in out.free_symbols if str(s) not in self.parameters)
        if changing:
            raise FormulaError(
                f"{where}: '{formula}' depends on {', '.join(changing)}. "
                "Expected a constant: a number or a formula of parameters. Put what moves into a joint or a load."
            )
        return out

    def _sympy_coordinates(self) -> dict[Any, str]:
        from sympy.physics.mechanics import dynamicsymbols

        return {self.symbols.get(name, dynamicsymbols(name)): name for name in self.coordinates}

    def _sympy_parameters(self) -> dict[Any, str]:
        from sympy import Symbol

        return {self.symbols.get(name, Symbol(name)): name for name in self.parameters}
