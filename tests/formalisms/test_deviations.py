"""The deviations listed in a formulation's file cover docs/errata.md, for all its equations."""

import re
from pathlib import Path

import pytest

from dalembert.formalisms import catalog

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
NUMBER = r"\((\d+(?:\.\d+)?)[a-z]?\)"
# errata of equations before those of a formulation, or without a number
MORE = {"dalembert": ["5.26", "5.80", "5.82", "5.85", "5.145", "5.157"], "phong": ["Example 2"]}


def errata(paper: str) -> set[str]:
    """Equation numbers with a misprint, ranges by their ends."""
    section = PAGE.split(f"## papers/{paper}\n")[1].split("\n## ")[0]
    locations = re.findall(r"^\| [A-Z]\d+ [✓° ]*\| ([^|]*) \|", section, re.MULTILINE)
    return {number for location in locations for number in re.findall(NUMBER, location)}


def is_within(number: str, source: str) -> bool:
    """True for a number that a source such as (5.49)–(5.59), (5.154) contains."""

    def rank(text: str) -> tuple[int, ...]:
        return tuple(map(int, text.split(".")))

    spans = re.findall(NUMBER + "–" + NUMBER, source)
    named = re.findall(NUMBER, re.sub(NUMBER + "–" + NUMBER, "", source))
    return number in named or any(rank(a) <= rank(number) <= rank(b) for a, b in spans)


def deviates(key: str) -> str:
    words = (catalog.find(key).__doc__ or "").split("Deviates:")
    return words[1] if len(words) > 1 else ""


@pytest.mark.parametrize("key", catalog.KEYS)
def test_deviations_cover_the_errata(key):
    source = catalog.find(key).ABOUT.source
    paper = re.match(r"papers/(\w+)", source)[1]
    known = [number for number in errata(paper) if is_within(number, source)]
    listed = {*re.findall(NUMBER, deviates(key)), *re.findall(r"Example \d", deviates(key))}
    assert not {*known, *MORE.get(key, ())} - listed


def test_errata_are_parsed():
    assert {"61", "65", "12"} <= errata("volterra")
    assert {"16", "25", "46", "52"} <= errata("denoc")
    assert {"5.26", "5.199", "5.80", "5.226", "5.249", "5.157", "5.254", "5.286"} <= errata("desapio")
    assert is_within("5.93", "papers/desapio (5.49)–(5.59), (5.86)–(5.93)")
    assert not is_within("5.60", "papers/desapio (5.49)–(5.59), (5.86)–(5.93)")
