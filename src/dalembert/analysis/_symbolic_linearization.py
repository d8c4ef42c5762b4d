"""The linearized equations of a small model with its parameters as symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import symengine as se

from dalembert.analysis._residuals import ROWS, multipliers, residual_rows
from dalembert.display.math.symbol_names import for_latex
from dalembert.errors import InputError, suggest_name
from dalembert.mechanics.system import System
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.symbols import SymbolKind, Written
from dalembert.symbolic.sympy_bridge import to_sympy

if TYPE_CHECKING:
    import sympy

    from dalembert.analysis.linearization import Linearization


_MAX_COORDINATES = 8
_TOLERANCE = 1e-9
_PI_FRACTION = 24  # multiples of π/24 stay exact


@dataclass(frozen=True)
class SymbolicLinearization:
    """A and B of ẋ = A x + B u as SymPy matrices of the parameters."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    A: sympy.Matrix
    B: sympy.Matrix

    def latex(self) -> str:
        """The equations as one LaTeX formula."""
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
    """The symbolic equations; `state` defines coordinates and rates dot(x) as formulas of parameters."""
    model = linear.model
    _require_small(linear)
    space = workspace_of(setup(model))
    derivation_of(space.setup, "lagrange").require_differentiable_by(sorted(space.facts.structural), "symbolic")
    values = _values(linear, dict(state or {}))
    chosen = [model.coordinate_names.index(name) for name in linear.states[: linear.coordinates]]
    A, B = SymbolicReduction(space.symbolic, values, chosen).matrices(_pushes(linear))
    found = np.array(A.subs({x: model.parameter_values[str(x)] for x in A.free_symbols}), dtype=float)
    if np.abs(found - linear.A).max(initial=0.0) > _TOLERANCE * max(1.0, np.abs(linear.A).max(initial=0.0)):
        raise InputError(
            f"symbolic: with the parameter values of model '{model.name}' the symbolic A differs from the numerical A. Expected "
            "`state` to describe the state exactly: give coordinates and rates that depend on parameters as formulas, as in "
            "symbolic({'theta': 'atan(F/(m*g))'})."
        )
    return SymbolicLinearization(linear.states, linear.inputs, A, B)


def _require_small(linear: Linearization) -> None:
    model, count = linear.model, len(linear.model.coordinate_names)
    if count > _MAX_COORDINATES:
        raise InputError(
            f"symbolic: model '{model.name}' has {count} coordinates. Expected at most {_MAX_COORDINATES}. A and B are numerical."
        )
    if linear.reason:
        raise InputError("symbolic: the state is not steady. Expected an equilibrium or a steady motion.")
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
    """Coordinates and rates: the specified formulas, exact numbers for the others."""
    names = linear.model.coordinate_names
    known = dict(zip((*names, *map(SymbolKind.RATE.of, names)), (*linear.q, *linear.qd), strict=True))
    out: dict[str, Any] = {name: _exact(float(x)) for name, x in known.items()}
    for name, specified in state.items():
        if name not in known:
            raise InputError(f"symbolic: there is no coordinate or rate '{name}'. {suggest_name(name, known)}")
        formula = linear.model.formula(specified, f"symbolic, '{name}'", constant=True)
        out[name] = to_sympy(formula, coordinates=(), symbols=linear.model.sympy_symbols)
    return out


def _exact(x: float) -> Any:
    """A float as an exact number: a rational multiple of π, or its decimal representation."""
    import sympy

    multiple = round(x / np.pi * _PI_FRACTION)
    if multiple and abs(x - multiple * np.pi / _PI_FRACTION) < 1e-14 * max(1.0, abs(x)):
        return sympy.pi * sympy.Rational(multiple, _PI_FRACTION)
    found = Fraction(repr(x)) if abs(x) > 1e-14 else Fraction(0)
    return sympy.Rational(found.numerator, found.denominator)


class SymbolicReduction:
    """A and B at one state as SymPy matrices; `values` are the coordinates and rates by name."""

    def __init__(self, system: System, values: Mapping[str, Any], chosen: Sequence[int]) -> None:
        self.system, self.chosen = system, list(chosen)
        self._rows: dict[str, Array] = dict(zip(ROWS, residual_rows(system), strict=True))
        self._point: dict[Any, Any] = {se.Symbol(name): se.sympify(x) for name, x in values.items()}
        self._point |= dict.fromkeys(system.qdd, 0)
        self._point |= dict(zip(multipliers(system), self._multipliers(), strict=True))

    def _sympy(self, array: Array) -> sympy.Matrix:
        import sympy

        known = self.system.model.sympy_symbols
        entries = [to_sympy(se.sympify(x).subs(self._point), coordinates=(), symbols=known) for x in array.ravel()]
        return sympy.Matrix(*(array.shape if array.ndim == 2 else (len(array), 1)), entries)

    def _partial(self, row: str, by: Array, rows: Sequence[int] | None = None) -> sympy.Matrix:
        part = self._rows[row] if rows is None else self._rows[row][list(rows)]
        return self._sympy(self.system.algebra.jacobian(part, by))

    def _multipliers(self) -> list[Any]:
        """λ of the independent rows at the state, from as many equations; zero for the other rows."""
        rows, out = list(self.system.facts.rows), [se.Integer(0)] * len(self.system.facts.levels.names)
        self._point |= dict.fromkeys(multipliers(self.system), 0)
        if rows:
            dependent = list(self.system.facts.dependent)
            A = self._partial("velocity", self.system.qd, rows).extract(list(range(len(rows))), dependent)
            found = A.T.LUsolve(self._sympy(self._rows["dynamics"][dependent]))
            for i, x in zip(rows, found, strict=True):
                out[i] = se.sympify(x)
        return out

    def matrices(self, pushes: sympy.Matrix | None = None) -> tuple[sympy.Matrix, sympy.Matrix]:
        """A and B of ẋ = A x + B u; each column of `pushes` is a generalized force."""
        import sympy

        system, facts = self.system, self.system.facts
        n, d, rows = len(system.q), facts.d, list(facts.rows)
        T = self._tangent([i for i in rows if i < facts.levels.n_holonomic])
        u_q, v_q = self._partial("speeds", system.q), self._partial("velocity", system.q, rows)
        S = self._partial("speeds", system.qd).col_join(self._partial("velocity", system.qd, rows))
        inverse = S.LUsolve(sympy.eye(n)).applyfunc(sympy.simplify)
        W, Q = inverse[:, :d], -inverse * u_q.col_join(v_q) * T
        q, qd = T.row_join(sympy.zeros(n, d)), Q.row_join(W)
        M = self._partial("dynamics", system.qdd)
        force = self._partial("dynamics", system.q) * q + self._partial("dynamics", system.qd) * qd
        rates = self._partial("speed_rates", system.q) * q + self._partial("speed_rates", system.qd) * qd
        bias = self._partial("acceleration", system.q, rows) * q + self._partial("acceleration", system.qd, rows) * qd
        mass, drift = W.T * M * W, -inverse * rates.col_join(bias)
        speeds = mass.LUsolve(-W.T * (force + M * drift))
        A = qd.extract(self.chosen, list(range(qd.cols))).col_join(speeds)
        count = 0 if pushes is None else pushes.cols
        B = sympy.zeros(len(self.chosen), count)
        B = B.col_join(mass.LUsolve(W.T * pushes) if pushes is not None and count else sympy.zeros(d, count))
        return A.applyfunc(sympy.simplify), B.applyfunc(sympy.simplify)

    def _tangent(self, holonomic: list[int]) -> sympy.Matrix:
        """T of δq = T δz."""
        import sympy

        n = len(self.system.q)
        if not holonomic:
            return sympy.eye(n).extract(list(range(n)), self.chosen)
        phi = self._partial("position", self.system.q, holonomic)
        rest = [i for i in range(n) if i not in self.chosen]
        lower = -phi.extract(list(range(phi.rows)), rest).LUsolve(phi.extract(list(range(phi.rows)), self.chosen))
        T = sympy.zeros(n, len(self.chosen))
        for k, i in enumerate(self.chosen):
            T[i, k] = 1
        for k, i in enumerate(rest):
            T[i, :] = lower[k, :]
        return T
