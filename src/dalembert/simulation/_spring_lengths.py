"""The lengths of springs and dampers as a compiled function: the force is 0/0 at zero length."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.codegen.function import CompiledFunction, compile_function
from dalembert.errors import InputError
from dalembert.mechanics.energies import point_to_point_loads
from dalembert.mechanics.system import System
from dalembert.model.loads.base import Span
from dalembert.symbolic.algebra_base import stack, vector

_OFFSET = 1e-9  # of the scales of the model: the offset in time or position that separates the ends of dampers
_ZERO = 1e-14  # of the distances of the ends from the origin: smaller lengths are zero


class Lengths:
    """The springs with natural length and the dampers of a system."""

    def __init__(self, system: System) -> None:
        self._system = system

    @cached_property
    def spans(self) -> list[Span]:
        """The elements, in the order of the model."""
        return point_to_point_loads(self._system.motion)

    @cached_property
    def _function(self) -> CompiledFunction:
        system = self._system
        parts = [stack(*span.ends, vector([span.length])) for span in self.spans]
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        inputs = stack(system.q, vector([system.t]))
        return compile_function(system.algebra, inputs, stack(*parts), parameters, system.engine)

    def evaluate(self, q: np.ndarray, t: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, ...]:
        """Vectors between the ends (elements, 3, K), norms of their positions (elements, K) and natural lengths (elements, K)."""
        out = self._function(np.concatenate([q, np.broadcast_to(t, q.shape[1:])[None]]), parameters)
        parts = out.reshape(len(self.spans), 7, -1)
        first, second, natural = parts[:, :3], parts[:, 3:6], parts[:, 6]
        size = np.linalg.norm(first, axis=1) + np.linalg.norm(second, axis=1) + np.abs(natural)
        return second - first, size, natural

    def require_nonzero(self, q: np.ndarray, t: float | np.ndarray, parameters: np.ndarray) -> None:
        """Raise if an element without a regular force has zero length at one of the states (n, K)."""
        if not self.spans:
            return
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        zero, natural = self._is_zero(q, time, parameters)
        for i, k in np.argwhere(zero):
            if not self.spans[i].regular:
                raise InputError(_zero_length_message(self.spans[i], float(time[k]), float(natural[i, k])))

    def any_zero(self, q: np.ndarray, t: float | np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """True at the states (n, K) where a damper has zero length."""
        regular = [span.regular for span in self.spans]
        if not any(regular):
            return np.zeros(q.shape[1], dtype=bool)
        zero, _ = self._is_zero(q, np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:]), parameters)
        return np.asarray(zero[regular].any(axis=0))

    def _is_zero(self, q: np.ndarray, t: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """True where the length is zero (elements, K), and the natural lengths."""
        between, size, natural = self.evaluate(q, t, parameters)
        return np.linalg.norm(between, axis=1) <= _ZERO * size, natural

    def separated(
        self, q: np.ndarray, qd: np.ndarray, t: float | np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, K) and times (K,) with nonzero damper lengths: states of zero length are advanced slightly in time.

        The damper force there is the limit at zero length, along the rate of the vector between its ends; if this rate vanishes,
        so does the force, and any nearby position is valid.
        """
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        if not (zero := self.any_zero(q, time, parameters)).any():
            return q, time
        out, later, scales = q.copy(), time.copy(), self._system.facts.scales
        later[zero] += _OFFSET * scales.time
        out[:, zero] += _OFFSET * scales.time * qd[:, zero]
        remaining = self.any_zero(out, later, parameters)
        out[:, remaining] += (_OFFSET * scales.positions * np.cos(1.0 + np.arange(len(q))))[:, None]
        for k in np.flatnonzero(self.any_zero(out, later, parameters)):
            own = parameters if parameters.ndim == 1 else parameters[:, [k]]
            coincident, _ = self._is_zero(out[:, [k]], later[[k]], own)
            raise InputError(_coincidence_message(self.spans[int(np.argmax(coincident[:, 0]))], float(time[k])))
        return out, later


def _coincidence_message(span: Span, t: float) -> str:
    """The message for an element whose ends always coincide."""
    return (
        f"{span.kind} '{span.name}': at t = {t:.9g} its ends coincide, and no motion of the model separates them. Expected two "
        "points with relative motion. Remove it, or choose other points."
    )


def _zero_length_message(span: Span, t: float, natural: float) -> str:
    """The message for an element of length zero."""
    if span.kind != "spring":
        inside = "a damping" if span.kind == "damper" else "a load"
        why, hint = "", f"Start with its ends apart, or use {inside} in the joint."
    elif natural == 0:
        why = " although its natural length is 0"
        hint = "Set natural_length = 0 as a number, then its force is regular; or start with its ends apart."
    else:
        why, hint = f" and its natural length is {natural:.6g}", "Start with its ends apart, even slightly."
    return (
        f"{span.kind} '{span.name}': at t = {t:.9g} its ends coincide{why}, so its force has no direction (0/0). "
        f"Expected a length above 0, got 0. {hint}"
    )
