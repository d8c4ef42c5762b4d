"""Worm gear."""

from __future__ import annotations

import symengine as se

from dalembert.model.contacts.coupling import LinearCoupling
from dalembert.model.immutable import Frozen
from dalembert.model.keys import constant, switch
from dalembert.model.record import argument, record
from dalembert.symbolic.symbols import Formula


@record
class Worm(LinearCoupling):
    """Mesh a worm and a worm wheel: θ₁ − (teeth/starts) θ₂ = phase, or θ₁ + (teeth/starts) θ₂ for a left-handed thread.

    A revolution of the worm, the first body, advances the wheel by `starts` of its `teeth`, in reverse if left-handed.

    The gear is frictionless and can be back-driven; a self-locking worm needs friction in its joint.

    >>> from dalembert.model.model import Model
    >>> model = Model("hoist").coordinates("a", "b")
    >>> _ = model.body("worm", joint=model.revolute((1, 0, 0), "a"), mass=1, inertia=(1, 0, 0))
    >>> _ = model.body("wheel", joint=model.revolute((0, 0, 1), "b", position=(0, 1, 0)), mass=8, inertia=(0, 0, 400))
    >>> _ = model.worm(("worm", "wheel"), 40, starts=2).joint_torque("worm", 4)
    >>> import dalembert as dl
    >>> dl.derive(model).accelerations([0, 0], [0, 0])  # (1 + 400/20²) ä = 4
    array([2. , 0.1])
    """

    kind = "worm"
    descriptions = Frozen(bodies="two body names: the worm, then the wheel")

    teeth: Formula = argument(constant, positional=True, about="a constant: the number of teeth of the wheel")
    starts: Formula = argument(constant, 1, about="a constant: the number of thread starts of the worm")
    left: bool = argument(
        switch, False, about="`true` for a left-handed thread, which reverses the direction of the wheel"
    )

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is the torque on the worm."""
        ratio = self.teeth / self.starts
        return se.Integer(1), ratio if self.left else -ratio
