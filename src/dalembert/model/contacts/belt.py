"""Two pulleys that a belt or a chain joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.arguments import shown
from dalembert.errors import InputError
from dalembert.model.contacts.coupling import Tied
from dalembert.model.file_form import vector
from dalembert.model.keys import Kind, array, constant, switch
from dalembert.model.record import argument, record
from dalembert.model.values import several
from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def _two(model: Elements, given: object, where: str) -> tuple[Formula, ...]:
    if not several(given, 2):
        raise InputError(f"{where}: got {shown(given)}. Expected two radii, one of each pulley.")
    return tuple(model.reader.constant(each, f"{where}[{i}]") for i, each in enumerate(given))


_radii = Kind(array(2, constant, "radii"), _two, vector, argument="Given")


@record
class Belt(Tied):
    """Join two pulleys by a belt that does not slip: r₁ θ₁ − r₂ θ₂ = phase, or r₁ θ₁ + r₂ θ₂ where it is crossed.

    As much belt runs onto one pulley as leaves the other; a crossed belt turns the second backwards.

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
        """The multiplier is by how much the belt pulls more on one side than on the other."""
        first, second = self.radii
        return first, second if self.crossed else -second
