"""Two pulleys that a belt or a chain joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from dalembert.arguments import checked, shown
from dalembert.errors import InputError
from dalembert.model.contacts.coupling import TWO, WHICH, Tied, TiedMaker
from dalembert.model.file_form import vector
from dalembert.model.keys import Key, Keys, Kind, array, constant, switch
from dalembert.model.making import Given, Maker, several
from dalembert.symbolic.symbols import Formula, Written


def _two(maker: Maker, given: object, where: str) -> tuple[Formula, ...]:
    if not several(given, 2):
        raise InputError(f"{where}: got {shown(given)}. Expected two radii, one of each pulley.")
    return tuple(maker.reader.constant(each, f"{where}[{i}]") for i, each in enumerate(given))


_radii = Kind(array(2, constant, "radii"), _two, vector)


@dataclass(frozen=True)
class Belt(Tied):
    """As much belt runs onto one pulley as leaves the other; a crossed belt turns the second backwards."""

    kind: ClassVar[str] = "belt"
    unit: ClassVar[str | None] = "m"
    keys: ClassVar[Keys] = {**TWO, "radii": Key(_radii, True), "crossed": Key(switch, usual=False), **WHICH}

    radii: tuple[Formula, Formula]
    crossed: bool

    @property
    def weights(self) -> tuple[Formula, ...]:
        """The multiplier is by how much the belt pulls more on one side than on the other."""
        first, second = self.radii
        return first, second if self.crossed else -second


class BeltMaker(TiedMaker):
    """Makes belts."""

    @checked
    def belt(
        self,
        bodies: tuple[str, str],
        radii: Given,
        *,
        crossed: bool = False,
        joints: Given = (),
        motions: Given = (),
        phase: Written | None = None,
        name: str | None = None,
    ) -> Self:
        """Join two pulleys by a belt that does not slip: r₁ θ₁ − r₂ θ₂ = phase, or r₁ θ₁ + r₂ θ₂ where it is crossed.

        >>> from dalembert.model.model import Model
        >>> model = Model("pulleys").coordinates("a", "b")
        >>> _ = model.body("small", joint=model.revolute((0, 0, 1), "a"), mass=1, inertia=(0, 0, 1))
        >>> _ = model.body("large", joint=model.revolute((0, 0, 1), "b", position=(5, 0, 0)), mass=8, inertia=(0, 0, 12))
        >>> _ = model.belt(("small", "large"), (0.1, 0.2)).joint_torque("small", 8)
        >>> import dalembert as dl
        >>> dl.derive(model).accelerations([0, 0], [0, 0])
        array([2., 1.])
        """
        return self._tied(Belt, name, bodies, joints, motions, radii=radii, crossed=crossed, phase=phase)
