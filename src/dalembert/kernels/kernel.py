"""The compiled equations of one formalism: everything a simulation asks for, as functions of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from dalembert.algebra import Array, Scalar, stack, vector, zeros
from dalembert.equations import LinearForm
from dalembert.equations.power import power
from dalembert.kernels.compile import Function, compile_function
from dalembert.kernels.equal_energy import solve_evenly
from dalembert.kernels.phase import Phase
from dalembert.kernels.solve import fused
from dalembert.kernels.taylor import TaylorMachine
from dalembert.kinematics import non_ideal_forces
from dalembert.structure import System


class _Found(NamedTuple):
    """What a numeric solve gives; `power` has no entries where the form has no power of its own."""

    qd: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    vd: np.ndarray
    power: np.ndarray


@dataclass(frozen=True)
class Kernel:
    """Compiled functions of one form, each compiled when it is first used.

    Fused where the engine is heyoka (the whole right-hand side is one graph), assembled where it is portable (compiled
    M, f, A, β and a numeric solve). States are y = (q, v, work), where work is the integral of the power in (80) and
    stands there only when some power can flow.
    """

    form: LinearForm
    residual: Callable[[System], Array] | None = None  # reaction as a function of (q, q̇, q̈, t); None: it is Jᵀλ + C
    mode: Literal["fused", "assembled"] = "fused"

    @property
    def fused(self) -> bool:
        """True when the linear system is solved inside the graph."""
        return self.form.system.algebra.name == "fast" and self.mode == "fused"

    @cached_property
    def parameters(self) -> Array:
        """The symbols of the model's parameters and of the constants of the motion."""
        system = self.form.system
        return stack(system.algebra.symbols(list(system.model.parameter_values)), self.form.constants)

    @cached_property
    def power(self) -> Scalar | None:
        """The power as a function of (q, q̇, q̈, t), or None when it is zero by structure or the form has its own."""
        form, algebra = self.form, self.form.system.algebra
        if form.power is not None:
            return None
        value = power(form.system)
        return None if algebra.is_zero(value) else value

    @cached_property
    def has_work(self) -> bool:
        """True when the integral of the power is carried as a state."""
        if self.form.power is None:
            return self.power is not None
        constant, slope = self.form.power
        return not all(self.form.system.algebra.is_zero(part) for part in (constant, *slope))

    @cached_property
    def _unknowns(self) -> tuple[Array, Array]:
        """v̇ with the unknowns behind it, and λ, in the graph."""
        return fused(self.form)

    @cached_property
    def _solution(self) -> tuple[Array, Array]:
        """v̇ and λ in the graph."""
        x, lam = self._unknowns
        k = len(self.form.v)
        return x[:k], lam if len(lam) or self.form.J is None else x[k : k + len(self.form.J)]

    @cached_property
    def _qd(self) -> Array:
        """The rate of q that is integrated, in the graph."""
        form = self.form
        return form.qd + form.S @ self._unknowns[0][len(form.v) :] if len(form.S) else form.qd

    @cached_property
    def rates(self) -> Array:
        """ẏ as expressions of (q, v, t): q̇, v̇ and the power."""
        form = self.form
        vd, _ = self._solution
        if not self.has_work:
            return stack(self._qd, vd)
        if form.power is not None:
            constant, slope = form.power
            return stack(self._qd, vd, vector([constant + slope @ self._unknowns[0][len(form.v) :]]))
        qdd = form.W @ vd + form.qdd_bias
        return stack(self._qd, vd, self.in_state(vector([self.power]), qdd))

    @cached_property
    def _qdd(self) -> Array:
        """q̈ in the graph: where the multipliers of canonical constraints move q, from the rate that is integrated."""
        form, system = self.form, self.form.system
        vd, _ = self._solution
        if not self._canonical:
            return form.W @ vd + form.qdd_bias
        return system.algebra.total_derivative(self._qd, (system.q, self._qd), (form.v, vd), system.clock)

    @cached_property
    def phase(self) -> Phase | None:
        """The constraints in phase space, where some of them are on momenta."""
        surface = self.form.surface
        return Phase(self.form, surface) if surface is not None and surface.on_momenta else None

    @property
    def _canonical(self) -> bool:
        """True when S x does not vanish on the constraints."""
        return self.phase is not None

    def in_state(self, f: Array, qdd: Array) -> Array:
        """A function of (q, q̇, q̈, t) as a function of (q, v, t)."""
        system = self.form.system
        table: dict[str, Scalar] = {str(x): value for x, value in zip(system.qdd, qdd, strict=True)}
        if self.form.v is not system.qd:
            table |= {str(x): value for x, value in zip(system.qd, self.form.qd, strict=True)}
        return system.algebra.substitute(f, table)

    def _compile(self, outputs: Array, inputs: Array | None = None) -> Function:
        system = self.form.system
        if inputs is None:
            inputs = stack(system.q, self.form.v, vector([system.t]))
        return compile_function(system.algebra, inputs, outputs, self.parameters)

    @cached_property
    def _start(self) -> Function:
        system = self.form.system
        return self._compile(
            stack(self.form.v_from_qd, self.form.constants_from), stack(system.q, system.qd, vector([system.t]))
        )

    @cached_property
    def _rates(self) -> Function:
        return self._compile(self.rates)

    @cached_property
    def _accelerations(self) -> Function:
        return self._compile(stack(self._qd, self._qdd, self._solution[1]))

    @cached_property
    def state_symbols(self) -> Array:
        """The symbols of the states (q, v[, work])."""
        extra = self.form.system.algebra.symbols(["work"] if self.has_work else [])
        return stack(self.form.system.q, self.form.v, extra)

    @cached_property
    def taylor(self) -> TaylorMachine:
        """The maker of Taylor integrators (heyoka only)."""
        return TaylorMachine(self.state_symbols, self.rates, self.form.system.t, self.parameters)

    @cached_property
    def _pieces(self) -> Function:
        """M, f, A, β, C, J, q̇, W, bias, S and the power side by side, for the numeric solve."""
        return self._compile(np.concatenate([np.asarray(p, dtype=object).ravel() for p in self._parts]))

    @property
    def _parts(self) -> tuple[Array, ...]:
        form = self.form
        J = form.A if form.J is None else form.J
        own = zeros(0) if form.power is None else stack(vector([form.power[0]]), form.power[1])
        return (form.M, form.f, form.A, form.beta, form.C, J, form.qd, form.W, form.qdd_bias, form.S, own)

    @cached_property
    def _power_of(self) -> Function:
        system = self.form.system
        return self._compile(vector([self.power]), stack(system.q, system.qd, system.qdd, vector([system.t])))

    def start(self, q: np.ndarray, qd: np.ndarray, t: Any, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and the constants of the motion at a state (q, q̇, t)."""
        out = self._start(_stacked(q, qd, t), _padded(parameters, len(self.form.constants)))
        k = len(self.form.v)
        return out[:k], out[k:]

    def velocities(self, y: np.ndarray, t: Any, constants: np.ndarray) -> np.ndarray:
        """The velocities that belong to v at states y = (q, v): q̇, but for the part that multipliers add to it."""
        return self._velocities(_stacked(y[: self.form.n_states], t), constants)

    @cached_property
    def _velocities(self) -> Function:
        return self._compile(self.form.qd)

    def state_rates(self, y: np.ndarray, t: Any, constants: np.ndarray) -> np.ndarray:
        """ẏ for states y = (q, v[, work]); `constants` are parameters and constants of the motion."""
        size = self.form.n_states
        if self.fused:
            return self._rates(_stacked(y[:size], t), constants)
        found = self._assembled(y[:size], t, constants)
        parts = [found.qd, found.vd]
        if self.has_work and self.form.power is not None:
            parts.append(found.power)
        elif self.has_work:
            q = y[: len(self.form.system.q)]
            parts.append(self._power_of(_stacked(q, found.qd, found.qdd, t), constants))
        return np.concatenate(parts, axis=0)

    def accelerations(
        self, q: np.ndarray, v: np.ndarray, t: Any, constants: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q̇ as it is integrated, q̈ and λ at states (q, v, t)."""
        n = len(q)
        y = np.concatenate([q, v], axis=0)
        if self.fused or self._canonical:
            out = self._accelerations(_stacked(y, t), constants)
            return out[:n], out[n : 2 * n], out[2 * n :]
        found = self._assembled(y, t, constants)
        return found.qd, found.qdd, found.lam

    def reactions(self, q: np.ndarray, v: np.ndarray, t: Any, constants: np.ndarray) -> np.ndarray:
        """The generalized reaction forces Aᵀλ + C at states (q, v, t), by the formalism's own road."""
        qd, qdd, lam = self.accelerations(q, v, t, constants)
        if self.residual is not None:
            return self._residual(_stacked(q, qd, qdd, t), constants)
        out = self._reaction_matrix(_stacked(q, v, t), constants)
        k, n = len(lam), len(q)
        J, C = out[: k * n].reshape(k, n, *q.shape[1:]), out[k * n :]
        total = np.einsum("kn...,k...->n...", J, lam)
        return total + C if len(C) else total

    @cached_property
    def ideal(self) -> Kernel:
        """The same equations with C = 0: their reaction is the ideal part of (3.47) in papers/poincare."""
        return replace(self, form=replace(self.form, C=zeros(0))) if len(self.form.C) else self

    def ideal_reactions(self, q: np.ndarray, v: np.ndarray, t: Any, constants: np.ndarray) -> np.ndarray:
        """M^(1/2) B⁺(b − A a), the reaction the constraints would have at the same state if they were ideal."""
        return self.ideal.reactions(q, v, t, constants)

    def carried(self, q: np.ndarray, v: np.ndarray, t: Any, constants: np.ndarray) -> np.ndarray:
        """Aᵀλ of M q̈ = h + C + Aᵀλ at states (q, v, t): the reaction less C."""
        reaction = self.reactions(q, v, t, constants)
        return reaction - self._non_ideal(_stacked(q, v, t), constants) if len(self.form.C) else reaction

    @cached_property
    def _non_ideal(self) -> Function:
        return self._compile(self.in_state(non_ideal_forces(self.form.system.motion), self.form.system.qdd))

    @cached_property
    def _residual(self) -> Function:
        system = self.form.system
        assert self.residual is not None
        return self._compile(self.residual(system), stack(system.q, system.qd, system.qdd, vector([system.t])))

    @cached_property
    def _reaction_matrix(self) -> Function:
        form = self.form
        J = form.A if form.J is None else form.J
        C = non_ideal_forces(form.system.motion) if len(form.C) else zeros(0)
        return self._compile(self.in_state(stack(J.ravel(), C), form.system.qdd))

    def _assembled(self, y: np.ndarray, t: Any, constants: np.ndarray) -> _Found:
        """q̇, q̈, λ, v̇ by compiled pieces and a numeric solve."""
        single = y.ndim == 1
        columns = y[:, None] if single else y
        out = self._pieces(_stacked(columns, t), constants).T
        shapes = [np.shape(p) for p in self._parts]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        M, f, A, beta, C, J, qd, W, bias, S, own = (
            part.reshape(len(out), *shape) for part, shape in zip(np.split(out, ends[:-1], axis=1), shapes, strict=True)
        )
        x, lam = solve_evenly(self.form, M, f, A, beta, C, J, W)
        k = len(self.form.v)
        vd = x[:, :k]
        if self.form.J is not None and not len(self.form.beta):
            lam = x[:, k : k + len(self.form.J)]
        qdd = (W @ vd[..., None])[..., 0] + bias
        qd = qd + (S @ x[:, k:, None])[..., 0] if S.size else qd
        work = own[:, :1] + np.sum(own[:, 1:] * x[:, k:], axis=1, keepdims=True) if own.size else own
        found = _Found(qd, qdd, lam, vd, work)
        return _Found(*(part[0] if single else part.T for part in found))


def _stacked(*parts: Any) -> np.ndarray:
    """Arrays and a time end to end, batch on the last axis."""
    *arrays, t = parts
    first = arrays[0]
    time = np.broadcast_to(np.asarray(t, dtype=float), first.shape[1:])[None]
    return np.concatenate([*arrays, time], axis=0)


def _padded(parameters: np.ndarray, count: int) -> np.ndarray:
    """Parameters followed by zeros in the place of constants that are not known yet."""
    return np.concatenate([parameters, np.zeros((count, *parameters.shape[1:]))], axis=0)
