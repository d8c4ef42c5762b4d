"""The compiled equations of one formalism: the numerical functions of a simulation.

    q̇ − W v − X = 0,     M v̇ − f − C − Jᵀλ = 0,     A v̇ − β = 0,     (ẇork − powers = 0)

The constraints are on acceleration level, so the index is one; the multipliers are the algebraic unknowns.

The unreduced equations of one kernel, constraints not differentiated: n rows of (q, q̇, q̈, t), with their derivatives.

Dᵀ(M q̈ − h) = 0,     φ(q, t) = 0,     ψ(q, q̇, t) = 0          (2.7) and (2.1) of papers/phong
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dalembert.codegen.function import CompiledFunction, compile_function, function_of, nodes
from dalembert.codegen.program import Program, program_of
from dalembert.codegen.program_derivatives import DirectionalDerivatives
from dalembert.codegen.taylor_series import SeriesTable, series_table
from dalembert.errors import InputError
from dalembert.formalisms.shared.common_quantities import powers_into
from dalembert.formalisms.shared.linear_form import LinearForm, Multipliers, fused
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.system import System
from dalembert.simulation._assembled import AssembledForm, Wanted, parts_of
from dalembert.simulation.constraint_manifold import MomentumConstraints
from dalembert.symbolic.algebra_base import Array, Scalar, stack, vector, zeros
from dalembert.symbolic.nodes import Node
from dalembert.symbolic.optimize import optimize
from dalembert.symbolic.symbols import SymbolKind


@dataclass(frozen=True)
class RightHandSide:
    """Compiled functions of one form, each compiled when it is first used.

    If fused, the right-hand side is one expression graph; if assembled, M, f, A and β are compiled and solved numerically. States
    are y = (q, v, work), where work are the integrals of the powers in (80), one for each element that can do work.
    """

    form: LinearForm
    residual: Callable[[System], Array] | None = None  # reaction as a function of (q, q̇, q̈, t); None: it is Jᵀλ + C
    mode: Literal["fused", "assembled"] = "fused"

    @property
    def fused(self) -> bool:
        """True if the linear system is solved within the graph."""
        return self.mode == "fused"

    @cached_property
    def parameters(self) -> Array:
        """The symbols of the model's parameters and of the constants of the motion."""
        system = self.form.system
        return stack(system.algebra.symbols(list(system.model.parameter_values)), self.form.constants.symbols)

    @cached_property
    def _powers(self) -> tuple[tuple[str, ...], Array]:
        """The elements that do work, and their powers: of (q, q̇, q̈, t), or (a, b) of a + b·Λ if multipliers are unknowns."""
        return powers_into(self.form.system) if self._own is None else (self._own.working, self._own.power)

    @property
    def working(self) -> tuple[str, ...]:
        """The elements that do work: the work of each is a state, the integral of its power."""
        return self._powers[0]

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """The names of the velocity variables."""
        return tuple(str(v) for v in self.form.velocity.v)

    @property
    def power(self) -> Array:
        """The powers as functions of (q, q̇, q̈, t); empty if the form defines them."""
        return self._powers[1] if self._own is None else zeros(0)

    @property
    def _own(self) -> Multipliers | None:
        """The effects of multipliers among the unknowns, if the form has them."""
        return self.form.own_multipliers

    @property
    def _size(self) -> int:
        """The number of velocity variables."""
        return len(self.form.velocity.v)

    @cached_property
    def _unknowns(self) -> tuple[Array, Array]:
        """v̇ with the additional unknowns, and λ, in the graph."""
        return fused(self.form)

    @cached_property
    def _solution(self) -> tuple[Array, Array]:
        """v̇ and λ in the graph."""
        x, lam = self._unknowns
        return x[: self._size], self.form.multipliers(x, lam)

    @cached_property
    def _qd(self) -> Array:
        """The rate of q that is integrated, in the graph."""
        qd = self.form.velocity.qd
        return qd if self._own is None else qd + self._own.S @ self._unknowns[0][self._size :]

    @cached_property
    def rates(self) -> Array:
        """ẏ as expressions of (q, v, t): q̇, v̇ and the powers."""
        vd, _ = self._solution
        if not self.working:
            return stack(self._qd, vd)
        if self._own is not None:
            power = self._own.power
            return stack(self._qd, vd, power[:, 0] + power[:, 1:] @ self._unknowns[0][self._size :])
        qdd = self.form.velocity.W @ vd + self.form.velocity.qdd_bias
        return stack(self._qd, vd, self.in_state(self.power, qdd))

    @cached_property
    def _qdd(self) -> Array:
        """q̈ in the graph; with canonical constraints it is the derivative of the integrated rate."""
        velocity, system = self.form.velocity, self.form.system
        vd, _ = self._solution
        if not self._canonical:
            return velocity.W @ vd + velocity.qdd_bias
        return system.algebra.total_derivative(self._qd, (system.q, self._qd), (velocity.v, vd), system.clock)

    @property
    def in_graph(self) -> tuple[Array, Array, Array]:
        """q̇, v̇ and q̈ as expressions of (q, v, t), from independent constraints."""
        return self._qd, self._solution[0], self._qdd

    @cached_property
    def reactions_in_graph(self) -> tuple[Array, Array]:
        """Aᵀλ + C and Aᵀλ as expressions of (q, v, t), by the method of the formalism."""
        C = self.in_state(self._C, self._qdd)
        if self.residual is not None:
            total = self.in_state(self.residual(self.form.system), self._qdd)
            return total, total - C
        carried = self.in_state(self.form.directions, self._qdd).T @ self._solution[1]
        return carried + C, carried

    @cached_property
    def phase(self) -> MomentumConstraints | None:
        """The constraints in phase space, if some of them are on momenta."""
        own = self._own
        return MomentumConstraints(self.form, own.surface) if own is not None and own.surface.on_momenta else None

    @property
    def _canonical(self) -> bool:
        """True if S x does not vanish on the constraints."""
        return self.phase is not None

    def in_state(self, f: Array, qdd: Array) -> Array:
        """A function of (q, q̇, q̈, t) as a function of (q, v, t)."""
        system = self.form.system
        table: dict[str, Scalar] = {str(x): value for x, value in zip(system.qdd, qdd, strict=True)}
        if self.form.velocity.v is not system.qd:
            table |= {str(x): value for x, value in zip(system.qd, self.form.velocity.qd, strict=True)}
        return system.algebra.substitute(f, table)

    def _compile(self, outputs: Array, inputs: Array | None = None) -> CompiledFunction:
        system = self.form.system
        if inputs is None:
            inputs = stack(system.q, self.form.velocity.v, vector([system.t]))
        return compile_function(system.algebra, inputs, outputs, self.parameters, system.engine)

    @cached_property
    def start_function(self) -> CompiledFunction:
        """v and the constants of motion as a function of (q, q̇, t)."""
        system = self.form.system
        outputs = stack(self.form.velocity.v_from_qd, self.form.constants.values)
        return self._compile(outputs, stack(system.q, system.qd, vector([system.t])))

    @cached_property
    def _rates(self) -> CompiledFunction:
        if not self.fused:
            return self._assembled("rates")
        return function_of(self.program, self.form.system.engine)

    @property
    def rates_function(self) -> CompiledFunction:
        """ẏ as a function of (q, v, t)."""
        return self._rates

    @cached_property
    def _accelerations(self) -> CompiledFunction:
        if not (self.fused or self._canonical):
            return self._assembled("accelerations")
        return self._compile(stack(self._qd, self._qdd, self._solution[1]))

    @cached_property
    def _parts(self) -> CompiledFunction:
        return self._compile(parts_of(self.form))

    def _assembled(self, wanted: Wanted) -> CompiledFunction:
        power = self._power_of if len(self.power) else None
        return AssembledForm(self.form, self._parts, power, len(self.working), wanted).function

    @cached_property
    def state_symbols(self) -> Array:
        """The symbols of the states (q, v[, work])."""
        extra = self.form.system.algebra.symbols([SymbolKind.WORK.of(i + 1) for i in range(len(self.working))])
        return stack(self.form.system.q, self.form.velocity.v, extra)

    @cached_property
    def series(self) -> SeriesTable:
        """The recurrences of the Taylor series of ẏ."""
        return series_table(self.program)

    @cached_property
    def program(self) -> Program:
        """ẏ as a program of (q, v, t) and the parameters, with a minimized number of operations."""
        system = self.form.system
        inputs = [str(x) for x in (*system.q, *self.form.velocity.v, system.t)]
        return program_of(self.shortened_rates, inputs, [str(p) for p in self.parameters])

    @cached_property
    def shortened_rates(self) -> list[Node]:
        """The outputs of `program` as nodes, which are proved to equal `rates`."""
        return optimize(nodes(self.form.system.algebra, self.rates))

    @cached_property
    def cache(self) -> dict[object, Any]:
        """A cache of quantities that other modules derive from these equations."""
        return {}

    @cached_property
    def _power_of(self) -> CompiledFunction:
        system = self.form.system
        return self._compile(self.power, stack(system.q, system.qd, system.qdd, vector([system.t])))

    def start(
        self, q: np.ndarray, qd: np.ndarray, t: npt.ArrayLike, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """v and the constants of motion at a state (q, q̇, t)."""
        out = self.start_function(stacked(q, qd, t), _padded(parameters, len(self.form.constants.symbols)))
        return out[: self._size], out[self._size :]

    def velocities(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> np.ndarray:
        """The velocities that correspond to v at states y = (q, v): q̇ without the contribution of multipliers."""
        return self.velocities_function(stacked(y[: self.form.n_states], t), constants)

    @cached_property
    def velocities_function(self) -> CompiledFunction:
        """The velocities that correspond to v, as a function of (q, v, t)."""
        return self._compile(self.form.velocity.qd)

    def state_rates(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> np.ndarray:
        """ẏ for states y = (q, v[, work]); `constants` are parameters and constants of motion."""
        return self._rates(stacked(y[: self.form.n_states], t), constants)

    def second_rates(self, y: np.ndarray, t: npt.ArrayLike, constants: np.ndarray, vd: np.ndarray) -> np.ndarray:
        """q̈ = W v̇ + b for v̇ at states y = (q, v)."""
        out, n = self._second_rates(stacked(y[: self.form.n_states], t), constants), len(self.form.system.q)
        W = out[:-n].reshape(n, self._size, *out.shape[1:])
        return np.einsum("nv...,v...->n...", W, vd) + out[-n:]

    @cached_property
    def _second_rates(self) -> CompiledFunction:
        return self._compile(stack(self.form.velocity.W.ravel(), self.form.velocity.qdd_bias))

    @cached_property
    def _slopes(self) -> DirectionalDerivatives:
        return DirectionalDerivatives(self.program, self.program.inputs[:-1], self.form.system.engine)

    def state_slopes(self, y: np.ndarray, t: float, constants: np.ndarray) -> np.ndarray:
        """∂ẏ/∂y at one state, if the form is fused; nothing depends on the work."""
        size = self.form.n_states
        return self._slopes(np.append(y[:size], t), constants, np.eye(size, len(y)))

    def accelerations(
        self, q: np.ndarray, v: np.ndarray, t: npt.ArrayLike, constants: np.ndarray, threads: int = 1
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q̇ as it is integrated, q̈ and λ at states (q, v, t); `threads` share a batch."""
        n = len(q)
        out = self._accelerations(stacked(q, v, t), constants, threads)
        return out[:n], out[n : 2 * n], out[2 * n :]

    def reactions(
        self,
        q: np.ndarray,
        v: np.ndarray,
        t: npt.ArrayLike,
        constants: np.ndarray,
        solution: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    ) -> np.ndarray:
        """The generalized reaction forces Aᵀλ + C at states (q, v, t), by the method of the formalism.

        `solution` are the accelerations there, if they are already known.
        """
        qd, qdd, lam = solution or self.accelerations(q, v, t, constants)
        if self.residual is not None:
            return self._residual(stacked(q, qd, qdd, t), constants)
        if not len(lam) and self.form.linear.C is None:
            return np.zeros(q.shape)
        out = self._reaction_matrix(stacked(q, v, t), constants)
        k, n = len(lam), len(q)
        J, C = out[: k * n].reshape(k, n, *q.shape[1:]), out[k * n :]
        return np.einsum("kn...,k...->n...", J, lam) + C

    @cached_property
    def ideal(self) -> RightHandSide:
        """The same equations with C = 0: their reaction is the ideal part of (3.47) in papers/poincare."""
        linear = self.form.linear
        return self if linear.C is None else replace(self, form=replace(self.form, linear=replace(linear, C=None)))

    def ideal_reactions(self, q: np.ndarray, v: np.ndarray, t: npt.ArrayLike, constants: np.ndarray) -> np.ndarray:
        """M^(1/2) B⁺(b − A a), the reaction the constraints would have at the same state if they were ideal."""
        return self.ideal.reactions(q, v, t, constants)

    def ideal_constraint_forces(
        self, q: np.ndarray, v: np.ndarray, t: npt.ArrayLike, constants: np.ndarray
    ) -> np.ndarray:
        """Aᵀλ of M q̈ = h + C + Aᵀλ at states (q, v, t): the reaction without C."""
        return self.ideal_part(self.reactions(q, v, t, constants), q, v, t, constants)

    def ideal_part(
        self, reactions: np.ndarray, q: np.ndarray, v: np.ndarray, t: npt.ArrayLike, constants: np.ndarray
    ) -> np.ndarray:
        """Aᵀλ of the reactions Aᵀλ + C at states (q, v, t)."""
        if self.form.linear.C is None:
            return reactions
        return reactions - self._non_ideal(stacked(q, v, t), constants)

    @cached_property
    def _non_ideal(self) -> CompiledFunction:
        return self._compile(self.in_state(self._C, self.form.system.qdd))

    @property
    def _C(self) -> Array:
        """The non-ideal force as a function of (q, q̇, t); zeros if all constraints of the form are ideal."""
        C = None if self.form.linear.C is None else non_ideal_forces(self.form.system.motion)
        return zeros(len(self.form.system.q)) if C is None else C

    @cached_property
    def _residual(self) -> CompiledFunction:
        system = self.form.system
        assert self.residual is not None
        return self._compile(self.residual(system), stack(system.q, system.qd, system.qdd, vector([system.t])))

    @cached_property
    def _reaction_matrix(self) -> CompiledFunction:
        return self._compile(self.in_state(stack(self.form.directions.ravel(), self._C), self.form.system.qdd))


def stacked(first: np.ndarray, *parts: npt.ArrayLike) -> np.ndarray:
    """The concatenation of arrays and a time, batch on the last axis."""
    *arrays, t = parts
    time = np.broadcast_to(np.asarray(t, dtype=float), first.shape[1:])[None]
    return np.concatenate([first, *arrays, time], axis=0)


def _padded(parameters: np.ndarray, count: int) -> np.ndarray:
    """Parameters followed by zeros for constants that are not known yet."""
    return np.concatenate([parameters, np.zeros((count, *parameters.shape[1:]))], axis=0)


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
