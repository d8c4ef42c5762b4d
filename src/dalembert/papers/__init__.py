"""The papers computed again: every table and figure beside what is printed, with the deviation and the reason for it.

A paper is two files: `NAME.toml` holds what is printed, and `NAME.py` says in `recipe()` how each table and figure is computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TypeVar

from dalembert.arguments import checked
from dalembert.errors import InputError, nearest
from dalembert.papers.printed_values import Figure, Paper, Printed, Recipe, Table, labelled, printed

__all__ = ["NAMES", "Figure", "Paper", "Table", "choices", "paper", "printed"]

NAMES = ("volterra", "phong", "poincare", "denoc", "desapio")
_Result = TypeVar("_Result")


@checked
def paper(
    name: str,
    *,
    tables: Sequence[str | int] | None = None,
    figures: Sequence[str | int] | None = None,
    claims: bool | None = None,
    progress: Callable[[float], object] | None = None,
) -> Paper:
    """A paper computed again: all its tables, figures and claims, or those that are named.

    Naming tables only leaves the figures out, and the other way round; the claims are judged where no table and no figure is
    named, or as `claims` says. `progress` is told the fraction that is done.

    >>> print(paper("volterra", tables=["4"]).table(4).cells[0].deviation_text)
    =
    """
    known = choices(name)
    wanted = (
        _wanted(name, "table", known.tables, tables, figures),
        _wanted(name, "figure", known.figures, figures, tables),
    )
    made = _recipe(name)
    tell, total, done = progress or (lambda _: None), sum(map(len, wanted)) or 1, itertools.count()

    def compute(recipes: Mapping[str, Callable[[], _Result]], number: str) -> _Result:
        tell(next(done) / total)
        return recipes[number]()

    found = (
        tuple(known.tables[number].filled(number, compute(made.tables, number)) for number in wanted[0]),
        tuple(known.figures[number].filled(number, compute(made.figures, number)) for number in wanted[1]),
    )
    judged = (tables is None and figures is None) if claims is None else claims
    verdicts = [each.judged(key, made.claims[key]()) for key, each in known.claims.items()] if judged else []
    tell(1.0)
    return Paper(name, known.title, known.source, *found, known.remarks, tuple(verdicts))


def choices(name: str) -> Printed:
    """What a paper prints: its tables and figures, before anything is computed.

    >>> list(choices("volterra").tables)
    ['1', '2', '3', '4', '5', '6']
    """
    if name not in NAMES:
        raise InputError(f"there is no paper '{name}'. {nearest(name, NAMES)} Expected one of {', '.join(NAMES)}.")
    return printed(name)


def _recipe(name: str) -> Recipe:
    """A fresh recipe: its runs are computed when they are needed, once."""
    return import_module(f"{__name__}.{name}_paper").recipe()


def _wanted(
    name: str,
    kind: str,
    known: Iterable[str],
    asked: Sequence[str | int] | None,
    others: Sequence[str | int] | None,
) -> list[str]:
    """The numbers asked for, in the order of the paper; all where nothing at all is asked for."""
    known = list(known)
    if asked is None:
        return known if others is None else []
    numbers = {number.lower(): number for number in known}
    for number in map(str, asked):
        if number.lower() not in numbers:
            there = f"It has {', '.join(labelled(kind, each) for each in known)}." if known else f"It has no {kind}s."
            raise InputError(f"paper '{name}' has no {kind} '{number}'. {there}")
    chosen = {str(number).lower() for number in asked}
    return [number for low, number in numbers.items() if low in chosen]
