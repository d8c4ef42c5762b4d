"""Aerodynamic drag at a point of a body, quadratic in its speed against the wind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import Problem
from dalembert.model.checks.check_values import value
from dalembert.model.file_form import ORIGIN
from dalembert.model.keys import AT, BODY, NAMED, Key, Keys, constant, moving_vector
from dalembert.model.loads.base import Applied, Load, LoadMaker, Motion, at_point, vector_of
from dalembert.model.making import ZERO, Given
from dalembert.model.reference_model import Action, Traced, Watch, Work, on_point, point_of
from dalembert.model.vectors import Vector3
from dalembert.symbolic.algebra_base import scaled
from dalembert.symbolic.exact_numbers import written_out
from dalembert.symbolic.symbols import Formula, Written

SMOOTHING = 1e-6


@dataclass(frozen=True)
class Drag(Load):
    """−½ density × coefficient × area × √(v² + smoothing²) v, where v is the velocity of a point less that of the wind."""

    kind: ClassVar[str] = "drag"
    forms: ClassVar[dict[str, Keys]] = {
        "drag": {
            **NAMED,
            **BODY,
            **dict.fromkeys(("density", "area", "coefficient"), Key(constant, True)),
            "wind": Key(moving_vector, usual=ORIGIN),
            **AT,
            "smoothing": Key(constant, usual=SMOOTHING),
        }
    }

    body: str
    density: Formula
    area: Formula
    coefficient: Formula
    wind: Vector3
    point: Vector3 | None
    smoothing: Formula

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        """Where it acts, if not at the mass centre."""
        return [] if self.point is None else [(self.body, self.point)]

    def law(self) -> tuple[str, str]:
        """What stands before v²."""
        size = written_out(self.density * self.coefficient * self.area / 2)
        wind = "" if all(x == 0 for x in self.wind) else f" against the wind ({', '.join(map(written_out, self.wind))})"
        return self.kind, f"{size} × speed²{wind}"

    def problems(self, table: dict[str, float]) -> list[Problem]:
        """A smoothing that is none."""
        smoothing = value(self.smoothing, table)
        if smoothing > 0:
            return []
        fact = f"the smoothing is {smoothing:g}, so the force has no second derivative at rest."
        return [Problem(f"{self.title}, smoothing", fact, "Expected a small positive speed, such as 1e-6.")]

    def applied(self, motion: Motion) -> list[Applied]:
        """Its force on the velocity of the point."""
        point = motion.center(self.body) if self.point is None else vector_of(motion, self.point)
        _, J, c = motion.frame(self.body).point(point)
        v, eps = J @ motion.qd + c - vector_of(motion, self.wind), motion.lower(self.smoothing)
        size = motion.lower(self.density * self.coefficient * self.area / 2)
        force = scaled(-size * motion.algebra.sqrt(v @ v + eps * eps), v)
        return [Applied(self.name, force, J, c, wrenches=at_point(motion, self.body, point, force))]

    # for the evidence

    def _moving(self, watch: Watch) -> tuple[Traced, np.ndarray]:
        """The point, and the force at it."""
        point = point_of(watch, self.body, watch.center(self.body) if self.point is None else self.point)
        against = point.rate - watch.numbers(self.wind)
        speed = np.linalg.norm(np.concatenate([against, watch.number(self.smoothing)[None]]), axis=0)
        pressure = 0.5 * watch.number(self.density) * speed
        return point, -pressure * watch.number(self.area) * watch.number(self.coefficient) * against

    def declared(self, watch: Watch) -> Work:
        """F · δr."""
        point, force = self._moving(watch)
        return on_point(self.name, force, point)

    def actions(self, watch: Watch) -> Iterator[Action]:
        """The force at its point."""
        point, force = self._moving(watch)
        yield Action(self.body, force, point.value, np.zeros((3, watch.K)))


class DragMaker(LoadMaker):
    """Makes drag."""

    @checked
    def drag(
        self,
        body: str,
        *,
        density: Written,
        area: Written,
        coefficient: Written,
        wind: Given = ZERO,
        point: Given | None = None,
        smoothing: Written = SMOOTHING,
        name: str | None = None,
    ) -> Self:
        """Let a body be slowed down by a fluid: −½ density × coefficient × area × |v| v at a point (default: its mass centre).

        v is the velocity of the point less that of the `wind`, three formulas in world axes. |v| is √(v² + smoothing²), so that
        the force is smooth at rest.

        >>> from dalembert.model.model import Model
        >>> model = Model("stone", gravity=(0, 0, -9.81)).coordinates("z")
        >>> _ = model.body("stone", joint=model.prismatic((0, 0, 1), "z"), mass=0.1)
        >>> model.drag("stone", density=1.2, area=0.01, coefficient=0.5).loads[0].law()
        ('drag', '0.003 × speed²')
        """
        fluid = {"density": density, "area": area, "coefficient": coefficient}
        return self._load(Drag, name, body=body, **fluid, wind=wind, point=point, smoothing=smoothing)
