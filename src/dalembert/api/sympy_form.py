"""Equations in the words of SymPy's mechanics: `mass_matrix_full`, `forcing_full`, `rhs`, `linearize`.

As `LagrangesMethod` does with its multipliers, the unknowns are (q̇, v̇, λ):

    [1 0 0; 0 M −Jᵀ; 0 A 0] (q̇, v̇, λ) = (q̇(q, v), f, β).

SymPy is slow to import, so it is imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dalembert.errors import NotApplicableError
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.io.code.code_source import Namer
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.symbols import TIME
from dalembert.symbolic.sympy_bridge import to_sympy

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class SympyEquations:
    """M (v̇, λ) = f over SymPy's `dynamicsymbols`, for PyDy, opty and code written for `KanesMethod`.

    Velocity variables are dynamic symbols, too: `theta1_dot` is the rate of `theta1`, and `kindiffdict` says so.
    """

    q: sympy.Matrix  # the coordinates, a column
    u: sympy.Matrix  # the velocity variables
    lam_vec: sympy.Matrix  # the multipliers of independent constraints
    mass_matrix: sympy.Matrix  # [M −Jᵀ; A 0], of (v̇, λ)
    forcing: sympy.Matrix  # (f, β)
    qd: sympy.Matrix  # q̇ as functions of (q, u)
    parameters: Mapping[Any, float]  # the values of the symbols, constants of the motion among them

    def kindiffdict(self) -> dict[Any, Any]:
        """The kinematic differential equations: for every q̇ its function of (q, u)."""
        import sympy

        from dalembert.symbolic.sympy_trees import time_symbol

        return {
            sympy.Derivative(x, time_symbol()): value for x, value in zip(self.q.flat(), self.qd.flat(), strict=True)
        }

    @cached_property
    def mass_matrix_full(self) -> sympy.Matrix:
        """The matrix of (q̇, v̇, λ)."""
        import sympy

        return sympy.diag(sympy.eye(len(self.q)), self.mass_matrix)

    @cached_property
    def forcing_full(self) -> sympy.Matrix:
        """The right side of (q̇, v̇, λ)."""
        return self.qd.col_join(self.forcing)

    def rhs(self, inv_method: str | None = None) -> sympy.Matrix:
        """(q̇, v̇, λ), solved by `inv_method`, a method of SymPy's `Matrix.inv`; by default LU."""
        if inv_method is None:
            return self.qd.col_join(self.mass_matrix.LUsolve(self.forcing))
        return self.mass_matrix_full.inv(inv_method, try_block_diag=True) * self.forcing_full

    def linearize(
        self, op_point: Mapping[Any, Any], inputs: Sequence[Any] = ()
    ) -> tuple[sympy.Matrix, sympy.Matrix, list[Any]]:
        """A and B of ẋ = A x + B r about an operating point, x = (q, u); `inputs` r are symbols of parameters.

        `op_point` gives values of q and u, and of parameters if numbers are wanted; what it leaves out stays a symbol. With
        multipliers, deviations x have to fulfil the constraints; derive by kane for independent speeds.
        """
        import sympy
        from sympy.physics.mechanics import msubs

        moving: list[Any] = [*self.q.flat(), *self.u.flat()]
        names = {x: sympy.Dummy(str(x.func)) for x in moving}
        M, f = (msubs(part, names) for part in (self.mass_matrix_full, self.forcing_full))
        known = {names.get(key, key): value for key, value in op_point.items()}
        there = sympy.Matrix(M.subs(known)).LUsolve(f.subs(known))
        columns = []
        for x in [*names.values(), *inputs]:
            change = (f.diff(x) - M.diff(x) * there).subs(known)  # M ẋ′ = f′ − M′ ẋ
            columns.append(sympy.Matrix(M.subs(known)).LUsolve(change)[: len(moving), 0])
        back = {dummy: x for x, dummy in names.items()}
        whole = sympy.Matrix(len(moving), len(columns), lambda i, j: columns[j][i]).subs(back)
        return whole[:, : len(moving)], whole[:, len(moving) :], list(inputs)


def sympy_equations(form: LinearForm, values: Mapping[str, float], given: Mapping[str, Any]) -> SympyEquations:
    """A form over SymEngine in SymPy's words; `given` are the user's own symbols."""
    import sympy

    from dalembert.symbolic.sympy_trees import time_symbol

    if form.behind is not None:
        raise NotApplicableError(
            f"to_sympy: formalism '{form.formalism}' has unknowns besides the rates of its states and the multipliers. "
            "Derive by kane, lagrange or another one."
        )
    time, namer, linear = time_symbol(), Namer(), form.independent
    q, v = ([str(x) for x in part] for part in (form.system.q, form.velocity.v))
    table: dict[str, Any] = {str(name): symbol for name, symbol in given.items()}
    table |= {name: table.get(name, sympy.Function(namer.new(name))(time)) for name in q}
    table |= {name: sympy.Function(namer.new(name))(time) for name in v}
    table |= {name: table.get(name, sympy.Symbol(namer.new(name))) for name in values}
    table[TIME.name] = time

    def matrix(array: Array) -> sympy.Matrix:
        entries = [to_sympy(x, coordinates=(), symbols=table) for x in array.ravel()]
        return sympy.Matrix(*array.shape, entries)

    r = len(linear.beta)
    upper, lower = matrix(linear.M), matrix(linear.A)
    if r:
        upper = upper.row_join(-matrix(linear.directions).T)
        upper = upper.col_join(lower.row_join(sympy.zeros(r, r)))
    forcing = matrix(linear.push[:, None])
    return SympyEquations(
        q=sympy.Matrix([table[name] for name in q]),
        u=sympy.Matrix([table[name] for name in v]),
        lam_vec=sympy.Matrix([sympy.Function(f"lam{i + 1}")(time) for i in range(r)]),
        mass_matrix=upper,
        forcing=forcing.col_join(matrix(linear.beta[:, None])) if r else forcing,
        qd=matrix(form.velocity.qd[:, None]),
        parameters={table[name]: value for name, value in values.items()},
    )
