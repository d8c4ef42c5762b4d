"""Aerodynamic drag at a point of a body, quadratic in its speed relative to the wind."""

from __future__ import annotations

import numpy as np

from dalembert.errors import Problem
from dalembert.model.evaluation import value
from dalembert.model.keys import body_name, constant, moving_vector, optional_point
from dalembert.model.loads.base import Applied, AtPoint, LoadKinematics, at_point, vector_of
from dalembert.model.record import argument, record
from dalembert.model.reference_model import Derivatives, MotionProbe, point_of
from dalembert.model.values import ZERO, Vector3
from dalembert.symbolic.algebra_base import scaled
from dalembert.symbolic.formula_writer import formula_string
from dalembert.symbolic.symbols import Formula

SMOOTHING = 1e-6


@record
class Drag(AtPoint):
    """Add drag −½ density × coefficient × area × |v| v at a point of a body (default: its mass center).

    v is the velocity of the point relative to the `wind`, three formulas in world axes. |v| is √(v² + smoothing²), so that
    the force is smooth at zero velocity.

    >>> from dalembert.model.model import Model
    >>> model = Model("stone", gravity=(0, 0, -9.81)).coordinates("z")
    >>> _ = model.body("stone", joint=model.prismatic((0, 0, 1), "z"), mass=0.1)
    >>> model.drag("stone", density=1.2, area=0.01, coefficient=0.5).loads[0].law()
    ('drag', '0.003 × speed²')
    """

    kind = "drag"

    body: str = argument(body_name, positional=True, about="the body it acts on")
    density: Formula = argument(constant, about="a constant: the density of the fluid")
    area: Formula = argument(constant, about="a constant: the reference area")
    coefficient: Formula = argument(constant, about="a constant: the drag coefficient")
    wind: Vector3 = argument(moving_vector, ZERO, about="three formulas: the velocity of the fluid, in world axes")
    point: Vector3 | None = argument(
        optional_point, None, about="three constants: the point of application, in body axes", absent="the mass center"
    )
    smoothing: Formula = argument(
        constant, SMOOTHING, about="a constant: regularization speed, far below the speeds of interest"
    )

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [] if self.point is None else [(self.body, self.point)]

    def law(self) -> tuple[str, str]:
        size = formula_string(self.density * self.coefficient * self.area / 2)
        wind = (
            "" if all(x == 0 for x in self.wind) else f" against the wind ({', '.join(map(formula_string, self.wind))})"
        )
        return self.kind, f"{size} × speed²{wind}"

    def problems(self, table: dict[str, float]) -> list[Problem]:
        smoothing = value(self.smoothing, table)
        if smoothing > 0:
            return []
        fact = f"the smoothing is {smoothing:g}, so the force has no second derivative at zero velocity."
        return [Problem(f"{self.title}, smoothing", fact, "Expected a small positive speed, such as 1e-6.")]

    def applied(self, motion: LoadKinematics) -> list[Applied]:
        point = motion.center(self.body) if self.point is None else vector_of(motion, self.point)
        _, J, c = motion.frame(self.body).point(point)
        v, eps = J @ motion.qd + c - vector_of(motion, self.wind), motion.lower(self.smoothing)
        size = motion.lower(self.density * self.coefficient * self.area / 2)
        force = scaled(-size * motion.algebra.sqrt(v @ v + eps * eps), v)
        return [Applied(self.name, force, J, c, wrenches=at_point(motion, self.body, point, force))]

    def applied_force(self, probe: MotionProbe) -> tuple[Derivatives, np.ndarray]:
        point = point_of(probe, self.body, probe.center(self.body) if self.point is None else self.point)
        against = point.rate - probe.numbers(self.wind)
        speed = np.linalg.norm(np.concatenate([against, probe.number(self.smoothing)[None]]), axis=0)
        pressure = 0.5 * probe.number(self.density) * speed
        return point, -pressure * probe.number(self.area) * probe.number(self.coefficient) * against
