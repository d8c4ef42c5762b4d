"""Something that moves between two walls: how far it is in each, and what pushes it back, by the laws of compliant contact.

With x between lower and upper, free in between, and N(δ, δ̇) the press of `contact_laws`,

    F = N(lower − x, −ẋ) − N(x − upper, ẋ).

Neither wall pulls, and the force has no potential: what walls take and give is work.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Self

import numpy as np

from dalembert.model.loads.base import Load
from dalembert.model.loads.contact_laws import DEPTH, NOTHING, Press
from dalembert.model.loads.force_laws import RATE, measure, numbers_but
from dalembert.model.record import record
from dalembert.model.reference_model import Traced, Watch
from dalembert.symbolic.symbols import Formula

PLACE = measure("position")


@record
class Walls(Press, Load):
    """Two walls, or one, and how strongly they press."""

    held_law: Formula | None = field(default=None, kw_only=True)  # what a run holds in place of the law

    @property
    @abstractmethod
    def walls(self) -> tuple[Formula | None, Formula | None]:
        """Where they stand; None where there is none."""

    @property
    def resistance(self) -> Formula:
        """What pushes back, a formula of the place and its rate."""
        if self.held_law is not None:
            return self.held_law
        (lower, upper), rate, total = self.walls, measure(RATE), NOTHING
        if lower is not None:
            total += self.press.subs({measure(DEPTH): lower - PLACE, rate: -rate})
        if upper is not None:
            total -= self.press.subs({measure(DEPTH): PLACE - upper})
        return total

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The law."""
        return (self.resistance,)

    def numbers(self) -> Iterator[tuple[str, Formula]]:
        """All but the law."""
        return super().numbers() if self.push is None else numbers_but(self.push, super().numbers())

    def held(self, hold: Callable[[Formula], Formula]) -> Self:
        """With its law held."""
        return replace(self, held_law=hold(self.resistance))

    # for the evidence

    def pushed_back(self, watch: Watch, x: Traced) -> np.ndarray:
        """What pushes back at every state."""
        (lower, upper), total = self.walls, np.zeros(watch.K)
        if lower is not None:
            total = total + self.pressed(watch, watch.number(lower) - x.value, -x.rate)
        if upper is not None:
            total = total - self.pressed(watch, x.value - watch.number(upper), x.rate)
        return total
