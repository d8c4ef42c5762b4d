"""The linear equations of a small model with its parameters as symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.linear.symbolic_reduction import SymbolicReduction
from dalembert.display.math.symbol_names import for_latex
from dalembert.errors import InputError, nearest
from dalembert.simulation.derivation import derivation_of
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.reserved_symbols import Kind
from dalembert.symbolic.symbols import Written
from dalembert.symbolic.sympy_bridge import to_sympy

if TYPE_CHECKING:
    import sympy

    from dalembert.analysis.linearization import Linearization

_MOST = 8  # coordinates
_SAME = 1e-9
_PARTS = 24  # of half a turn: angles that are multiples of it stay exact


@dataclass(frozen=True)
class SymbolicLinearization:
    """A and B of ẋ = A x + B u as SymPy matrices of the parameters."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    A: sympy.Matrix
    B: sympy.Matrix

    def latex(self) -> str:
        """The equations as one formula of LaTeX."""
        import sympy

        names = {x: for_latex(str(x)) for x in self.A.free_symbols | self.B.free_symbols}
        body = sympy.latex(self.A, mat_str="matrix", mat_delim="(", symbol_names=names)
        state = _column([for_latex(name) for name in self.states])
        out = rf"\frac{{\mathrm d}}{{\mathrm dt}} {state} = {body} {state}"
        if self.inputs:
            drive = sympy.latex(self.B, mat_str="matrix", mat_delim="(", symbol_names=names)
            out += f" + {drive} {_column([f'f_{{{for_latex(name)}}}' for name in self.inputs])}"
        return out

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"


def _column(entries: list[str]) -> str:
    return r"\left(\begin{matrix}" + r" \\ ".join(entries) + r"\end{matrix}\right)"


def symbolic_of(linear: Linearization, state: Mapping[str, Written] | None) -> SymbolicLinearization:
    """The equations with symbols; `state` gives coordinates and rates dot(x) as formulas of parameters."""
    model = linear.model
    _require_small(linear)
    space = workspace_of(setup(model))
    derivation_of(space.setup, "lagrange").require_differentiable_by(sorted(space.facts.structural), "symbolic")
    values = _values(linear, dict(state or {}))
    chosen = [model.coordinate_names.index(name) for name in linear.states[: linear.coordinates]]
    A, B = SymbolicReduction(space.symbolic, values, chosen).matrices(_pushes(linear))
    found = np.array(A.subs({x: model.parameter_values[str(x)] for x in A.free_symbols}), dtype=float)
    if np.abs(found - linear.A).max(initial=0.0) > _SAME * max(1.0, np.abs(linear.A).max(initial=0.0)):
        raise InputError(
            f"symbolic: with its numbers put in, the result for model '{model.name}' is not that of the numbers. Expected a "
            "state that the formulas given describe: name coordinates and rates that depend on parameters, as in "
            "symbolic({'theta': 'atan(F/(m*g))'})."
        )
    return SymbolicLinearization(linear.states, linear.inputs, A, B)


def _require_small(linear: Linearization) -> None:
    model, count = linear.model, len(linear.model.coordinate_names)
    if count > _MOST:
        raise InputError(
            f"symbolic: model '{model.name}' has {count} coordinates. Expected at most {_MOST}. A and B have the numbers."
        )
    if linear.reason:
        raise InputError("symbolic: the state is a moment of a motion. Expected an equilibrium or a steady motion.")
    for name in linear.inputs:
        if name not in model.coordinate_names:
            raise InputError(
                f"symbolic: the input '{name}' is a parameter. Expected coordinates, for forces along them."
            )


def _pushes(linear: Linearization) -> sympy.Matrix:
    import sympy

    names = linear.model.coordinate_names
    return sympy.Matrix(len(names), len(linear.inputs), lambda i, j: int(names[i] == linear.inputs[j]))


def _values(linear: Linearization, state: dict[str, Written]) -> dict[str, Any]:
    """Coordinates and rates: formulas where given, exact numbers elsewhere."""
    names = linear.model.coordinate_names
    known = dict(zip((*names, *map(Kind.RATE.of, names)), (*linear.q, *linear.qd), strict=True))
    out: dict[str, Any] = {name: _exact(float(x)) for name, x in known.items()}
    for name, given in state.items():
        if name not in known:
            raise InputError(f"symbolic: there is no coordinate or rate '{name}'. {nearest(name, known)}")
        formula = linear.model.formula(given, f"symbolic, '{name}'", constant=True)
        out[name] = to_sympy(formula, coordinates=(), symbols=linear.model.sympy_symbols)
    return out


def _exact(x: float) -> Any:
    """A number as it was meant: a multiple of π, or the decimal it is written as."""
    import sympy

    part = round(x / np.pi * _PARTS)
    if part and abs(x - part * np.pi / _PARTS) < 1e-14 * max(1.0, abs(x)):
        return sympy.pi * sympy.Rational(part, _PARTS)
    found = Fraction(repr(x)) if abs(x) > 1e-14 else Fraction(0)
    return sympy.Rational(found.numerator, found.denominator)
