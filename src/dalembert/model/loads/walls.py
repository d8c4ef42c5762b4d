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

from dalembert.model import scales
from dalembert.model.loads.base import Load, Motion
from dalembert.model.loads.contact_laws import DEPTH, NOTHING, ONSET, Press
from dalembert.model.loads.force_laws import RATE, measure, numbers_but
from dalembert.model.record import record
from dalembert.model.reference_model import Traced, Watch
from dalembert.symbolic.algebra_base import Scalar
from dalembert.symbolic.lower import Lowering
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

    def measured(self, motion: Motion, place: Scalar, rate: Scalar) -> Lowering:
        """Makes scalars of its law, knowing the place, its rate, and the depth below which the law begins smoothly."""
        body, joint, k = self.in_joints[0]
        joints = next(each.joints for each in motion.model.bodies if each.name == body)
        least = scales.ONSET if scales.turns(joints[joint], k) else scales.onset(motion.model.description)
        known = {PLACE: place, measure(RATE): rate, measure(ONSET): motion.lower(least)}
        return motion.lower.knowing({symbol.name: x for symbol, x in known.items()})

    # for the evidence

    def pushed_back(self, watch: Watch, x: Traced) -> np.ndarray:
        """What pushes back at every state."""
        (lower, upper), total = self.walls, np.zeros(watch.K)
        if lower is not None:
            total = total + self.pressed(watch, watch.number(lower) - x.value, -x.rate)
        if upper is not None:
            total = total - self.pressed(watch, x.value - watch.number(upper), x.rate)
        return total
