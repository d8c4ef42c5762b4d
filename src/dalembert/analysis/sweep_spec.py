"""The specification of a sweep: everything that determines its results, and nothing else."""

from __future__ import annotations

import hashlib
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from dalembert.analysis._sweep_lanes import reason_to_run_alone
from dalembert.api.equations import Equations
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import as_finite_array, is_integer, is_real
from dalembert.codegen.function import CompiledFunction
from dalembert.errors import FormulaError, InputError, short_repr, suggest_name
from dalembert.model.description import Elements
from dalembert.model.immutable import FrozenValue
from dalembert.simulation.integrators.base import Settings
from dalembert.simulation.integrators.dop853 import DENSE_RTOL, DormandPrince853
from dalembert.symbolic.algebra_base import stack, vector
from dalembert.symbolic.symbols import Formula, SymbolKind

if TYPE_CHECKING:
    from dalembert.simulation.observables import Observed


_MAX_LANE_RUNS, _MAX_SINGLE_RUNS = 1024, 16  # largest number of runs in a chunk, in lanes and one by one
_MIN_CHUNKS = 64  # smallest number of chunks, if there are enough runs
_MAX_NUMBERS = 2**22  # largest number of values in the samples of a chunk, 32 MB
Samples = Literal["grid", "sobol", "random"]
SAMPLES: tuple[Samples, ...] = ("grid", "sobol", "random")
MAX_RUNS = 10**12  # runs
_BITS = 32  # of Sobol points: the largest number that SciPy allows
_OPEN = 2.0**-54  # distance of probabilities from 0 and 1


ENERGIES: dict[str, Callable[[Observed], np.ndarray]] = {
    "energy": lambda observed: observed.total,
    "kinetic": lambda observed: observed.kinetic,
    "potential": lambda observed: observed.potential,
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
class SweepSpec(FrozenValue):
    """The specification of a sweep; it can be pickled, so that other processes can evaluate its chunks."""

    equations: Equations
    variation: VariedValues
    observables: tuple[Observable, ...]
    times: tuple[float, ...]
    integrator: str | None
    settings: Settings
    project: bool = True
    chunk_size: int | None = None

    @cached_property
    def reason_without_lanes(self) -> str | None:
        """Why runs are simulated one by one; None if they share lanes."""
        if not self.project:
            return "runs without projection are simulated one by one"
        if DormandPrince853.relative(self.settings) < DENSE_RTOL:
            return f"with an rtol below {DENSE_RTOL:g} samples are computed by steps of each run"
        return reason_to_run_alone(self.equations, self.integrator or DormandPrince853.name)

    @cached_property
    def chunk(self) -> int:
        """The number of runs in a chunk: it depends on the spec only, not on the number of workers."""
        if self.chunk_size is not None:
            return self.chunk_size
        limit = _MAX_LANE_RUNS if self.reason_without_lanes is None else _MAX_SINGLE_RUNS
        fitting = max(
            1, _MAX_NUMBERS // (len(self.times) * (self.equations.n_states + len(self.equations.work_sources)))
        )
        share = max(1, self.variation.runs // _MIN_CHUNKS)
        return max(1, min(limit, fitting, max(share, 64) if self.reason_without_lanes is None else share))

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.variation.runs // self.chunk)

    def runs_of(self, chunk: int) -> tuple[int, int]:
        """The first run of a chunk, and the number of its runs."""
        first = chunk * self.chunk
        return first, min(self.chunk, self.variation.runs - first)

    def shape_of(self, observable: Observable) -> tuple[int, ...]:
        """The shape of an observable of one run."""
        return (len(self.times),) if observable.reduction is None else ()

    @property
    def numbers(self) -> int:
        """The number of recorded values of one run."""
        return sum(int(np.prod(self.shape_of(each))) for each in self.observables)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of everything that determines the results."""
        eom, settings = self.equations, self.settings
        laws = [_law(controller.law) for controller in eom.model.controllers]
        parts = (
            eom.derivation.setup.declared.content,
            (eom.formalism, eom.engine, eom.derivation.setup.mode, sorted(eom.changes.items())),
            ([axis.identity for axis in self.variation.axes], self.variation.samples, self.variation.runs),
            self.variation.seed if self.variation.samples != "grid" else None,
            self.observables,
            self.times,
            (self.integrator, self.project, settings.rtol, settings.atol, settings.max_step, settings.step, laws),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def _law(law: object) -> str:
    """A str that distinguishes a Python law from others, as far as possible."""
    function = getattr(law, "py_func", law)
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{name} {hashlib.sha256(code.co_code).hexdigest() if code is not None else ''}"


@runtime_checkable
class Distribution(Protocol):
    """A distribution with an inverse, such as scipy.stats.norm(1, 0.1)."""

    def ppf(self, share: np.ndarray) -> npt.ArrayLike:
        """The quantile of a probability."""
        ...


@dataclass(frozen=True)
class SweepAxis:
    """One varied quantity: a parameter, an initial position or an initial velocity."""

    name: str
    kind: Literal["parameter", "position", "velocity"]
    index: int
    unit: str
    values: tuple[float, ...] = ()  # of a grid
    law: Distribution | None = None  # of samples; None: uniform
    ends: tuple[float, float] = (0.0, 1.0)

    def spread(self, shares: np.ndarray) -> np.ndarray:
        """The values at probabilities between 0 and 1."""
        if self.law is not None:
            return np.asarray(self.law.ppf(shares), dtype=float)
        low, high = self.ends
        return low + (high - low) * shares

    @property
    def identity(self) -> str:
        """Everything that determines its values, for comparison."""
        law = self.law
        known = (getattr(getattr(law, "dist", law), "name", type(law).__name__), getattr(law, "args", ()))
        return repr((self.name, self.values, None if law is None else (known, getattr(law, "kwds", {})), self.ends))


@dataclass(frozen=True)
class VariedValues:
    """The varied values of all runs."""

    axes: tuple[SweepAxis, ...]
    samples: Samples
    runs: int
    seed: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of runs along every axis of a grid, otherwise the number of runs."""
        return tuple(len(axis.values) for axis in self.axes) if self.samples == "grid" else (self.runs,)


class Points:
    """The varied values of any runs; fast in sequential order."""

    def __init__(self, variation: VariedValues) -> None:
        self._variation = variation
        self._sequence: Any = None  # a Sobol sequence
        self._next = 0

    def __call__(self, first: int, count: int) -> np.ndarray:
        """The values (axes, count) of runs first, first + 1, ..."""
        known = self._variation
        if known.samples == "grid":
            indices = np.unravel_index(np.arange(first, first + count), known.shape)
            return np.stack([np.array(a.values)[i] for a, i in zip(known.axes, indices, strict=True)])
        probabilities = self._random(first, count) if known.samples == "random" else self._sobol(first, count)
        probabilities = np.clip(probabilities, _OPEN, 1 - _OPEN)
        return np.stack([axis.spread(row) for axis, row in zip(known.axes, probabilities, strict=True)])

    def _random(self, first: int, count: int) -> np.ndarray:
        """Random probabilities by a counter-based generator, so that any run can be computed."""
        d = len(self._variation.axes)
        words = -(-d // 4)
        source = np.random.Philox(key=self._variation.seed)
        source.advance(first * words)
        return np.random.Generator(source).random((count, 4 * words))[:, :d].T

    def _sobol(self, first: int, count: int) -> np.ndarray:
        from scipy.stats import qmc

        if self._sequence is None or first < self._next:
            self._sequence = qmc.Sobol(len(self._variation.axes), scramble=True, bits=_BITS, rng=self._variation.seed)
            self._next = 0
        with warnings.catch_warnings():  # about sample counts that are not powers of two
            warnings.simplefilter("ignore", UserWarning)
            if first > self._next:
                self._sequence.fast_forward(first - self._next)
            self._next = first + count
            return self._sequence.random(count).T


def variation_of(model: Elements, vary: Mapping[str, Any], samples: str, runs: int | None, seed: int) -> VariedValues:
    """The variation described by the arguments of `sweep`; raises InputError if one is wrong.

    >>> import dalembert as dl
    >>> variation_of(dl.load("simple-pendulum"), {"l": [0.5, 1.0], "theta": [0.1, 0.2, 0.3]}, "grid", None, 0).runs
    6
    """
    if samples not in SAMPLES:
        raise InputError(
            f"sweep, samples: there is no '{samples}'. {suggest_name(samples, SAMPLES)} Expected grid, sobol or random."
        )
    if not vary:
        raise InputError("sweep, vary: got no names. Expected names with values, such as {'l': [0.5, 1.0, 1.5]}.")
    if not is_integer(seed) or seed < 0:
        raise InputError(f"sweep, seed: got {short_repr(seed)}. Expected an int >= 0.")
    axes = tuple(_axis(model, str(name), values, samples == "grid") for name, values in vary.items())
    if samples == "grid":
        if runs is not None:
            raise InputError("sweep, runs: the number of runs of a grid is fixed. Omit `runs`, or use samples='sobol'.")
        count = math.prod(len(axis.values) for axis in axes)
    else:
        if not is_integer(runs) or cast("int", runs) < 1:
            raise InputError(
                f"sweep, runs: got {short_repr(runs)}. Expected the number of runs for samples='{samples}'."
            )
        count = int(cast("int", runs))
    limit = 2**_BITS if samples == "sobol" else MAX_RUNS
    if count > limit:
        raise InputError(f"sweep: got {count:.3g} runs. Expected at most {limit:.3g}. Vary fewer names or values.")
    return VariedValues(axes, cast("Samples", samples), count, int(seed))


def _axis(model: Elements, name: str, values: object, grid: bool) -> SweepAxis:
    kind, index, unit = _index_of(model, name)
    if grid:
        if isinstance(values, Distribution):
            raise InputError(f"sweep, '{name}': got a distribution for a grid. Give values, or use samples='random'.")
        values = np.atleast_1d(as_finite_array(values, f"sweep, '{name}'"))
        if values.ndim != 1 or not len(values):
            raise InputError(f"sweep, '{name}': got shape {values.shape}. Expected a number or a nonempty 1-D array.")
        return SweepAxis(name, kind, index, unit, tuple(values.tolist()))
    if isinstance(values, Distribution):
        return SweepAxis(name, kind, index, unit, law=values)
    if not (isinstance(values, tuple | list | np.ndarray) and len(values) == 2 and all(map(is_real, values))):
        raise InputError(
            f"sweep, '{name}': got {short_repr(values)}. Expected the ends of a range such as (0.5, 1.5), or a distribution with "
            "`ppf` such as scipy.stats.norm(1, 0.1)."
        )
    return SweepAxis(name, kind, index, unit, ends=(float(values[0]), float(values[1])))


def _index_of(model: Elements, name: str) -> tuple[Literal["parameter", "position", "velocity"], int, str]:
    inputs = {each for controller in model.controllers for each in controller.inputs}
    parameters = [p for p in model.declared_parameters if p.name not in inputs]
    for p in parameters:
        if p.name == name:
            return "parameter", list(model.parameter_values).index(name), p.unit
    for i, c in enumerate(model.generalized_coordinates):
        if c.name == name:
            return "position", i, c.unit
        if SymbolKind.RATE.of(c.name) == name:
            return "velocity", i, f"{c.unit}/s" if c.unit else ""
    known = [
        *(p.name for p in parameters),
        *(x for c in model.generalized_coordinates for x in (c.name, SymbolKind.RATE.of(c.name))),
    ]
    raise InputError(
        f"sweep, vary: there is no '{name}'. {suggest_name(name, known)} Expected a parameter, an initial coordinate x or an "
        "initial velocity dot(x)."
    )


@dataclass(frozen=True)
class Observable:
    """A recorded quantity: a name, and a formula or column of a run, along the run or reduced."""

    name: str
    source: str
    reduction: str | None = None  # None: all samples
    column: bool = False  # a column of a run, not a formula

    def reduced(self, along: np.ndarray) -> np.ndarray:
        """The recorded values of samples (..., samples)."""
        return along if self.reduction is None else REDUCTIONS[self.reduction][1](along)


def observables_of(
    equations: Equations, observe: str | Sequence[str] | Mapping[str, str], probe: Callable[[], Trajectory]
) -> tuple[Observable, ...]:
    """The named observables; `probe` simulates a run, whose columns are searched for names that are not formulas.

    >>> import dalembert as dl
    >>> eom = dl.derive("simple-pendulum")
    >>> [(each.source, each.reduction) for each in observables_of(eom, ["max(theta)", "energy"], lambda: eom.simulate(1.0))]
    [('theta', 'max'), ('energy', None)]
    """
    names = {observe: observe} if isinstance(observe, str) else observe
    named = dict(names) if isinstance(names, Mapping) else {str(text): str(text) for text in names}
    if not named:
        raise InputError(
            "sweep, observe: got no names. Expected names or formulas, such as observe=['energy', 'max(theta)']."
        )
    return tuple(_observable(equations, str(name), str(text), probe) for name, text in named.items())


def _observable(equations: Equations, name: str, text: str, probe: Callable[[], Trajectory]) -> Observable:
    reduction, inner = _split_reduction(text)
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
            f"sweep, observe: '{text}' is neither a formula nor a column of a run. {suggest_name(inner, known)} {error}"
        ) from None


def _split_reduction(text: str) -> tuple[str | None, str]:
    """A reduction and its argument; max(a, b) with two arguments is a formula."""
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

    return [column.name for column in dataset.columns_of(dataset.to_dataset(run))]


class Observer:
    """The formulas of some observables, compiled as one function of the state, the parameters and the energies."""

    def __init__(self, equations: Equations, observables: Sequence[Observable]) -> None:
        self._space = equations.workspace
        self.formulas = [each for each in observables if not each.column]
        system, read = self._space.system, [_read(equations, each.source) for each in self.formulas]
        used = {str(symbol) for formula in read for symbol in formula.free_symbols}
        self._energies = [name for name in ENERGIES if name in used and name not in equations.model.reader.names]
        symbols = system.algebra.symbols(self._energies)
        lower = system.motion.lower.with_values(dict(zip(self._energies, symbols, strict=True)))
        outputs = vector([lower(formula) for formula in read])
        self._function: CompiledFunction = self._space.compiled(outputs, stack(symbols, system.q, system.qd))

    def along(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
        """The formulas at states (n, K), by the names of their observables."""
        parts = [q, qd, t[None]]
        if self._energies:
            energies = self._space.observables.along(t, q, qd, values)
            parts = [np.stack([ENERGIES[name](energies) for name in self._energies]), *parts]
        found = self._function(np.concatenate(parts), values)
        return dict(zip((each.name for each in self.formulas), found, strict=True))
