"""Reading values out of elements: what is wrong is collected with its line, and what is not used is counted."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dalembert.errors import Problem, nearest
from dalembert.io.toml_source import Findings
from dalembert.io.urdf.urdf_poses import Pose
from dalembert.io.xml import Element
from dalembert.model.keys import quote

MAX_REMARKS = 200
MAX_SHOWN = 20
MAX_NAME = 200
MAX_NUMBER = 1e60  # products of masses and squares of lengths stay finite
UNLIMITED = 1e300  # limits from here on are none

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MAX_TEXT = 1000
_NO_PART = {
    "safety_controller": "limits are told and not enforced",
    "calibration": "sensors have no part in the equations",
}


@dataclass(frozen=True)
class Options:
    """How a file is to be read."""

    floating: bool
    merge_fixed: bool
    friction: bool
    strict: bool


class Reading(Findings):
    """One file while it is read: its problems by line, and remarks about what was understood, changed or left out."""

    def __init__(self, source: str, options: Options) -> None:
        super().__init__(source)
        self.options = options
        self._lines: list[int] = []
        self._remarks: dict[str, list[str]] = {}

    # problems and remarks

    def wrong(self, line: int, what: str, fact: str, advice: str = "") -> None:
        """Keep a problem behind those of the lines above."""
        at = bisect_right(self._lines, line)
        self._lines.insert(at, line)
        self.note([Problem(f"{self.source}, line {line}, {what}", fact, advice)], at)

    def remark(self, sentence: str, item: str = "") -> None:
        """Keep a remark; the items of the same sentence become one note."""
        if sentence not in self._remarks and len(self._remarks) >= MAX_REMARKS:
            sentence = "there is more that is not used"
        self._remarks.setdefault(sentence, []).append(item)

    def unused(self, what: str, line: int, why: str = "it is not known here") -> None:
        """Remark that something in the file plays no part in the model."""
        self.remark(f"{what} is not used, {why}", f"line {line}")

    @property
    def notes(self) -> Iterator[str]:
        """The remarks as sentences."""
        for sentence, items in self._remarks.items():
            shown = [item for item in items if item][:MAX_SHOWN]
            if not shown:
                yield f"{sentence}."
                continue
            more = f" and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
            count = f" ({len(items)} times)" if len(items) > 1 else ""
            text = ", ".join(shown)
            if len(shown) > 1 and all(re.fullmatch(r"line \d+", item) for item in shown):
                text = f"lines {text.replace('line ', '')}"
            yield f"{sentence}{count}: {text}{more}."

    # elements

    def once(self, element: Element, tag: str, what: str, attributes: Sequence[str] | None = None) -> Element | None:
        """The only child with this tag, or None; what it holds beyond the attributes is remarked where they are given."""
        found = [*element.find(tag)]
        for other in found[1:]:
            fact = f"<{tag}> is written twice, first in line {found[0].line}."
            self.wrong(other.line, what, fact, "Keep one of them.")
        if found and attributes is not None:
            self.only(found[0], (), attributes)
        return found[0] if found else None

    def only(self, element: Element, children: Sequence[str] = (), attributes: Sequence[str] = ()) -> None:
        """Remark what an element holds beyond the known children and attributes."""
        for child in element.children:
            if child.tag not in children:
                why = _NO_PART.get(child.tag, "it is not known here")
                self.unused(f"element <{shown(child.tag)}> in <{element.tag}>", child.line, why)
        for name in element.attributes:
            if name not in attributes:
                self.unused(f"attribute {shown(name)} of <{element.tag}>", element.line)

    # values

    def name(self, element: Element, what: str, attribute: str = "name") -> str:
        """A name, or an empty text if there is none that can be used."""
        given = element.attributes.get(attribute)
        if given is None or not given.strip():
            advice = f'Write <{element.tag} {attribute}="...">.'
            self.wrong(element.line, what, f"the attribute '{attribute}' is missing or empty.", advice)
            return ""
        if len(given) > MAX_NAME or not given.isprintable():
            advice = f"Expected at most {MAX_NAME} printable characters."
            self.wrong(element.line, what, f"the {attribute} {quote(given)} cannot be used.", advice)
            return ""
        return given

    def number(
        self,
        element: Element,
        attribute: str,
        what: str,
        default: float | None = None,
        *,
        least: float | None = None,
        most: float = MAX_NUMBER,
    ) -> float:
        """A number; without a default the attribute has to be there."""
        given = element.attributes.get(attribute)
        if given is None:
            if default is None:
                advice = f'Write <{element.tag} {attribute}="...">.'
                self.wrong(element.line, what, f"the attribute '{attribute}' is missing.", advice)
            return default or 0.0
        value = _value(given.strip(), most)
        if value is None:
            self._not_numbers(element, attribute, what, given, 1)
        elif least is not None and value < least:
            self.wrong(element.line, what, f"{attribute} is {value:g}.", f"Expected at least {least:g}.")
        else:
            return value
        return default or 0.0

    def limit(self, element: Element, attribute: str, what: str, default: float | None = None) -> float | None:
        """A number that bounds something, or None where nothing bounds it."""
        given = element.attributes.get(attribute)
        if given is None:
            return default
        if given.strip().lower().lstrip("+-") in ("inf", "infinity"):
            return None
        value = self.number(element, attribute, what, default or 0.0, most=math.inf)
        return None if abs(value) >= UNLIMITED else value

    def numbers(self, element: Element, attribute: str, what: str, default: Sequence[float]) -> tuple[float, ...]:
        """As many numbers, separated by spaces, as the default has."""
        given = element.attributes.get(attribute)
        if given is None:
            return tuple(default)
        values = [_value(part, MAX_NUMBER) for part in given.split()] if len(given) <= _MAX_TEXT else []
        sound = tuple(value for value in values if value is not None)
        if len(values) == len(sound) == len(default):
            return sound
        self._not_numbers(element, attribute, what, given, len(default))
        return tuple(default)

    def origin(self, element: Element, what: str) -> Pose:
        """The placement in <origin>; without it, none."""
        origin = self.once(element, "origin", what, ("xyz", "rpy"))
        if origin is None:
            return Pose()
        x, y, z = self.numbers(origin, "xyz", f"{what}, origin", (0.0, 0.0, 0.0))
        roll, pitch, yaw = self.numbers(origin, "rpy", f"{what}, origin", (0.0, 0.0, 0.0))
        return Pose((x, y, z), (roll, pitch, yaw))

    def _not_numbers(self, element: Element, attribute: str, what: str, given: str, count: int) -> None:
        kind = "a finite number" if count == 1 else f"{count} finite numbers, separated by spaces"
        self.wrong(element.line, what, f"{attribute} is {quote(given)}.", f"Expected {kind}.")


def hint(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest to a wrong one, among those of about the same length."""
    # the search takes long for long names
    similar = [other for other in known if abs(len(other) - len(name)) <= 8 and len(other) <= 64][:200]
    found = nearest(name, similar) if len(name) <= 64 else ""
    return found if found.startswith("Did") else "Check the spelling."


def _value(text: str, most: float) -> float | None:
    """The number a text stands for, or None."""
    if len(text) > 100 or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    if not math.isfinite(value) or abs(value) > most:
        return None
    return value


def shown(text: str) -> str:
    """A tag or attribute as it may stand in a note."""
    return text if len(text) <= 40 and text.isprintable() else quote(text[:40])
