"""What makes a value: a mapping that cannot change, and records that travel without what was worked out from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

K = TypeVar("K")
V = TypeVar("V")


class Frozen(Mapping[K, V]):
    """Names and what belongs to them, in their order.

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
        raise AttributeError(f"a frozen mapping has no attribute '{name}' to set.")

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __reduce__(self) -> tuple[type, tuple[dict[K, V]]]:
        return Frozen, (self._items,)

    def __repr__(self) -> str:
        return f"Frozen({self._items!r})"


class Value:
    """A frozen dataclass that pickles and copies as its fields alone; what was worked out from them stays behind."""

    def __getstate__(self: DataclassInstance) -> dict[str, object]:
        return {each.name: getattr(self, each.name) for each in fields(self)}
