"""Belt or chain between two pulleys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import InputError, short_repr
from dalembert.model.contacts.coupling import LinearCoupling
from dalembert.model.keys import ValueType, array, constant, switch, vector
from dalembert.model.record import argument, record
from dalembert.model.values import is_sequence
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def _two(model: Elements, radii: object, where: str) -> tuple[Formula, ...]:
    if not is_sequence(radii, 2):
        raise InputError(f"{where}: got {short_repr(radii)}. Expected two radii, one for each pulley.")
    return tuple(model.reader.constant(each, f"{where}[{i}]") for i, each in enumerate(radii))


_radii = ValueType(array(2, constant, "radii"), _two, vector, argument="ArrayInput")


@record
class Belt(LinearCoupling):
    """Connect two pulleys by a belt without slip: r₁ θ₁ − r₂ θ₂ = phase, or r₁ θ₁ + r₂ θ₂ if it is crossed.

    The belt has the same speed on both pulleys; a crossed belt reverses the direction of the second.

    >>> from dalembert.model.model import Model
    >>> model = Model("pulleys").coordinates("a", "b")
    >>> _ = model.body("small", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
    >>> _ = model.body("large", joint=model.revolute((0, 0, 1), "b", position=(5, 0, 0)), mass=8, inertia=(0, 0, 12))
    >>> _ = model.belt(("small", "large"), (0.1, 0.2)).joint_torque("small", 8)
    >>> import dalembert as dl
    >>> dl.derive(model).accelerations([0, 0], [0, 0])
    array([2., 1.])
    """

    kind = "belt"
    unit = "m"

    radii: tuple[Formula, Formula] = argument(_radii, positional=True, about="two constants")
    crossed: bool = argument(
        switch,
        False,
        about="`true` for a crossed belt, whose pulleys counter-rotate: r₁ θ₁ + r₂ θ₂ = phase",
    )

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is the difference of the tensions of the two belt spans."""
        first, second = self.radii
        return first, second if self.crossed else -second
