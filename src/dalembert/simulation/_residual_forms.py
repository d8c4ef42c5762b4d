"""The equations of one kernel as a differential-algebraic system with its analytic Jacobian.

    q̇ − W v − X = 0,     M v̇ − f − C − Jᵀλ = 0,     A v̇ − β = 0,     (ẇork − powers = 0)

The constraints are on acceleration level, so the index is one; the multipliers are the algebraic unknowns.

The unreduced equations of one kernel, constraints not differentiated: n rows of (q, q̇, q̈, t), with their derivatives.

Dᵀ(M q̈ − h) = 0,     φ(q, t) = 0,     ψ(q, q̇, t) = 0          (2.7) and (2.1) of papers/phong
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.codegen.function import CompiledFunction, function_of, nodes
from dalembert.codegen.program import program_of
from dalembert.codegen.program_derivatives import DirectionalDerivatives
from dalembert.errors import InputError
from dalembert.simulation.right_hand_side import RightHandSide
from dalembert.symbolic.algebra_base import Array, stack, zeros
from dalembert.symbolic.symbols import SymbolKind


class DaeFunctions:
    """Residual and Jacobian of one kernel, compiled at first use."""

    def __init__(self, kernel: RightHandSide, constants: np.ndarray) -> None:
        self._kernel, self._constants = kernel, constants
        self._linear = kernel.form.independent
        self.algebraic = len(self._linear.beta)

    @cached_property
    def _symbols(self) -> tuple[Array, Array]:
        """Unknowns y = (q, v[, work], λ) and their rates."""
        algebra, states = self._kernel.form.system.algebra, self._kernel.state_symbols
        lam = algebra.symbols([SymbolKind.MULTIPLIER.of(i + 1) for i in range(self.algebraic)])
        y = stack(states, lam)
        return y, algebra.symbols([SymbolKind.TANGENT.of(name) for name in y])

    @cached_property
    def _residual(self) -> Array:
        form = self._kernel.form
        y, yd = self._symbols
        n, m = len(form.system.q), len(form.velocity.v)
        lam, vd = y[len(y) - self.algebraic :], yd[n : n + m]
        linear = self._linear
        dynamics = linear.M @ vd - linear.push
        if linear.constrained:
            dynamics = dynamics - linear.directions.T @ lam
        parts = [yd[:n] - form.velocity.qd, dynamics]
        if count := len(self._kernel.working):
            qdd = form.velocity.W @ vd + form.velocity.qdd_bias
            parts.append(yd[n + m : n + m + count] - self._kernel.in_state(self._kernel.power, qdd))
        return stack(*parts, linear.A @ vd - linear.beta if linear.constrained else zeros(0))

    @cached_property
    def _functions(self) -> tuple[CompiledFunction, DirectionalDerivatives]:
        system = self._kernel.form.system
        unknowns = [str(x) for x in stack(*self._symbols)]
        parameters = [str(p) for p in self._kernel.parameters]
        F = program_of(nodes(system.algebra, self._residual), [*unknowns, str(system.t)], parameters)
        return function_of(F, system.engine), DirectionalDerivatives(F, unknowns, system.engine)

    def start(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Consistent unknowns and their rates at a state."""
        rates = self._kernel.state_rates(y, t, self._constants)
        full = np.concatenate([y, np.zeros(self.algebraic)])
        moving = np.concatenate([rates, np.zeros(self.algebraic)])
        if self.algebraic:
            # the residual is linear in the multipliers and vanishes at the solution
            slope = self.jacobian(t, full, moving, 0.0)[:, len(y) :]
            full[len(y) :] = np.linalg.lstsq(slope, -self.residual(t, full, moving), rcond=None)[0]
        return full, moving

    def residual(self, t: float, y: np.ndarray, yd: np.ndarray) -> np.ndarray:
        """F(t, y, ẏ)."""
        return self._functions[0](np.concatenate([y, yd, [t]]), self._constants)

    def jacobian(self, t: float, y: np.ndarray, yd: np.ndarray, weight: float) -> np.ndarray:
        """∂F/∂y + weight ∂F/∂ẏ."""
        moves = np.eye(len(y))
        return self._functions[1](
            np.concatenate([y, yd, [t]]), self._constants, np.concatenate([moves, weight * moves])
        )


class UnreducedFunctions:
    """Rows and derivatives of one kernel, compiled at first use."""

    def __init__(self, kernel: RightHandSide, constants: np.ndarray) -> None:
        if kernel.form.unreduced is None:
            raise InputError(
                "the integrator 'collocation' requires equations with undifferentiated constraints, Dᵀ(M q̈ − h) = 0 with "
                "g(q, t) = 0: those of the formalism phong, without servo constraints. Use formalism phong, or radau or ida."
            )
        self._kernel, self._constants = kernel, constants
        self.rows = kernel.form.unreduced()
        # the number of differentiations of each row until q̈ appears
        self.depths = np.repeat([0, 2, 1], [len(part) for part in self.rows])
        self.n = len(kernel.form.system.q)

    @cached_property
    def _functions(self) -> tuple[CompiledFunction, DirectionalDerivatives]:
        system = self._kernel.form.system
        unknowns = [str(x) for x in stack(system.q, system.qd, system.qdd)]
        outputs = nodes(system.algebra, stack(*self.rows, self._kernel.power))
        program = program_of(outputs, [*unknowns, str(system.t)], [str(p) for p in self._kernel.parameters])
        return function_of(program, system.engine), DirectionalDerivatives(program, unknowns, system.engine)

    def residual(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows (n, K) and the powers (channels, K) at states (q, q̇, q̈, t), (3n + 1, K)."""
        out = self._functions[0](state, self._constants)
        return out[: self.n], out[self.n :]

    def slopes(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂/∂q, ∂/∂q̇ and ∂/∂q̈ of the rows at one state, n×n each."""
        n = self.n
        out = self._functions[1](state, self._constants, np.eye(3 * n))[:n]
        return out[:, :n], out[:, n : 2 * n], out[:, 2 * n :]
