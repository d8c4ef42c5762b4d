"""Control laws in Python: functions of time and state that compute the values of loads during a simulation.

The output of a law is an *input* of the equations: a parameter u(name) of its own kind. Equations are derived, proved and
compiled as usual; only their evaluation calls the law. A continuous law is called at every evaluation of the rates; a sampled
law is called every `period` seconds, in the order of time, with a zero-order hold in between.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from dalembert.arguments import is_real
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.symbolic.symbols import SymbolKind

DEFAULT_INPUT = 1.0  # value of an input if no law is called, as in structural analysis: any nonzero number
Law: TypeAlias = Callable[[Any, "State"], Any]


@runtime_checkable
class StatefulLaw(Protocol):
    """A law with internal state, such as an integral, which is reset at the start of every simulation."""

    def reset(self, t0: float, state: State) -> None:
        """Reset the internal state at `t0` with this state."""
        ...


class Timing(NamedTuple):
    """When a law is called: every `period` seconds, or continuously (None); with many states at once if `vectorized`."""

    period: float | None = None
    delay: float = 0.0
    vectorized: bool = False


class State:
    """The state of a model: the arrays q and q̇ in the order of the coordinates, and all coordinates and rates by name.

    The arrays are read-only views of the arrays of the integrator.

    >>> state = State(state_indices(("x", "phi")), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> float(state["phi"]), float(state["dot(x)"]), state.q.tolist()
    (2.0, 3.0, [1.0, 2.0])
    """

    __slots__ = ("_indices", "q", "qd")

    def __init__(self, known: Mapping[str, tuple[int, int]], q: np.ndarray, qd: np.ndarray) -> None:
        self._indices, self.q, self.qd = known, _read_only(q), _read_only(qd)

    def __getitem__(self, name: str) -> Any:
        try:
            rate, row = self._indices[name]
        except KeyError:
            raise InputError(f"the state has no '{name}'. {suggest_name(name, self._indices)}") from None
        return self.qd[row] if rate else self.q[row]

    def __repr__(self) -> str:
        return f"State({', '.join(f'{name}={self[name]}' for name in self._indices)})"


def _read_only(numbers: np.ndarray) -> np.ndarray:
    """A read-only view of an array."""
    view = numbers.view()
    view.flags.writeable = False
    return view


def state_indices(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Indices of coordinates and rates in a state, by name."""
    return {name: (0, i) for i, name in enumerate(names)} | {SymbolKind.RATE.of(x): (1, i) for i, x in enumerate(names)}


@dataclass(frozen=True)
class Controller:
    """A control law and its inputs, equally many for each of its loads: continuous, or sampled with a zero-order hold."""

    name: str
    loads: tuple[str, ...]
    inputs: tuple[str, ...]  # the names of the parameters
    law: Law = field(repr=False)
    period: float | None = None  # None: continuous
    delay: float = 0.0  # from the sample to its effect
    vectorized: bool = False  # the law accepts many states at once

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"the law of '{self.name}'"

    def of_load(self, name: str) -> tuple[str, ...]:
        """The inputs of one of its loads."""
        each, k = len(self.inputs) // len(self.loads), self.loads.index(name)
        return self.inputs[k * each : (k + 1) * each]

    @property
    def native(self) -> bool:
        """True for law(t, q, qd, out) compiled by Numba."""
        return hasattr(self.law, "py_func")

    def at(self, t: float, state: State) -> np.ndarray:
        """The output of the law at one state, (inputs,)."""
        if self.native:
            out = np.zeros(len(self.inputs))
            cast("Any", self.law)(t, state.q.copy(), state.qd.copy(), out)  # compiled for writable arrays
            return self._finite(out, (), t)
        return self._numbers(self.law(t, state), (), t)

    def along(self, t: np.ndarray, known: Mapping[str, tuple[int, int]], q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The output of the law at many states, (inputs, batch)."""
        if self.vectorized:
            return self._numbers(self.law(t, State(known, q, qd)), t.shape, t)
        each = zip(t.tolist(), q.T, qd.T, strict=True)
        return np.stack([self.at(s, State(known, x, v)) for s, x, v in each], axis=1)

    def _numbers(self, values: object, batch: tuple[int, ...], t: float | np.ndarray) -> np.ndarray:
        """Convert the output to finite numbers (inputs, *batch), or raise an error with the law, the time and the value."""
        count = len(self.inputs)
        try:
            found = _real_array(values)
            if found.ndim <= len(batch) and count == 1:
                found = found[None]
            if not batch and found.shape != (count,):
                raise ValueError(found.shape)
            shaped = np.broadcast_to(found if found.ndim else found[None], (count, *batch)) if batch else found
        except (TypeError, ValueError):
            expected = "one number" if count == 1 else f"{count} numbers"
            many = f" for each of {batch[0]} states" if batch else ""
            raise InputError(
                f"{self.title}{_when(t)} returned {short_repr(values)}. Expected {expected}{many}."
            ) from None
        return self._finite(shaped, batch, t)

    def _finite(self, found: np.ndarray, batch: tuple[int, ...], t: float | np.ndarray) -> np.ndarray:
        if all(map(isfinite, found.tolist())) if not batch else np.isfinite(found).all():
            return found
        column = int(np.argmin(np.isfinite(found).all(axis=0))) if batch else ()
        value, when = found[:, column] if batch else found, np.asarray(t)[column]
        one = value.tolist() if len(value) > 1 else float(value[0])
        raise InputError(
            f"{self.title}{_when(when)} returned {one}. Expected finite numbers; check the divisions in the law."
        )

    def __getstate__(self) -> dict[str, object]:
        try:
            pickle.dumps(self.law)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"{self.title} cannot be pickled or sent to another process: {error}. Define it as a function or a class "
                "of a module, not as a lambda or inside a function; or use one process."
            ) from error
        return dict(vars(self))


def _when(t: float | np.ndarray) -> str:
    """The time of a value in a message; empty for a batch of times."""
    return f" at t = {float(t):.9g}" if np.ndim(t) == 0 else ""


def _real_array(values: object) -> np.ndarray:
    """Convert real numbers to a float array; NumPy alone would accept the str "3" as 3 and None as NaN."""
    found = np.asarray(values)
    if found.dtype.kind not in "fiub" and not (
        found.dtype.kind == "O" and all(isinstance(x, Real) for x in found.ravel().tolist())
    ):
        raise TypeError(found.dtype)
    return found.astype(float, copy=False)


@dataclass(frozen=True)
class Inputs:
    """The inputs of a model among its parameters, and the laws that compute them."""

    controllers: tuple[Controller, ...]
    coordinates: tuple[str, ...]
    parameters: tuple[str, ...]

    @cached_property
    def indices(self) -> dict[str, tuple[int, int]]:
        """Indices of coordinates and rates in a state."""
        return state_indices(self.coordinates)

    @cached_property
    def continuous(self) -> tuple[tuple[Controller, list[int]], ...]:
        """The continuous laws, each with the indices of its inputs."""
        return tuple((c, self.rows(c.inputs)) for c in self.controllers if c.period is None)

    @cached_property
    def sampled(self) -> tuple[tuple[Controller, list[int]], ...]:
        """The sampled laws, each with the indices of its inputs."""
        return tuple((c, self.rows(c.inputs)) for c in self.controllers if c.period is not None)

    def rows(self, names: Sequence[str]) -> list[int]:
        """Indices of inputs among the parameters."""
        return [self.parameters.index(name) for name in names]

    def filled(self, t: Any, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Parameter values with the outputs of the continuous laws, for one state or many; later entries are unchanged."""
        if not self.continuous:
            return values
        if q.ndim == 1:
            out, state = values.copy(), State(self.indices, q, qd)
            for controller, rows in self.continuous:
                out[rows] = controller.at(float(t), state)
            return out
        times = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])
        out = np.repeat(values[:, None], q.shape[1], axis=1) if values.ndim == 1 else values.copy()
        for controller, rows in self.continuous:
            out[rows] = controller.along(times, self.indices, q, qd)
        return out

    def refuse_sampled(self, who: str) -> None:
        """Raise if an input is not a function of the state."""
        for controller, _ in self.sampled:
            raise InputError(
                f"{who}: {controller.title} is sampled and held, so its input is not a function of the state. Use a simulation, "
                "such as run.qdd, or model.without_controllers(), whose inputs are parameters."
            )


def controller_of(
    name: str, loads: Sequence[str], law: object, timing: Timing, *, ends: Sequence[str] = ("",)
) -> Controller:
    """Validate a law of a user; each load has one input for each suffix in `ends`."""
    where, (period, delay, vectorized) = f"the law of '{name}'", timing
    if not callable(law):
        raise InputError(f"{where}: got {short_repr(law)}. Expected a function law(t, state).")
    if hasattr(law, "py_func") and (len(inspect.signature(law).parameters) != 4 or vectorized):
        raise InputError(
            f"{where}: it is compiled by Numba. Expected law(t, q, qd, out), which writes to `out`, and vectorized=False."
        )
    if period is not None and not (is_real(period) and period > 0):
        raise InputError(f"{where}, period: got {short_repr(period)}. Expected a positive number of seconds, or None.")
    if not (is_real(delay) and delay >= 0):
        raise InputError(f"{where}, delay: got {short_repr(delay)}. Expected a number >= 0 of seconds.")
    if period is None and delay:
        raise InputError(f"{where}: delay is {delay:g} and there is no period. A delay needs a period.")
    if period is None and isinstance(law, StatefulLaw):
        raise InputError(
            f"{where}: it has internal state (`reset`), and there is no period. A continuous law is called at trial states of "
            "the integrator, not in the order of time. Give a period, such as period=0.001."
        )
    inputs = tuple(SymbolKind.INPUT.of(f"{load}{end}") for load in loads for end in ends)
    return Controller(
        name, tuple(loads), inputs, law, None if period is None else float(period), float(delay), vectorized
    )
