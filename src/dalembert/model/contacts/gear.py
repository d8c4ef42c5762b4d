"""Gear pair."""

from __future__ import annotations

import symengine as se

from dalembert.model.contacts.coupling import LinearCoupling
from dalembert.model.keys import constant, switch
from dalembert.model.record import argument, record
from dalembert.symbolic.symbols import Formula


@record
class Gear(LinearCoupling):
    """Mesh two gears: θ₁ + ratio θ₂ = phase, or θ₁ − ratio θ₂ for an internal gear.

    The first gear makes `ratio` revolutions per revolution of the second: in the opposite direction, or the same if internal.

    `ratio` is that of the radii or teeth, second to first. Both angles are joint angles relative to parents that do not
    rotate relative to each other; for planetary gears use `coupling`.

    >>> from dalembert.model.model import Model
    >>> model = Model("gears").coordinates("a", "b")
    >>> _ = model.body("pinion", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
    >>> _ = model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(3, 0, 0)), mass=8, inertia=(0, 0, 12))
    >>> _ = model.gear(("pinion", "wheel"), 2).joint_torque("pinion", 8)
    >>> import dalembert as dl
    >>> dl.derive(model).accelerations([0, 0], [0, 0])  # (1 + 12/2²) ä = 8
    array([ 2., -1.])
    """

    kind = "gear"

    ratio: Formula = argument(
        constant,
        positional=True,
        about="a constant: radius (or number of teeth) of the second wheel divided by that of the first",
    )
    internal: bool = argument(
        switch,
        False,
        about="`true` for an internal gear, whose wheels rotate in the same direction: θ₁ − ratio θ₂ = phase",
    )

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is the torque on the first wheel."""
        return se.Integer(1), -self.ratio if self.internal else self.ratio
