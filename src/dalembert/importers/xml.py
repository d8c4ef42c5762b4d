"""XML files as trees of elements that know their lines, with bounds on everything a hostile file could make large.

The text goes through defusedxml: document types, entities and references to other files are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from defusedxml.common import DefusedXmlException
from defusedxml.sax import make_parser

from dalembert.errors import ModelFileError, nearest
from dalembert.importers.source import failure

MAX_BYTES = 20_000_000
MAX_ELEMENTS = 200_000
MAX_DEPTH = 64
MAX_ATTRIBUTES = 1000


@dataclass(frozen=True)
class Element:
    """One element of an XML file: its tag, attributes, text without outer spaces, children, and the line it begins in."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: tuple[Element, ...] = ()

    def find(self, tag: str) -> Iterator[Element]:
        """The children with this tag."""
        return (child for child in self.children if child.tag == tag)


def read_xml(path: str | Path) -> Element:
    """The root element of an XML file, or a `ModelFileError` that says why there is none."""
    return parse_xml(_decoded(_bytes(Path(path)), str(path)), str(path))


def parse_xml(text: str, source: str = "<text>") -> Element:
    """The root element of a text in XML; `source` is what messages call it.

    >>> root = parse_xml('<robot name="arm">\\n  <link name="base"/>\\n</robot>')
    >>> root.tag, [(child.tag, child.attributes, child.line) for child in root.children]
    ('robot', [('link', {'name': 'base'}, 2)])
    """
    text = _sound(text.removeprefix("\ufeff"), source)
    parser = make_parser()
    handler = _Tree(parser)
    parser.forbid_dtd = parser.forbid_entities = parser.forbid_external = True
    parser.setContentHandler(handler)
    try:
        # one piece: the time of the parser grows with the number of pieces a long token is cut into
        parser.feed(text)
        parser.close()
    except SAXParseException as error:
        raise _syntax(text, source, error) from error
    except DefusedXmlException as error:
        fact = "there is a document type, an entity or a reference to another file."
        raise failure(
            f"{source}, line {handler.line}", fact, "Remove it: model files are read without them."
        ) from error
    except _TooMuch as error:
        raise failure(f"{source}, line {handler.line}", *error.args) from error
    assert handler.root is not None  # a text without an element is a SAXParseException
    return handler.root


class _TooMuch(Exception):
    """A bound is exceeded; the fact and the advice."""


class _Partial:
    """An element whose end has not come yet."""

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag, self.attributes, self.line = tag, attributes, line
        self.text: list[str] = []
        self.children: list[Element] = []

    def complete(self) -> Element:
        return Element(self.tag, self.attributes, self.line, "".join(self.text).strip(), tuple(self.children))


class _Tree(ContentHandler):
    """Builds the tree from the events of the parser."""

    def __init__(self, place: Locator) -> None:
        super().__init__()
        self._place = place
        self.root: Element | None = None
        self._open: list[_Partial] = []
        self._count = 0

    @property
    def line(self) -> int:
        """The line the parser is in."""
        return self._place.getLineNumber() or 1

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        """Begin an element."""
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise _TooMuch(f"there are more than {MAX_ELEMENTS} elements.", "Split the system into several models.")
        if len(self._open) >= MAX_DEPTH:
            raise _TooMuch(f"elements are nested more than {MAX_DEPTH} deep.", "Expected a few levels.")
        if len(attrs) > MAX_ATTRIBUTES:
            raise _TooMuch(f"an element has more than {MAX_ATTRIBUTES} attributes.", "Expected a few.")
        self._open.append(_Partial(name, dict(attrs.items()), self.line))

    def characters(self, content: str) -> None:
        """Keep the text of an element."""
        if self._open:
            self._open[-1].text.append(content)

    def endElement(self, name: str) -> None:
        """Complete an element and hand it to the one around it."""
        element = self._open.pop().complete()
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element


def _bytes(path: Path) -> bytes:
    name = str(path)
    advice = f"Give the path of a model file, such as robot{path.suffix or '.urdf'}."
    try:
        if path.is_dir():
            raise failure(name, "this is a directory.", advice)
        if not path.exists():
            raise failure(name, "there is no such file.", _others(path))
        if not path.is_file():
            raise failure(name, "this is not a regular file.", advice)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise failure(name, f"the file cannot be opened ({reason}).", "Check its name and permissions.") from error


def _others(path: Path) -> str:
    """A hint with the file beside the missing one that has the nearest name."""
    if not path.parent.is_dir():
        return f"There is no directory {str(path.parent)!r} either."
    others = [other.name for other in islice(path.parent.glob(f"*{path.suffix}"), 1000)]
    return nearest(path.name, others) if others else "Check the name and the directory."


def _decoded(data: bytes, source: str) -> str:
    """The bytes of a file as text: UTF-8, and not too long."""
    _short(len(data), source)
    if (at := data.find(b"\0")) >= 0:
        raise _nul(source, data.count(b"\n", 0, at) + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"the byte 0x{data[error.start]:02x} is not UTF-8."
        raise failure(f"{source}, line {line}", fact, "Save the file in the encoding UTF-8.") from error


def _sound(text: str, source: str) -> str:
    """The text itself, if it is one that could stand in a file."""
    if (at := text.find("\0")) >= 0:
        raise _nul(source, text.count("\n", 0, at) + 1)
    try:
        _short(len(text.encode("utf-8")), source)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        fact = f"the character {text[error.start]!r} cannot be written in UTF-8."
        raise failure(f"{source}, line {line}", fact, "Remove it.") from error
    return text


def _short(size: int, source: str) -> None:
    if size > MAX_BYTES:
        raise failure(source, f"the file is larger than {MAX_BYTES} bytes.", "Split the system into several models.")


def _nul(source: str, line: int) -> ModelFileError:
    advice = "Expected a text file; save it as UTF-8 text."
    return failure(f"{source}, line {line}", "there is a NUL character.", advice)


def _syntax(text: str, source: str, error: SAXParseException) -> ModelFileError:
    """What the parser said, with the line it is about and what mostly causes it."""
    said, number = error.getMessage(), error.getLineNumber() or 1
    if said in ("no element found", "unclosed token", "unclosed CDATA section"):
        advice = "The text ends too early: the file is empty or cut off."
    elif said == "mismatched tag":
        advice = "Close every element by its own name, in the reverse order of opening."
    elif said == "undefined entity":
        advice = "Only &amp; &lt; &gt; &quot; and &apos; are known."
    else:
        advice = "Correct this line."
    lines = text.split("\n", number)
    line = lines[number - 1].strip() if number <= len(lines) else ""
    shown = f", at {line if len(line) <= 60 else line[:57] + '...'!r}" if line else ""
    return failure(f"{source}, line {number}", f"not valid XML: {said}{shown}.", advice)
