"""The values of options, read from their words."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from typing import Any

from dalembert.errors import InputError

Pair = tuple[str, str]
MOST = 10_000_000  # samples or states


def positive(text: str) -> float:
    """A positive number.

    >>> positive("1e-3")
    0.001
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"got '{text}', expected a positive number")
    return value


def at_least(least: int) -> Callable[[str], int]:
    """A reader of whole numbers that are not smaller than `least`, and not absurdly large.

    >>> at_least(2)("501")
    501
    """

    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= MOST:
            raise argparse.ArgumentTypeError(f"got '{text}', expected a whole number from {least} to {MOST}")
        return value

    return whole


def assignment(text: str) -> Pair:
    """The two sides of NAME=VALUE.

    >>> assignment("theta=pi/2")
    ('theta', 'pi/2')
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"got '{text}', expected NAME=VALUE, such as m=1.5")
    return name, value


def option(text: str) -> tuple[str, Any]:
    """The name and value of a reader's option: a switch that is on when no value is given, a whole number, or text.

    >>> option("floating"), option("loops=3"), option("floating=false")
    (('floating', True), ('loops', 3), ('floating', False))
    """
    name, sign, value = (part.strip() for part in text.partition("="))
    if not name.isidentifier() or (sign and not value):
        raise argparse.ArgumentTypeError(f"got '{text}', expected NAME or NAME=VALUE, such as floating or loops=3")
    switches = {"": True, "true": True, "false": False}
    if value.lower() in switches:
        return name, switches[value.lower()]
    return name, int(value) if value.lstrip("-").isdecimal() and len(value) < 19 else value


def by_name(pairs: Iterable[tuple[str, Any]], word: str) -> dict[str, Any]:
    """The values by name; a name that is given twice is an error."""
    out: dict[str, Any] = {}
    for name, value in pairs:
        if name in out:
            raise InputError(f"{word} {name}: given twice, as {out[name]} and as {value}. Give it once.")
        out[name] = value
    return out
