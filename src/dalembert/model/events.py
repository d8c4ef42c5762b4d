"""Events: what happens when a formula of the motion passes through zero.

An event stops the run, is written down, gives parameters other values or velocities other rates. Switchings of formulas
(`abs`, `max`, tables) need none: they are found by themselves, see `model/discontinuities`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

from dalembert.arguments import checked, shown
from dalembert.errors import InputError, Problem, nearest
from dalembert.model.file_form import Element
from dalembert.model.frozen import Frozen
from dalembert.model.initial_state import coordinate_name
from dalembert.model.keys import Key, Keys, Kind, entries, fitting, make, moving, name, switch, table, wrong
from dalembert.model.making import Maker
from dalembert.symbolic.formula_writer import written
from dalembert.symbolic.reserved_symbols import kind_of
from dalembert.symbolic.symbols import TIME, Formula, Written

if TYPE_CHECKING:
    from dalembert.model.description import Elements

Direction = Literal["up", "down", "both"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)

_direction = fitting(lambda x: x in DIRECTIONS, "'up', 'down' or 'both'")


def _assignments(what: str) -> Kind:
    """A table from names of parameters or coordinates to formulas."""

    def names(maker: Maker) -> tuple[str, ...]:
        if what != "parameter":
            return maker.coordinate_names
        return tuple(name for name in maker.parameter_values if kind_of(name) is None)  # inputs belong to their laws

    def check(value: object, where: str, maker: Maker) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield wrong(where, f"a table from names of {what}s to formulas", value)
            return
        yield from table(value, dict.fromkeys(names(maker), Key(moving)), where, maker)

    def read(maker: Maker, value: object, where: str) -> Frozen[str, Formula]:
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: got {shown(value)}. Expected a mapping of {what}s to formulas.")
        found = {coordinate_name(key): formula for key, formula in value.items()}
        for key in found:
            if key not in names(maker):
                raise InputError(f"{where}: there is no {what} '{key}'. {nearest(key, names(maker))}")
        return Frozen({key: maker.reader.read(formula, f"{where}, {key}") for key, formula in found.items()})

    return Kind(check, read, lambda x, where: {key: written(formula, where) for key, formula in x.items()})


@dataclass(frozen=True)
class Event:
    """What happens where `when`, a formula of the motion, passes through zero."""

    kind: ClassVar[str] = "event"
    keys: ClassVar[Keys] = {
        "name": Key(name, required=True),
        "when": Key(moving, required=True),
        "direction": Key(_direction, usual="both"),
        "stop": Key(switch, usual=False),
        "set": Key(_assignments("parameter"), usual={}),
        "reset": Key(_assignments("coordinate"), usual={}),
    }

    name: str
    when: Formula
    direction: Direction = "both"
    stop: bool = False
    set: Frozen[str, Formula] = Frozen()  # noqa: RUF009 (it cannot change) new values of parameters
    reset: Frozen[str, Formula] = Frozen()  # noqa: RUF009 (it cannot change) new rates of coordinates

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"event '{self.name}'"

    @property
    def acts(self) -> bool:
        """False for an event that is only written down."""
        return self.stop or bool(self.set) or bool(self.reset)

    def counts(self, *, up: bool) -> bool:
        """True where a passage in this direction counts."""
        return self.direction in ("up" if up else "down", "both")

    def element(self) -> Element:
        """Its keys as they stand in a model file."""
        return entries(self, self.keys, self.title)

    def problems(self, model: Elements) -> list[Problem]:
        """A formula that never passes through zero."""
        known = {TIME.name, *model.coordinate_names, *(f"dot({x})" for x in model.coordinate_names)}
        if {symbol.name for symbol in self.when.free_symbols} & known:
            return []
        fact = (
            f"the formula {self.when} contains no coordinate, no velocity and no time, so it never passes through zero."
        )
        return [Problem(f"{self.title}, when", fact, "Write when it happens, such as when = 'x - 5'.")]


class EventMaker(Maker):
    """Makes events."""

    events: tuple[Event, ...]

    @checked
    def event(
        self,
        name: str,
        when: Written,
        *,
        direction: Direction = "both",
        stop: bool = False,
        set: Mapping[str, Written] | None = None,
        reset: Mapping[str, Written] | None = None,
    ) -> Self:
        """Let something happen where a formula of the motion passes through zero.

        `direction` says which passages count: from below to above (`up`), from above to below (`down`), or both. With `stop` the
        run ends there; `set` gives parameters other values, and `reset` other rates to coordinates, each by a formula of the
        state just before. An event without any of these is recorded, see `Trajectory.events`. A function that is zero at the
        start passes there with the direction in which it leaves zero, if `direction` is that one; with `both` it does not.

        >>> import dalembert as dl
        >>> model = dl.Model("ball", gravity=(0, 0, -9.81)).coordinates("z").start([1.0], [0.0])
        >>> _ = model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=1)
        >>> _ = model.event("bounce", "z", direction="down", reset={"z": "-0.5*dot(z)"})
        >>> run = dl.simulate(model, 0.7)
        >>> [round(event.t, 12) for event in run.events]
        [0.451523640986]
        """
        where = f"event '{name}'"
        if any(each.name == name for each in self.events):
            raise InputError(f"{where}: declared twice. Give each event its own name.")
        if direction not in DIRECTIONS:
            raise InputError(f"{where}, direction: got {shown(direction)}. Expected 'up', 'down' or 'both'.")
        given = {"when": when, "direction": direction, "stop": stop, "set": set or {}, "reset": reset or {}}
        self.events += (make(Event, [name], Event.keys, given, self, where),)
        return self
