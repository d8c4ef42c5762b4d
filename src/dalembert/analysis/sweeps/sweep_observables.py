"""What is recorded of every run: formulas of the state and of energies, along the run or one number of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.api.equations import Equations
from dalembert.api.trajectory import Trajectory
from dalembert.codegen.function import Function
from dalembert.errors import FormulaError, InputError, nearest
from dalembert.symbolic.algebra_base import stack, vector
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.simulation.observables import Observed

ENERGIES: dict[str, Callable[[Observed], np.ndarray]] = {
    "energy": lambda seen: seen.total,
    "kinetic": lambda seen: seen.kinetic,
    "potential": lambda seen: seen.potential,
}
REDUCTIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "initial": ("at the start", lambda x: x[..., 0]),
    "final": ("at the end", lambda x: x[..., -1]),
    "max": ("the largest sample", lambda x: x.max(axis=-1)),
    "min": ("the smallest sample", lambda x: x.min(axis=-1)),
    "mean": ("the mean of the samples", lambda x: x.mean(axis=-1)),
    "rms": ("the root of the mean square of the samples", lambda x: np.sqrt((x * x).mean(axis=-1))),
    "drift": ("the largest distance from the start", lambda x: np.abs(x - x[..., :1]).max(axis=-1)),
}
_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)


@dataclass(frozen=True)
class Observable:
    """A recorded quantity: a name, and the formula or the column of a run that it is, along the run or reduced."""

    name: str
    text: str
    reduction: str | None = None  # None: all samples
    column: bool = False  # not a formula: what a run knows by this name

    def reduced(self, along: np.ndarray) -> np.ndarray:
        """What is recorded of samples (..., samples)."""
        return along if self.reduction is None else REDUCTIONS[self.reduction][1](along)


def observables_of(
    equations: Equations, observe: str | Sequence[str] | Mapping[str, str], probe: Callable[[], Trajectory]
) -> tuple[Observable, ...]:
    """The observables a user names; `probe` makes a run, whose columns are searched where a text is no formula.

    >>> import dalembert as dl
    >>> eom = dl.derive("simple-pendulum")
    >>> [(each.text, each.reduction) for each in observables_of(eom, ["max(theta)", "energy"], lambda: eom.simulate(1.0))]
    [('theta', 'max'), ('energy', None)]
    """
    given = {observe: observe} if isinstance(observe, str) else observe
    named = dict(given) if isinstance(given, Mapping) else {str(text): str(text) for text in given}
    if not named:
        raise InputError(
            "sweep: nothing is observed. Expected names or formulas, such as observe=['energy', 'max(theta)']."
        )
    return tuple(_observable(equations, str(name), str(text), probe) for name, text in named.items())


def _observable(equations: Equations, name: str, text: str, probe: Callable[[], Trajectory]) -> Observable:
    reduction, inner = _parted(text)
    found = Observable(name, inner, reduction)
    try:
        _read(equations, inner)
        return found
    except FormulaError as error:
        columns = _columns(probe())
        if inner in columns:
            return replace(found, column=True)
        known = [*equations.model.coordinate_names, *ENERGIES, *columns, *(f"{word}(...)" for word in REDUCTIONS)]
        raise InputError(
            f"sweep, observe: '{text}' is neither a formula nor what a run knows by name. {nearest(inner, known)} {error}"
        ) from None


def _parted(text: str) -> tuple[str | None, str]:
    """A reduction and what it is of; max(a, b) of two is a formula."""
    match = _CALL.fullmatch(text)
    if match is None or match[1] not in REDUCTIONS:
        return None, text.strip()
    depth = 0
    for sign in match[2]:
        depth += (sign == "(") - (sign == ")")
        if depth < 0 or (sign == "," and depth == 0):
            return None, text.strip()
    return match[1], match[2].strip()


def _read(equations: Equations, text: str) -> Formula:
    """A formula of coordinates, velocities, parameters, time and energies."""
    reader = equations.model.reader
    clash = [name for name in ENERGIES if name not in reader.names]
    return replace(reader, parameters=(*reader.parameters, *clash)).read(text, "sweep, observe")


def _columns(run: Trajectory) -> list[str]:
    from dalembert.display import dataset

    return [column.name for column in dataset.columns_of(dataset.from_trajectory(run))]


class Observer:
    """The formulas of some observables, compiled as one function of the state, the parameters and the energies."""

    def __init__(self, equations: Equations, observables: Sequence[Observable]) -> None:
        self._space = equations.workspace
        self.formulas = [each for each in observables if not each.column]
        system, read = self._space.system, [_read(equations, each.text) for each in self.formulas]
        asked = {str(symbol) for formula in read for symbol in formula.free_symbols}
        self._energies = [name for name in ENERGIES if name in asked and name not in equations.model.reader.names]
        symbols = system.algebra.symbols(self._energies)
        lower = system.motion.lower.knowing(dict(zip(self._energies, symbols, strict=True)))
        outputs = vector([lower(formula) for formula in read])
        self._function: Function = self._space.compiled(outputs, stack(symbols, system.q, system.qd))

    def along(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
        """The formulas at states (n, K), by the names of their observables."""
        parts = [q, qd, t[None]]
        if self._energies:
            seen = self._space.observables.along(t, q, qd, values)
            parts = [np.stack([ENERGIES[name](seen) for name in self._energies]), *parts]
        found = self._function(np.concatenate(parts), values)
        return dict(zip((each.name for each in self.formulas), found, strict=True))
