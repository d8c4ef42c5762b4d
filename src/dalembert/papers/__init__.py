"""Reproduction of papers: every table and figure next to the printed values, with the deviation and its reason.

A paper is two files: `NAME.toml` contains the printed values, and `recipe()` in `NAME_paper.py` computes each table and figure.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TypeVar

from dalembert.arguments import validate_arguments
from dalembert.errors import InputError, suggest_name
from dalembert.papers.printed_values import ComparedTable, Figure, Paper, Printed, Recipe, printed, title_of

__all__ = ["NAMES", "ComparedTable", "Figure", "Paper", "choices", "paper", "printed"]

NAMES = ("volterra", "phong", "poincare", "denoc", "desapio")
_Result = TypeVar("_Result")


@validate_arguments
def paper(
    name: str,
    *,
    tables: Sequence[str | int] | None = None,
    figures: Sequence[str | int] | None = None,
    claims: bool | None = None,
    progress: Callable[[float], object] | None = None,
) -> Paper:
    """Reproduce a paper: compute all its tables, figures and claims, or the selected ones.

    Parameters
    ----------
    name : str
        One of volterra, phong, poincare, denoc and desapio.
    tables, figures : sequence of str or int, optional
        Numbers of tables and figures to compute. If only one of the two is given, the other kind is omitted.
    claims : bool, optional
        Evaluate the claims of the paper; by default if neither tables nor figures are selected.
    progress : callable, optional
        Called with the completed fraction, from 0 to 1.

    Returns
    -------
    Paper
        Printed and computed values, figures and verdicts on the claims.

    Raises
    ------
    InputError
        There is no such paper, table or figure.

    Examples
    --------
    >>> print(paper("volterra", tables=["4"]).table(4).cells[0].deviation_text)
    =
    """
    known = choices(name)
    selected = (
        _selected(name, "table", known.tables, tables, figures),
        _selected(name, "figure", known.figures, figures, tables),
    )
    recipe = _recipe(name)
    report, total, done = progress or (lambda _: None), sum(map(len, selected)) or 1, itertools.count()

    def compute(recipes: Mapping[str, Callable[[], _Result]], number: str) -> _Result:
        report(next(done) / total)
        return recipes[number]()

    found = (
        tuple(known.tables[number].with_computed(number, compute(recipe.tables, number)) for number in selected[0]),
        tuple(known.figures[number].with_computed(number, compute(recipe.figures, number)) for number in selected[1]),
    )
    judged = (tables is None and figures is None) if claims is None else claims
    verdicts = [each.with_finding(key, recipe.claims[key]()) for key, each in known.claims.items()] if judged else []
    report(1.0)
    return Paper(name, known.title, known.source, *found, known.remarks, tuple(verdicts))


def choices(name: str) -> Printed:
    """Return the printed tables, figures and claims of a paper, without computation.

    >>> list(choices("volterra").tables)
    ['1', '2', '3', '4', '5', '6']
    """
    if name not in NAMES:
        raise InputError(f"there is no paper '{name}'. {suggest_name(name, NAMES)} Expected one of {', '.join(NAMES)}.")
    return printed(name)


def _recipe(name: str) -> Recipe:
    """Return a new recipe; it computes its runs once, when they are needed."""
    return import_module(f"{__name__}.{name}_paper").recipe()


def _selected(
    name: str,
    kind: str,
    known: Iterable[str],
    requested: Sequence[str | int] | None,
    others: Sequence[str | int] | None,
) -> list[str]:
    """Return the requested numbers in the order of the paper; all if nothing is requested."""
    known = list(known)
    if requested is None:
        return known if others is None else []
    numbers = {number.lower(): number for number in known}
    for number in map(str, requested):
        if number.lower() not in numbers:
            hint = f"It has {', '.join(title_of(kind, each) for each in known)}." if known else f"It has no {kind}s."
            raise InputError(f"paper '{name}' has no {kind} '{number}'. {hint}")
    chosen = {str(number).lower() for number in requested}
    return [number for low, number in numbers.items() if low in chosen]
