"""The lengths of springs and dampers as a compiled function: where one is zero its force is 0/0."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.algebra import stack, vector
from dalembert.errors import InputError
from dalembert.kinematics.applied import spans
from dalembert.model.loads.base import Span
from dalembert.programs import Function, compile_function
from dalembert.structure import System

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
        """Raise with the name of an element whose ends meet at one of the states (n, K)."""
        if not self.spans:
            return
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        between, size, natural = self.evaluate(q, time, parameters)
        met = np.linalg.norm(between, axis=1) <= _NOTHING * size
        for i, k in np.argwhere(met):
            raise InputError(_meeting(self.spans[i], float(time[k]), float(natural[i, k])))


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
