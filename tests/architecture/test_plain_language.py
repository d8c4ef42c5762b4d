"""Words that nobody searches for do not return: identifiers, strings, comments and pages use the terms of the field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = frozenset(
    [
        "road",
        "roads",
        "room",
        "ways",
        "told",
        "said",
        "held",
        "kept",
        "brought",
        "worn",
        "turned",
        "whole",
        "maker",
        "taking",
        "reaching",
        "resting",
        "watched",
        "alarmed",
        "asked",
        "seen",
        "shown",
        "tell",
        "nobody",
    ]
)
_WORDS = re.compile(r"\b(roads?|room|told|brought|worn|maker|watched|alarmed|asked|whole numbers?)\b", re.IGNORECASE)


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that a module defines, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def house_words(name: str) -> frozenset[str]:
    """The words of an identifier that are on the list."""
    return NAMES & {word.lower() for word in re.findall("[A-Z]?[a-z]+", name)}


@pytest.mark.parametrize("package", sorted(p.name for p in (ROOT / "src" / "dalembert").iterdir() if p.is_dir()))
def test_identifiers_use_terms_of_the_field(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / "src" / "dalembert" / package).rglob("*.py"))
        for line, name in identifiers(ast.parse(path.read_text("utf-8")))
        if house_words(name)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("folder", "suffix"), [("src", "py"), ("src", "md"), ("docs", "md"), ("viewer/src", "ts")])
def test_texts_use_terms_of_the_field(folder: str, suffix: str) -> None:
    # the road of the quarter car is a road
    pages = sorted((ROOT / folder).rglob(f"*.{suffix}")) + ([ROOT / "README.md"] if folder == "docs" else [])
    assert pages
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match.group()}"
        for path in pages
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if path.parent.name != "quarter-car"
        if (match := _WORDS.search(line))
    ]
    assert not found, "\n".join(found)


def test_house_words_are_found() -> None:
    assert house_words("_toldByWhole") == {"told", "whole"}
    assert not house_words("withholding")
    assert list(identifiers(ast.parse("def seen(asked):\n    x.kept = y = 1"))) == [
        (1, "seen"),
        (1, "asked"),
        (2, "kept"),
        (2, "y"),
    ]
