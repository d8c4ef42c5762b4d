"""The linear equations with parameters as symbols, for small models: the same reduction over SymPy's matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import symengine as se

from dalembert.analysis.linear.residuals import ROWS, multipliers, residual_rows
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.sympy_bridge import to_sympy

if TYPE_CHECKING:
    import sympy


class SymbolicReduction:
    """A and B of one state, as matrices of SymPy; `values` are those of coordinates and rates there, by name."""

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

    def _slope(self, row: str, by: Array, rows: Sequence[int] | None = None) -> sympy.Matrix:
        part = self._rows[row] if rows is None else self._rows[row][list(rows)]
        return self._sympy(self.system.algebra.jacobian(part, by))

    def _multipliers(self) -> list[Any]:
        """λ of the independent rows at the state, from as many of the equations; the others have none."""
        kept, out = list(self.system.facts.rows), [se.Integer(0)] * len(self.system.facts.levels.names)
        self._point |= dict.fromkeys(multipliers(self.system), 0)
        if kept:
            some = list(self.system.facts.dependent)
            A = self._slope("velocity", self.system.qd, kept).extract(list(range(len(kept))), some)
            found = A.T.LUsolve(self._sympy(self._rows["dynamics"][some]))
            for i, x in zip(kept, found, strict=True):
                out[i] = se.sympify(x)
        return out

    def matrices(self, pushes: sympy.Matrix | None = None) -> tuple[sympy.Matrix, sympy.Matrix]:
        """A and B of ẋ = A x + B u; each column of `pushes` is a generalized force."""
        import sympy

        system, facts = self.system, self.system.facts
        n, d, kept = len(system.q), facts.d, list(facts.rows)
        T = self._tangent([i for i in kept if i < facts.levels.held])
        u_q, v_q = self._slope("speeds", system.q), self._slope("velocity", system.q, kept)
        S = self._slope("speeds", system.qd).col_join(self._slope("velocity", system.qd, kept))
        inverse = S.LUsolve(sympy.eye(n)).applyfunc(sympy.simplify)
        W, Q = inverse[:, :d], -inverse * u_q.col_join(v_q) * T
        q, qd = T.row_join(sympy.zeros(n, d)), Q.row_join(W)
        M = self._slope("dynamics", system.qdd)
        force = self._slope("dynamics", system.q) * q + self._slope("dynamics", system.qd) * qd
        rates = self._slope("speed_rates", system.q) * q + self._slope("speed_rates", system.qd) * qd
        bent = self._slope("acceleration", system.q, kept) * q + self._slope("acceleration", system.qd, kept) * qd
        mass, drift = W.T * M * W, -inverse * rates.col_join(bent)
        speeds = mass.LUsolve(-W.T * (force + M * drift))
        A = qd.extract(self.chosen, list(range(qd.cols))).col_join(speeds)
        count = 0 if pushes is None else pushes.cols
        B = sympy.zeros(len(self.chosen), count)
        B = B.col_join(mass.LUsolve(W.T * pushes) if pushes is not None and count else sympy.zeros(d, count))
        return A.applyfunc(sympy.simplify), B.applyfunc(sympy.simplify)

    def _tangent(self, held: list[int]) -> sympy.Matrix:
        """T of δq = T δz."""
        import sympy

        n = len(self.system.q)
        if not held:
            return sympy.eye(n).extract(list(range(n)), self.chosen)
        phi = self._slope("position", self.system.q, held)
        rest = [i for i in range(n) if i not in self.chosen]
        below = -phi.extract(list(range(phi.rows)), rest).LUsolve(phi.extract(list(range(phi.rows)), self.chosen))
        T = sympy.zeros(n, len(self.chosen))
        for k, i in enumerate(self.chosen):
            T[i, k] = 1
        for k, i in enumerate(rest):
            T[i, :] = below[k, :]
        return T
