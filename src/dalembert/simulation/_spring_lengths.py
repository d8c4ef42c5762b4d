"""The lengths of springs and dampers as a compiled function: where one is zero its force is 0/0."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.codegen.function import Function, compile_function
from dalembert.errors import InputError
from dalembert.mechanics.applied_forces import spans
from dalembert.mechanics.system import System
from dalembert.model.loads.base import Span
from dalembert.symbolic.algebra_base import stack, vector

_LITTLE = 1e-9  # of the scales of the model: how much later, or how far off, the ends of dampers do not meet any more
_NOTHING = 1e-14  # of the distances of the ends from the origin: below it a length is zero


class Lengths:
    """The springs with natural length and the dampers of a system."""

    def __init__(self, system: System) -> None:
        self._system = system

    @cached_property
    def spans(self) -> list[Span]:
        """The elements, in the order of the model."""
        return spans(self._system.motion)

    @cached_property
    def _function(self) -> Function:
        system = self._system
        parts = [stack(*span.ends, vector([span.length])) for span in self.spans]
        parameters = system.algebra.symbols(list(system.model.parameter_values))
        inputs = stack(system.q, vector([system.t]))
        return compile_function(system.algebra, inputs, stack(*parts), parameters, system.engine)

    def evaluate(self, q: np.ndarray, t: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, ...]:
        """Vectors between the ends (elements, 3, K), sizes of their positions (elements, K) and natural lengths (elements, K)."""
        out = self._function(np.concatenate([q, np.broadcast_to(t, q.shape[1:])[None]]), parameters)
        parts = out.reshape(len(self.spans), 7, -1)
        first, second, natural = parts[:, :3], parts[:, 3:6], parts[:, 6]
        size = np.linalg.norm(first, axis=1) + np.linalg.norm(second, axis=1) + np.abs(natural)
        return second - first, size, natural

    def require_nonzero(self, q: np.ndarray, t: float | np.ndarray, parameters: np.ndarray) -> None:
        """Raise with the name of an element whose ends meet at one of the states (n, K), and whose force has no limit there."""
        if not self.spans:
            return
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        met, natural = self._met(q, time, parameters)
        for i, k in np.argwhere(met):
            if not self.spans[i].regular:
                raise InputError(_meeting(self.spans[i], float(time[k]), float(natural[i, k])))

    def meet(self, q: np.ndarray, t: float | np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """At which of the states (n, K) the ends of a damper meet."""
        regular = [span.regular for span in self.spans]
        if not any(regular):
            return np.zeros(q.shape[1], dtype=bool)
        met, _ = self._met(q, np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:]), parameters)
        return np.asarray(met[regular].any(axis=0))

    def _met(self, q: np.ndarray, t: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which ends meet (elements, K), and the natural lengths."""
        between, size, natural = self.evaluate(q, t, parameters)
        return np.linalg.norm(between, axis=1) <= _NOTHING * size, natural

    def apart(
        self, q: np.ndarray, qd: np.ndarray, t: float | np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, K) and times (K,) at which no ends of dampers meet: where they do, as they are a little later.

        The force of a damper is there what it is at the meeting, as far as it goes along the rate of the vector between its ends;
        where this rate vanishes, the force does, and any other position serves.
        """
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        if not (met := self.meet(q, time, parameters)).any():
            return q, time
        out, later, scales = q.copy(), time.copy(), self._system.facts.scales
        later[met] += _LITTLE * scales.time
        out[:, met] += _LITTLE * scales.time * qd[:, met]
        still = self.meet(out, later, parameters)
        out[:, still] += (_LITTLE * scales.positions * np.cos(1.0 + np.arange(len(q))))[:, None]
        for k in np.flatnonzero(self.meet(out, later, parameters)):
            parts = self._met(out[:, [k]], later[[k]], parameters if parameters.ndim == 1 else parameters[:, [k]])[0][
                :, 0
            ]
            raise InputError(_together(next(self.spans[i] for i in np.flatnonzero(parts)), float(time[k])))
        return out, later


def _together(span: Span, t: float) -> str:
    """What is wrong with an element whose ends are never apart."""
    return (
        f"{span.kind} '{span.name}': at t = {t:.9g} its ends meet, and no motion of the model parts them. Expected two points "
        "that move against each other. Remove it, or give it other points."
    )


def _meeting(span: Span, t: float, natural: float) -> str:
    """What is wrong with an element of length zero."""
    if span.kind != "spring":
        inside = "a damping" if span.kind == "damper" else "a load"
        why, hint = "", f"Start with its ends apart, or use {inside} inside the joint."
    elif natural == 0:
        why = " although its natural length is 0"
        hint = "Write natural_length = 0 as a number, then its force is regular; or start with its ends apart."
    else:
        why, hint = f" and its natural length is {natural:.6g}", "Start with its ends apart, by however little."
    return (
        f"{span.kind} '{span.name}': at t = {t:.9g} its ends meet{why}, so its force has no direction (0/0). "
        f"Expected a length above 0, got 0. {hint}"
    )
