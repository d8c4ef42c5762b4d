"""A sweep as a value: everything that decides its numbers, and nothing that does not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.analysis.sweeps.sweep_lanes import reason_to_run_alone
from dalembert.analysis.sweeps.sweep_observables import Observable
from dalembert.analysis.sweeps.sweep_variation import Variation
from dalembert.api.equations import Equations
from dalembert.model.frozen import Value
from dalembert.simulation.integrators.dop853 import DormandPrince853
from dalembert.simulation.integrators.integrate import Settings

_RUNS, _FEW = 1024, 16  # of a chunk, in lanes and one by one
_SHARES = 64  # chunks at least, where there are runs enough for so many cores
_NUMBERS = 2**22  # of the samples of a chunk, 32 MB


@dataclass(frozen=True)
class Question(Value):
    """What is asked for; it pickles, so that others can answer a part of it."""

    equations: Equations
    variation: Variation
    observables: tuple[Observable, ...]
    times: tuple[float, ...]
    integrator: str | None
    settings: Settings
    project: bool = True
    given_chunk: int | None = None

    @cached_property
    def alone(self) -> str | None:
        """Why runs are made one by one, None where they share lanes."""
        if not self.project:
            return "runs without projection are made one by one"
        return reason_to_run_alone(self.equations, self.integrator or DormandPrince853.name)

    @cached_property
    def chunk(self) -> int:
        """The number of runs in a chunk: it follows from the question alone, never from how many workers there are."""
        if self.given_chunk is not None:
            return self.given_chunk
        most = _RUNS if self.alone is None else _FEW
        room = max(1, _NUMBERS // (len(self.times) * (self.equations.n_states + len(self.equations.working))))
        share = max(1, self.variation.runs // _SHARES)
        return max(1, min(most, room, max(share, 64) if self.alone is None else share))

    @property
    def chunks(self) -> int:
        """How many there are."""
        return -(-self.variation.runs // self.chunk)

    def runs_of(self, chunk: int) -> tuple[int, int]:
        """The first run of a chunk, and how many."""
        first = chunk * self.chunk
        return first, min(self.chunk, self.variation.runs - first)

    def shape_of(self, observable: Observable) -> tuple[int, ...]:
        """What is kept of one run."""
        return (len(self.times),) if observable.reduction is None else ()

    @property
    def numbers(self) -> int:
        """How many numbers are kept of one run."""
        return sum(int(np.prod(self.shape_of(each))) for each in self.observables)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of all that decides the numbers."""
        eom, kept = self.equations, self.settings
        laws = [_law(controller.law) for controller in eom.model.controllers]
        parts = (
            eom.derivation.setup.declared.content,
            (eom.formalism, eom.engine, eom.derivation.setup.mode, sorted(eom.changes.items())),
            ([axis.said for axis in self.variation.axes], self.variation.samples, self.variation.runs),
            self.variation.seed if self.variation.samples != "grid" else None,
            self.observables,
            self.times,
            (self.integrator, self.project, kept.rtol, kept.atol, kept.max_step, kept.step, laws),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def _law(law: object) -> str:
    """A law in Python, as far as it can be told from another."""
    function = getattr(law, "py_func", law)
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{name} {hashlib.sha256(code.co_code).hexdigest() if code is not None else ''}"
