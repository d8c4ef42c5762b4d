"""Phase-space constraints as compiled functions: consistency check and projection of states (q, p)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.errors import InconsistentStateError, SimulationError, SingularError
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.phase_space import ConstraintSurface
from dalembert.symbolic.algebra_base import stack, vector

_TOLERANCE = 1e-8
_MAX_ITERATIONS = 10
_ROUNDING = 1e-14
_MAX_VIOLATION = 1e-9
_SINGULAR = 1e-12


class MomentumConstraints:
    """The constraints c(q, p, t) = 0 of a form with constraints on momenta."""

    def __init__(self, form: LinearForm, surface: ConstraintSurface) -> None:
        self._form, self._surface = form, surface
        self.names = surface.names

    @cached_property
    def _function(self) -> CompiledFunction:
        system, known = self._form.system, self._surface
        inputs = stack(system.q, self._form.velocity.v, vector([system.t]))
        outputs = stack(known.c, known.c_q.ravel(), known.c_p.ravel())
        return compile_function(
            system.algebra,
            inputs,
            outputs,
            system.algebra.symbols(list(system.model.parameter_values)),
            system.engine,
        )

    def _evaluate(self, y: np.ndarray, t: float, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """c, c_q and c_p at one state."""
        k, n = self._surface.c_q.shape
        c, c_q, c_p = np.split(self._function(np.append(y, t), parameters), [k, k + k * n])
        return c, c_q.reshape(k, n), c_p.reshape(k, n)

    def violations(self, y: np.ndarray, t: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """The values of the constraints at states (2n, samples), including implied ones."""
        return self._function(np.concatenate([y, t[None]]), parameters)[: len(self.names)]

    def require_on(self, y: np.ndarray, t: float, parameters: np.ndarray) -> None:
        """Raise if the state violates constraints, naming all of them, or if their multipliers are not determined."""
        c, c_q, c_p = self._evaluate(y, t, parameters)
        n = c_q.shape[1]
        size = np.abs(c_q) @ (1 + np.abs(y[:n])) + np.abs(c_p) @ (1 + np.abs(y[n:]))
        broken = [
            f"'{name}' is {value:.6g}"
            for name, value, s in zip(self.names, c, size, strict=True)
            if not abs(value) <= _TOLERANCE * max(1.0, s)
        ]
        if broken:
            symbols = (*self._form.system.q, *self._form.velocity.v)
            state = ", ".join(f"{x} = {value:.6g}" for x, value in zip(symbols, y, strict=True))
            raise InconsistentStateError(
                f"the state at t = {t:.9g} does not satisfy the constraints: {'; '.join(broken)}. Expected 0. State: {state}. "
                "The initial rates give the momenta p = ∂L/∂q̇. Start from a state that satisfies them."
            )

        D = c_p @ c_q.T - c_q @ c_p.T
        scale = np.sqrt(np.maximum(np.abs(D).max(axis=1), 1e-300))
        if np.linalg.svd(D / np.outer(scale, scale), compute_uv=False)[-1] <= _SINGULAR:
            raise SingularError(
                f"at t = {t:.9g} the brackets of {', '.join(self.names)} are singular, so their multipliers are not "
                "determined in this state. Start from another state."
            )

    def project(self, y: np.ndarray, t: float, parameters: np.ndarray) -> np.ndarray:
        """The state moved onto the constraints along the directions of the multipliers, δq = −c_pᵀΛ and δp = c_qᵀΛ."""
        out = y.copy()
        for _ in range(_MAX_ITERATIONS):
            c, c_q, c_p = self._evaluate(out, t, parameters)
            n = c_q.shape[1]
            left = np.abs(c) / (np.abs(c_q) @ np.abs(out[:n]) + np.abs(c_p) @ np.abs(out[n:]) + 1e-300)
            if (left <= _ROUNDING).all():
                return out
            Lambda = np.linalg.solve(c_p @ c_q.T - c_q @ c_p.T, -c)
            out[:n] -= c_p.T @ Lambda
            out[n:] += c_q.T @ Lambda
        c, *_ = self._evaluate(out, t, parameters)
        if not np.max(np.abs(c)) < _MAX_VIOLATION:
            raise SimulationError(
                f"at t = {t:.9g} the state could not be projected onto the constraints: the largest violation is "
                f"{np.max(np.abs(c)):.3g}. The brackets of the constraints are close to singular there."
            )
        return out
