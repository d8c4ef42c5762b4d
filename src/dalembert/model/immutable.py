"""Immutable values: frozen mappings, dataclasses that pickle as their fields, and mapping of formulas in records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import symengine as se

from dalembert.symbolic.symbols import Formula

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

K = TypeVar("K")
V = TypeVar("V")


class Frozen(Mapping[K, V]):
    """An immutable, hashable mapping that keeps its order.

    >>> Frozen(x=1) | {"y": 2}
    Frozen({'x': 1, 'y': 2})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V] | None = None, **more: V) -> None:
        object.__setattr__(self, "_items", {**(items or {}), **more})

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __or__(self, more: Mapping[K, V]) -> Frozen[K, V]:
        return Frozen({**self, **more})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set attribute '{name}' of a frozen mapping.")

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __reduce__(self) -> tuple[type, tuple[dict[K, V]]]:
        return Frozen, (self._items,)

    def __repr__(self) -> str:
        return f"Frozen({self._items!r})"


class FrozenValue:
    """A frozen dataclass that pickles and copies only its fields, without cached properties."""

    def __getstate__(self: DataclassInstance) -> dict[str, object]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


T = TypeVar("T")


def map_formulas(
    value: T, turn: Callable[[Formula], Formula], enter: Callable[[object], None] = lambda record: None
) -> T:
    """Apply a function to every formula of a record, sequence or mapping; `enter` is called with every record.

    >>> map_formulas((se.Symbol("x"), "text", 3), lambda formula: 2 * formula)
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
