"""Records with other formulas in the places of theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import symengine as se

from dalembert.model.frozen import Frozen
from dalembert.symbolic.symbols import Formula

T = TypeVar("T")


def mapped(value: T, turn: Callable[[Formula], Formula], enter: Callable[[object], None] = lambda record: None) -> T:
    """A record, sequence or mapping with every formula in it turned; `enter` is told of every record on the way.

    >>> mapped((se.Symbol("x"), "text", 3), lambda formula: 2 * formula)
    (2*x, 'text', 3)
    """

    def walk(x: Any) -> Any:
        if isinstance(x, se.Basic):
            return turn(x)
        if isinstance(x, tuple):
            parts = tuple(map(walk, x))
            return x if all(a is b for a, b in zip(parts, x, strict=True)) else parts
        if isinstance(x, Frozen):
            return Frozen({key: walk(part) for key, part in x.items()})
        if not is_dataclass(x) or isinstance(x, type):
            return x
        enter(x)
        new = {each.name: walk(getattr(x, each.name)) for each in fields(x) if each.init}
        changed = {name: part for name, part in new.items() if part is not getattr(x, name)}
        return replace(x, **changed) if changed else x

    return walk(value)
