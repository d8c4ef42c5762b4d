"""Reading formulas for a model: text through the safe parser, SymPy expressions through the bridge."""

from __future__ import annotations

from typing import Any

from dalembert.errors import FormulaError
from dalembert.expressions import from_sympy, parse


class Reader:
    """Knows the declared names and turns whatever the user wrote into a formula."""

    def __init__(self) -> None:
        self._coordinates: dict[str, Any] = {}
        self._parameters: dict[str, Any] = {}

    def add_coordinate(self, name: str, given: Any) -> None:
        """Remember a coordinate and the dynamicsymbol it was declared by, if any."""
        self._coordinates[name] = None if isinstance(given, str) else given

    def add_parameter(self, name: str, given: Any) -> None:
        """Remember a parameter and the SymPy symbol it was declared by, if any."""
        self._parameters[name] = None if isinstance(given, str) else given

    def copy(self) -> Reader:
        """An independent copy."""
        out = Reader()
        out._coordinates, out._parameters = dict(self._coordinates), dict(self._parameters)
        return out

    @property
    def names(self) -> set[str]:
        """All declared names."""
        return {*self._coordinates, *self._parameters}

    @property
    def sympy_symbols(self) -> dict[str, Any]:
        """The SymPy objects that were declared, by name."""
        both = {**self._coordinates, **self._parameters}
        return {name: given for name, given in both.items() if given is not None}

    def read(self, formula: Any, where: str, *, rates: bool = True) -> Any:
        """The formula of coordinates, time, parameters and, if `rates`, velocities."""
        if isinstance(formula, str | int | float):
            return parse(formula, coordinates=self._coordinates, parameters=self._parameters, where=where, rates=rates)
        return from_sympy(
            formula,
            coordinates=self._sympy_coordinates(),
            parameters=self._sympy_parameters(),
            where=where,
            rates=rates,
        )

    def canonical(self, formula: Any, where: str) -> Any:
        """The formula of coordinates, time, parameters and momenta p(x); momenta can be written as text only."""
        if isinstance(formula, str | int | float):
            known, values = self._coordinates, self._parameters
            return parse(formula, coordinates=known, parameters=values, where=where, rates=False, momenta=True)
        return self.read(formula, where, rates=False)

    def constant(self, formula: Any, where: str) -> Any:
        """A formula of parameters only."""
        if isinstance(formula, str):
            moving = set(self._coordinates)
            out = parse(formula, coordinates=moving, parameters=self._parameters, where=where)
        else:
            out = self.read(formula, where)
        changing = sorted(str(s) for s in out.free_symbols if str(s) not in self._parameters)
        if changing:
            raise FormulaError(
                f"{where}: '{formula}' depends on {', '.join(changing)}. "
                "Expected a constant: a number or a formula of parameters. Put what moves into a joint or a load."
            )
        return out

    def _sympy_coordinates(self) -> dict[Any, str]:
        from sympy.physics.mechanics import dynamicsymbols

        return {dynamicsymbols(name) if given is None else given: name for name, given in self._coordinates.items()}

    def _sympy_parameters(self) -> dict[Any, str]:
        from sympy import Symbol

        return {Symbol(name) if given is None else given: name for name, given in self._parameters.items()}
