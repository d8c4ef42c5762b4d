"""Events: what happens when a formula of the motion passes through zero.

An event stops the run, is written down, gives parameters other values or velocities other rates. Switchings of formulas
(`abs`, `max`, tables) need none: they are found by themselves, see `model/discontinuities`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from dalembert.arguments import shown
from dalembert.errors import InputError, Problem, nearest
from dalembert.model.file_form import Element
from dalembert.model.frozen import Frozen
from dalembert.model.initial_state import coordinate_name
from dalembert.model.keys import Key, Kind, entries, fitting, moving, name, switch, table, wrong
from dalembert.model.record import Record, argument, record
from dalembert.symbolic.formula_writer import written
from dalembert.symbolic.symbols import TIME, Formula, kind_of

if TYPE_CHECKING:
    from dalembert.model.description import Elements
    from dalembert.model.model import Model

Direction = Literal["up", "down", "both"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)

_direction = fitting(lambda x: x in DIRECTIONS, "'up', 'down' or 'both'", "Direction")


def _assignments(what: str) -> Kind:
    """A table from names of parameters or coordinates to formulas."""

    def names(model: Elements) -> tuple[str, ...]:
        if what != "parameter":
            return model.coordinate_names
        return tuple(name for name in model.parameter_values if kind_of(name) is None)  # inputs belong to their laws

    def check(value: object, where: str, model: Elements) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield wrong(where, f"a table from names of {what}s to formulas", value)
            return
        yield from table(value, dict.fromkeys(names(model), Key(moving)), where, model)

    def read(model: Elements, value: object, where: str) -> Frozen[str, Formula]:
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: got {shown(value)}. Expected a mapping of {what}s to formulas.")
        found = {coordinate_name(key): formula for key, formula in value.items()}
        for key in found:
            if key not in names(model):
                raise InputError(f"{where}: there is no {what} '{key}'. {nearest(key, names(model))}")
        return Frozen({key: model.reader.read(formula, f"{where}, {key}") for key, formula in found.items()})

    return Kind(
        check,
        read,
        lambda x, where: {key: written(formula, where) for key, formula in x.items()},
        argument="Mapping[str, Written]",
    )


@record
class Event(Record):
    """Let something happen where a formula of the motion passes through zero.

    What happens where `when`, a formula of the motion, passes through zero.

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

    kind: ClassVar[str] = "event"

    name: str = argument(name, positional=True, about="its name")
    when: Formula = argument(moving, positional=True, about="a formula of coordinates, rates, parameters and `t`")
    direction: Direction = argument(
        _direction, "both", about='which passages count: `"up"`, `"down"` or `"both"`', default="both"
    )
    stop: bool = argument(switch, False, about="`true` ends the run there", default=False)
    set: Frozen[str, Formula] = argument(
        _assignments("parameter"),
        None,
        saved={},
        about="a table: parameters and formulas of their new values",
        default=Frozen(),
    )
    reset: Frozen[str, Formula] = argument(
        _assignments("coordinate"),
        None,
        saved={},
        about="a table: coordinates and formulas of their new rates",
        default=Frozen(),
    )

    @classmethod
    def build(cls, model: Model, **given: Any) -> Model:
        """Add the event."""
        where, way = f"event '{given['name']}'", given["direction"]
        if any(each.name == given["name"] for each in model.events):
            raise InputError(f"{where}: declared twice. Give each event its own name.")
        if way not in DIRECTIONS:
            raise InputError(f"{where}, direction: got {shown(way)}. Expected 'up', 'down' or 'both'.")
        changes = {key: given[key] or {} for key in ("set", "reset")}
        model.events += (cls.read(model, {**given, **changes}, where),)
        return model

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
        return entries(self, self.keys(), self.title)

    def problems(self, model: Elements) -> list[Problem]:
        """A formula that never passes through zero."""
        known = {TIME.name, *model.coordinate_names, *(f"dot({x})" for x in model.coordinate_names)}
        if {symbol.name for symbol in self.when.free_symbols} & known:
            return []
        fact = (
            f"the formula {self.when} contains no coordinate, no velocity and no time, so it never passes through zero."
        )
        return [Problem(f"{self.title}, when", fact, "Write when it happens, such as when = 'x - 5'.")]
