"""XML files as trees of elements that know their lines, with bounds on everything a hostile file could make large.

The text goes through defusedxml: document types, entities and references to other files are refused. The tree is made by
hand, since the elements of the standard library do not know their lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from defusedxml.common import DefusedXmlException
from defusedxml.sax import make_parser

from dalembert.errors import ModelFileError
from dalembert.io.toml_source import decode, failure, line_shown, read_text

MAX_BYTES = 20_000_000
MAX_ELEMENTS = 200_000
MAX_DEPTH = 64
MAX_ATTRIBUTES = 1000

_CUT_OFF = "The text ends too early: the file is empty or cut off."
# what mostly causes what the parser says
_ADVICE = {
    "no element found": _CUT_OFF,
    "unclosed token": _CUT_OFF,
    "unclosed CDATA section": _CUT_OFF,
    "mismatched tag": "Close every element by its own name, in the reverse order of opening.",
    "undefined entity": "Only &amp; &lt; &gt; &quot; and &apos; are known.",
}


@dataclass(frozen=True)
class Element:
    """One element of an XML file: its tag, attributes, children, and the line it begins in."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def find(self, tag: str) -> Iterator[Element]:
        """The children with this tag."""
        return (child for child in self.children if child.tag == tag)


def read_xml(path: str | Path) -> Element:
    """The root element of an XML file, or a `ModelFileError` that says why there is none."""
    return parse_xml(read_text(path, MAX_BYTES), str(path))


def parse_xml(text: str, source: str = "<text>") -> Element:
    """The root element of a text in XML; `source` is what messages call it.

    >>> root = parse_xml('<robot name="arm">\\n  <link name="base"/>\\n</robot>')
    >>> root.tag, [(child.tag, child.attributes, child.line) for child in root.children]
    ('robot', [('link', {'name': 'base'}, 2)])
    """
    text = _sound(text, source)
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
        where, advice = f"{source}, line {handler.line}", "Remove it: model files are read without them."
        raise failure(where, fact, advice) from error
    except _TooMuch as error:
        raise failure(f"{source}, line {handler.line}", *error.args) from error
    assert handler.root is not None  # a text without an element is a SAXParseException
    return handler.root


class _TooMuch(Exception):
    """A bound is exceeded; the fact and the advice."""


class _Tree(ContentHandler):
    """Builds the tree from the events of the parser."""

    def __init__(self, place: Locator) -> None:
        super().__init__()
        self._place = place
        self.root: Element | None = None
        self._open: list[Element] = []
        self._count = 0

    @property
    def line(self) -> int:
        """The line the parser is in."""
        return self._place.getLineNumber() or 1

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        """Begin an element and hand it to the one around it."""
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise _TooMuch(f"there are more than {MAX_ELEMENTS} elements.", "Split the system into several models.")
        if len(self._open) >= MAX_DEPTH:
            raise _TooMuch(f"elements are nested more than {MAX_DEPTH} deep.", "Expected a few levels.")
        if len(attrs) > MAX_ATTRIBUTES:
            raise _TooMuch(f"an element has more than {MAX_ATTRIBUTES} attributes.", "Expected a few.")
        element = Element(name, dict(attrs.items()), self.line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def endElement(self, name: str) -> None:
        """Complete an element."""
        self._open.pop()


def _sound(text: str, source: str) -> str:
    """The text without a mark of its byte order, if it is one that could stand in a file."""
    try:
        return decode(text.encode("utf-8"), source, MAX_BYTES)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        fact = f"the character {text[error.start]!r} cannot be written in UTF-8."
        raise failure(f"{source}, line {line}", fact, "Remove it.") from error


def _syntax(text: str, source: str, error: SAXParseException) -> ModelFileError:
    """What the parser said, with the line it is about and what mostly causes it."""
    said, number = error.getMessage(), error.getLineNumber() or 1
    line = line_shown(text, number)
    shown = f", at {line!r}" if line else ""
    return failure(
        f"{source}, line {number}", f"not valid XML: {said}{shown}.", _ADVICE.get(said, "Correct this line.")
    )
