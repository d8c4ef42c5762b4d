"""XML parsing and reading of attribute values: problems are collected with their lines, unused content is counted."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.sax import make_parser

from dalembert.errors import ModelFileError, Problem, suggest_name
from dalembert.io.toml_reader import ProblemList, decode, failure, read_text, shortened_line
from dalembert.model.keys import quote
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.rotations import roll_pitch_yaw

MAX_REMARKS = 200
MAX_SHOWN = 20
MAX_NAME = 200
MAX_NUMBER = 1e60  # products of masses and squares of lengths stay finite
UNLIMITED = 1e300  # larger limits mean unlimited; URDF requires limits
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MAX_TEXT = 1000
_UNUSED = {
    "safety_controller": "limits are reported but not enforced",
    "calibration": "sensors are not part of the equations",
}
MAX_BYTES = 20_000_000
MAX_ELEMENTS = 200_000
MAX_DEPTH = 64
MAX_ATTRIBUTES = 1000
_CUT_OFF = "Unexpected end: the file is empty or truncated."
# the most frequent causes of parser errors
_ADVICE = {
    "no element found": _CUT_OFF,
    "unclosed token": _CUT_OFF,
    "unclosed CDATA section": _CUT_OFF,
    "mismatched tag": "Close every element with its name, in reverse order.",
    "undefined entity": "Only &amp; &lt; &gt; &quot; and &apos; are defined.",
}
Numbers3 = tuple[float, float, float]
ORIGIN: Numbers3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class UrdfOptions:
    """Options of the URDF reader."""

    floating: bool
    merge_fixed: bool
    friction: bool
    strict: bool


class UrdfReading(ProblemList):
    """The state of reading one file: problems by line, and remarks about assumptions, changes and ignored content."""

    def __init__(self, source: str, options: UrdfOptions) -> None:
        super().__init__(source)
        self.options = options
        self._lines: list[int] = []
        self._remarks: dict[str, list[str]] = {}

    # problems and remarks

    def wrong(self, line: int, what: str, fact: str, advice: str = "") -> None:
        """Add a problem, ordered by line."""
        at = bisect_right(self._lines, line)
        self._lines.insert(at, line)
        self.note([Problem(f"{self.source}, line {line}, {what}", fact, advice)], at)

    def remark(self, sentence: str, item: str = "") -> None:
        """Add a remark; items with the same sentence are merged into one note."""
        if sentence not in self._remarks and len(self._remarks) >= MAX_REMARKS:
            sentence = "further content is not used"
        self._remarks.setdefault(sentence, []).append(item)

    def unused(self, what: str, line: int, why: str = "it is unknown") -> None:
        """Remark that some content is not used."""
        self.remark(f"{what} is not used, {why}", f"line {line}")

    @property
    def notes(self) -> Iterator[str]:
        """The remarks as sentences."""
        for sentence, items in self._remarks.items():
            listed = [item for item in items if item][:MAX_SHOWN]
            if not listed:
                yield f"{sentence}."
                continue
            more = f" and {len(items) - len(listed)} more" if len(items) > len(listed) else ""
            count = f" ({len(items)} times)" if len(items) > 1 else ""
            lines = ", ".join(listed)
            if len(listed) > 1 and all(re.fullmatch(r"line \d+", item) for item in listed):
                lines = f"lines {lines.replace('line ', '')}"
            yield f"{sentence}{count}: {lines}{more}."

    # elements

    def once(self, element: Element, tag: str, what: str, attributes: Sequence[str] | None = None) -> Element | None:
        """The only child with this tag, or None; with `attributes`, its other content is remarked."""
        found = [*element.find(tag)]
        for other in found[1:]:
            fact = f"duplicate <{tag}>, first in line {found[0].line}."
            self.wrong(other.line, what, fact, "Keep one of them.")
        if found and attributes is not None:
            self.only(found[0], (), attributes)
        return found[0] if found else None

    def only(self, element: Element, children: Sequence[str] = (), attributes: Sequence[str] = ()) -> None:
        """Remark children and attributes that are not known."""
        for child in element.children:
            if child.tag not in children:
                why = _UNUSED.get(child.tag, "it is unknown")
                self.unused(f"element <{shortened_name(child.tag)}> in <{element.tag}>", child.line, why)
        for name in element.attributes:
            if name not in attributes:
                self.unused(f"attribute {shortened_name(name)} of <{element.tag}>", element.line)

    # values

    def name(self, element: Element, what: str, attribute: str = "name") -> str:
        """A valid name, or an empty str."""
        string = element.attributes.get(attribute)
        if string is None or not string.strip():
            advice = f'Write <{element.tag} {attribute}="...">.'
            self.wrong(element.line, what, f"the attribute '{attribute}' is missing or empty.", advice)
            return ""
        if len(string) > MAX_NAME or not string.isprintable():
            advice = f"Expected at most {MAX_NAME} printable characters."
            self.wrong(element.line, what, f"the {attribute} {quote(string)} cannot be used.", advice)
            return ""
        return string

    def number(
        self,
        element: Element,
        attribute: str,
        what: str,
        default: float | None = None,
        *,
        minimum: float | None = None,
        maximum: float = MAX_NUMBER,
    ) -> float:
        """A number; the attribute is required if there is no default."""
        string = element.attributes.get(attribute)
        if string is None:
            if default is None:
                advice = f'Write <{element.tag} {attribute}="...">.'
                self.wrong(element.line, what, f"the attribute '{attribute}' is missing.", advice)
            return default or 0.0
        value = _value(string.strip(), maximum)
        if value is None:
            self._not_numbers(element, attribute, what, string, 1)
        elif minimum is not None and value < minimum:
            self.wrong(element.line, what, f"{attribute} is {value:g}.", f"Expected a number >= {minimum:g}.")
        else:
            return value
        return default or 0.0

    def limit(self, element: Element, attribute: str, what: str, default: float | None = None) -> float | None:
        """A limit, or None if unlimited."""
        string = element.attributes.get(attribute)
        if string is None:
            return default
        if string.strip().lower().lstrip("+-") in ("inf", "infinity"):
            return None
        value = self.number(element, attribute, what, default or 0.0, maximum=math.inf)
        return None if abs(value) >= UNLIMITED else value

    def numbers(self, element: Element, attribute: str, what: str, default: Sequence[float]) -> tuple[float, ...]:
        """Numbers separated by spaces, as many as in the default."""
        string = element.attributes.get(attribute)
        if string is None:
            return tuple(default)
        values = [_value(part, MAX_NUMBER) for part in string.split()] if len(string) <= _MAX_TEXT else []
        valid = tuple(value for value in values if value is not None)
        if len(values) == len(valid) == len(default):
            return valid
        self._not_numbers(element, attribute, what, string, len(default))
        return tuple(default)

    def origin(self, element: Element, what: str) -> UrdfOrigin:
        """The pose in <origin>; the identity by default."""
        origin = self.once(element, "origin", what, ("xyz", "rpy"))
        if origin is None:
            return UrdfOrigin()
        x, y, z = self.numbers(origin, "xyz", f"{what}, origin", (0.0, 0.0, 0.0))
        roll, pitch, yaw = self.numbers(origin, "rpy", f"{what}, origin", (0.0, 0.0, 0.0))
        return UrdfOrigin((x, y, z), (roll, pitch, yaw))

    def _not_numbers(self, element: Element, attribute: str, what: str, string: str, count: int) -> None:
        kind = "a finite number" if count == 1 else f"{count} finite numbers, separated by spaces"
        self.wrong(element.line, what, f"{attribute} is {quote(string)}.", f"Expected {kind}.")


def hint(name: str, known: Iterable[str]) -> str:
    """A hint with the most similar known name of about the same length."""
    # the search is slow for long names
    similar = [other for other in known if abs(len(other) - len(name)) <= 8 and len(other) <= 64][:200]
    found = suggest_name(name, similar) if len(name) <= 64 else ""
    return found if found.startswith("Did") else "Check the spelling."


def _value(string: str, maximum: float) -> float | None:
    """The number of a str, or None."""
    if len(string) > 100 or not _NUMBER.fullmatch(string):
        return None
    value = float(string)
    if not math.isfinite(value) or abs(value) > maximum:
        return None
    return value


def shortened_name(name: str) -> str:
    """A tag or attribute for a note."""
    return name if len(name) <= 40 and name.isprintable() else quote(name[:40])


@dataclass(frozen=True)
class Element:
    """One element of an XML file: its tag, attributes, children and first line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def find(self, tag: str) -> Iterator[Element]:
        """The children with this tag."""
        return (child for child in self.children if child.tag == tag)


def read_xml(path: str | Path) -> Element:
    """The root element of an XML file; raises `ModelFileError` if it cannot be read."""
    return parse_xml(read_text(path, MAX_BYTES), str(path))


def parse_xml(content: str, source: str = "<text>") -> Element:
    """The root element of an XML string; `source` is its name in messages.

    >>> root = parse_xml('<robot name="arm">\\n  <link name="base"/>\\n</robot>')
    >>> root.tag, [(child.tag, child.attributes, child.line) for child in root.children]
    ('robot', [('link', {'name': 'base'}, 2)])
    """
    content = _decodable(content, source)
    parser = make_parser()
    handler = _Tree(parser)
    parser.forbid_dtd = parser.forbid_entities = parser.forbid_external = True
    parser.setContentHandler(handler)
    try:
        # one piece: parsing time grows with the number of pieces of a long token
        parser.feed(content)
        parser.close()
    except SAXParseException as error:
        raise _syntax(content, source, error) from error
    except DefusedXmlException as error:
        fact = "document types, entities and external references are not supported."
        where, advice = f"{source}, line {handler.line}", "Remove them."
        raise failure(where, fact, advice) from error
    except _TooLarge as error:
        raise failure(f"{source}, line {handler.line}", *error.args) from error
    assert handler.root is not None  # without an element there is a SAXParseException
    return handler.root


class _TooLarge(Exception):
    """A limit is exceeded; the arguments are fact and advice."""


class _Tree(ContentHandler):
    """Builds the element tree from parser events."""

    def __init__(self, locator: Locator) -> None:
        super().__init__()
        self._locator = locator
        self.root: Element | None = None
        self._open: list[Element] = []
        self._count = 0

    @property
    def line(self) -> int:
        """The current line of the parser."""
        return self._locator.getLineNumber() or 1

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        """Begin an element and add it to its parent."""
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise _TooLarge(f"the file has more than {MAX_ELEMENTS} elements.", "Split the system into several models.")
        if len(self._open) >= MAX_DEPTH:
            raise _TooLarge(f"elements are nested deeper than {MAX_DEPTH} levels.", "Expected a few levels.")
        if len(attrs) > MAX_ATTRIBUTES:
            raise _TooLarge(f"an element has more than {MAX_ATTRIBUTES} attributes.", "Expected a few.")
        element = Element(name, dict(attrs.items()), self.line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def endElement(self, name: str) -> None:
        """Complete an element."""
        self._open.pop()


def _decodable(content: str, source: str) -> str:
    """The str without a byte order mark; raises if it cannot be encoded in UTF-8."""
    try:
        return decode(content.encode("utf-8"), source, MAX_BYTES)
    except UnicodeEncodeError as error:
        line = content.count("\n", 0, error.start) + 1
        fact = f"the character {content[error.start]!r} cannot be written in UTF-8."
        raise failure(f"{source}, line {line}", fact, "Remove it.") from error


def _syntax(content: str, source: str, error: SAXParseException) -> ModelFileError:
    """The parser error with its line and its most frequent cause."""
    message, number = error.getMessage(), error.getLineNumber() or 1
    line = shortened_line(content, number)
    location = f", at {line!r}" if line else ""
    advice = _ADVICE.get(message, "Correct this line.")
    return failure(f"{source}, line {number}", f"not valid XML: {message}{location}.", advice)


@dataclass(frozen=True)
class UrdfOrigin:
    """A frame B placed in a frame A: p_AB, and R_AB = Rz(yaw) Ry(pitch) Rx(roll)."""

    position: Numbers3 = ORIGIN
    rotation: Numbers3 = ORIGIN

    @property
    def R(self) -> np.ndarray:
        """R_AB."""
        return np.array(roll_pitch_yaw(FLOATS, self.rotation), dtype=float)

    def __matmul__(self, other: UrdfOrigin) -> UrdfOrigin:
        """X_AC = X_AB X_BC; angles are unchanged if one rotation is the identity.

        >>> (UrdfOrigin((1, 0, 0), (0, 0, 0.5)) @ UrdfOrigin((0, 0, 2))).rotation
        (0, 0, 0.5)
        """
        if not any(other.rotation):
            rotation = self.rotation
        elif not any(self.rotation):
            rotation = other.rotation
        else:
            rotation = angles(self.R @ other.R)
        return UrdfOrigin(self.point(other.position), rotation)

    def point(self, p: Numbers3) -> Numbers3:
        """A point in B, expressed in A."""
        x, y, z = np.add(self.position, self.R @ p if any(self.rotation) else p).tolist()
        return (x, y, z)

    def tensor(self, inertia: np.ndarray) -> np.ndarray:
        """R I Rᵀ: a symmetric matrix in axes of B, expressed in axes of A."""
        if not any(self.rotation):
            return inertia
        tensor = self.R @ inertia @ self.R.T
        return (tensor + tensor.T) / 2


def angles(R: np.ndarray) -> Numbers3:
    """Roll, pitch and yaw of a rotation matrix.

    Near a pitch of ±90° the yaw is ill-conditioned, but roll and pitch are computed from Rz(−yaw) R, so that the three
    angles reproduce R to rounding.

    >>> angles(UrdfOrigin(rotation=(0.1, 0.2, 0.3)).R)
    (0.1, 0.2, 0.3)
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return (roll, pitch, yaw)
