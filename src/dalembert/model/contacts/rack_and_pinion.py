"""Rack and pinion."""

from __future__ import annotations

import symengine as se

from dalembert.model.contacts.coupling import LinearCoupling
from dalembert.model.immutable import Frozen
from dalembert.model.keys import constant_length
from dalembert.model.record import argument, record
from dalembert.symbolic.symbols import Formula


@record
class RackAndPinion(LinearCoupling):
    """Mesh a pinion and a rack: radius × θ₁ − x₂ = phase. A negative radius reverses the direction.

    The displacement of the rack, the second body, is `radius` × the angle of the pinion, the first.

    >>> from dalembert.model.model import Model
    >>> model = Model("steering").coordinates("turn", "x")
    >>> _ = model.body("pinion", joint=model.revolute((0, 0, 1), "turn"), mass=1, inertia=(0, 0, 1))
    >>> _ = model.body("rack", joint=model.prismatic((1, 0, 0), "x", position=(0, -0.5, 0)), mass=4)
    >>> _ = model.rack_and_pinion(("pinion", "rack"), 0.5).joint_torque("pinion", 2)
    >>> import dalembert as dl
    >>> dl.derive(model).accelerations([0, 0], [0, 0])  # (1 + 4·0.5²) × second rate of the turn = 2
    array([1. , 0.5])
    """

    kind = "rack_and_pinion"
    unit = "m"
    descriptions = Frozen(bodies="two body names: the pinion, then the rack")

    radius: Formula = argument(
        constant_length,
        positional=True,
        about="a constant: the radius of the pinion; negative reverses the direction of the rack",
    )

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is the force of the rack on the teeth of the pinion."""
        return self.radius, se.Integer(-1)
