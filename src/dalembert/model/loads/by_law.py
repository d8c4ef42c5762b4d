"""What loads share that pull by a law of one thing they measure and of its rate: a formula, and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dalembert.model.loads.base import Load
from dalembert.model.loads.force_laws import RATE, Law, measure, numbers_but
from dalembert.model.reference_model import Traced, Watch
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.lookup_tables import Table
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import Formula


@dataclass(frozen=True)
class ByLaw(Load):
    """It pulls by a formula of what it measures and by curves over it and over its rate; they add up."""

    measured: ClassVar[tuple[str, ...]]  # all names of what it measures

    pull: Formula
    curve: Table | None
    rate_curve: Table | None

    @property
    def _law(self) -> Law:
        return Law(self.measured, self.pull, self.curve, self.rate_curve)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The law with its curves."""
        return (self._law.formula,)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """All but the law."""
        return numbers_but(self.pull, super().numbers())

    def law(self) -> tuple[str, str]:
        """What it pulls with."""
        return self.kind, self._law.words()

    def held(self, hold: Callable[[Formula], Formula]) -> Self:
        """With its curves in the law."""
        return replace(self, pull=hold(self._law.formula), curve=None, rate_curve=None)

    def _pulls(self, lower: Lowering) -> Iterator[tuple[Scalar, Scalar | None]]:
        """The pull that has a potential with it, then the rest; what is zero is left out."""
        energy, rest = self._law.parts
        if (pull := energy.diff(measure(self.measured[0]))) != 0:
            yield lower(pull), lower(energy)
        if rest != 0:
            yield lower(rest), None

    def _pulled(self, watch: Watch, seen: Traced) -> np.ndarray:
        """For the evidence: the pull by the formula as it is given, and by the curves."""
        known = dict.fromkeys((measure(name).name for name in self.measured), seen.value)
        curves = ((self.curve, seen.value), (self.rate_curve, seen.rate))
        along = [np.interp(x, held.times, held.values) for held, x in curves if held is not None]
        return watch.number(self.pull, known | {measure(RATE).name: seen.rate}) + sum(along, start=np.zeros(watch.K))
