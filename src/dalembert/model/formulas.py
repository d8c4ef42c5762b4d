"""Reading of formulas: strings with the safe parser, SymPy expressions with the SymPy bridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import FormulaError, InputError
from dalembert.model.profiles import Profile, spline, spline_from_function
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import Formula, Written
from dalembert.symbolic.sympy_bridge import from_sympy

if TYPE_CHECKING:
    import sympy


# a motion in time: a formula of t, a profile, points (times, values) or their table in a file, or a function of time
TimeLaw: TypeAlias = (
    "Written | Profile | tuple[ArrayLike, ArrayLike] | Mapping[str, ArrayLike] | Callable[[float], ArrayLike]"
)


@dataclass(frozen=True)
class FormulaReader:
    """Converts user input to formulas of the declared names."""

    coordinates: tuple[str, ...]
    parameters: tuple[str, ...]
    symbols: Mapping[str, sympy.Basic]  # SymPy objects of the declared names
    points: Mapping[str, Callable[[str], Formula]] = field(default_factory=dict)  # height, rise and speed of points

    @property
    def names(self) -> set[str]:
        """All declared names."""
        return {*self.coordinates, *self.parameters}

    def read(self, formula: Written, where: str, *, rates: bool = True, momenta: bool = False) -> Formula:
        """Read a formula of coordinates, time, parameters and, with `rates`, velocities; momenta p(x) only in a str."""
        if isinstance(formula, str | int | float):
            known, values = self.coordinates, self.parameters
            options = {"where": where, "rates": rates, "momenta": momenta, "points": self.points}
            return parse(formula, coordinates=known, parameters=values, **options)
        from sympy import Symbol
        from sympy.physics.mechanics import dynamicsymbols

        moving: dict[Any, str] = {self.symbols.get(name, dynamicsymbols(name)): name for name in self.coordinates}
        fixed: dict[sympy.Basic, str] = {self.symbols.get(name, Symbol(name)): name for name in self.parameters}
        return from_sympy(formula, coordinates=moving, parameters=fixed, where=where, rates=rates)

    def law(self, time_law: TimeLaw, where: str, duration: float) -> Profile:
        """Read a motion of one value: a formula, the points of a spline, or a function sampled over the duration."""
        if isinstance(time_law, Profile):
            if len(time_law) != 1:
                raise InputError(f"{where}: the profile has {len(time_law)} values. Expected one: use profile[0], ...")
            return time_law
        if isinstance(time_law, Mapping):
            if not {"times", "values"} <= {*time_law} <= {"times", "values", "accelerations"}:
                keys = ", ".join(map(str, time_law))
                raise InputError(f"{where}: got the keys {keys}. Expected times, values and accelerations.")
            return self.law(
                spline(time_law["times"], time_law["values"], accelerations=time_law.get("accelerations")),
                where,
                duration,
            )
        if isinstance(time_law, tuple | list | np.ndarray):
            if len(time_law) != 2:
                got = f"got {len(time_law)} values"
                raise InputError(f"{where}: {got}. Expected points as (times, values), or a formula of t.")
            return self.law(spline(*time_law), where, duration)
        if callable(time_law) and not hasattr(time_law, "free_symbols"):  # SymPy expressions are callable, too
            function: Callable[[float], Any] = time_law
            return self.law(spline_from_function(function, duration), where, duration)
        known = replace(self, coordinates=(), points={}).read(time_law, where, rates=False)
        return Profile((known,), -np.inf, np.inf, scalar=True)

    def constant(self, formula: Written, where: str) -> Formula:
        """Read a formula of parameters only."""
        if isinstance(formula, str | int | float) and (known := _constant(formula, self.parameters)) is not None:
            return known
        out = self.read(formula, where)
        changing = sorted(str(s) for s in out.free_symbols if str(s) not in self.parameters)
        if changing:
            raise FormulaError(
                f"{where}: '{formula}' depends on {', '.join(changing)}. "
                "Expected a constant: a number or a formula of parameters. Move the time-varying part to a joint or a load."
            )
        return out


@lru_cache(maxsize=1024, typed=True)
def _constant(formula: str | float, parameters: tuple[str, ...]) -> Formula | None:
    """Parse a formula of parameters, cached; None if parsing fails, so that the caller reports the path."""
    try:
        return parse(formula, coordinates=(), parameters=parameters, where="", rates=False, time=False)
    except FormulaError:
        return None
