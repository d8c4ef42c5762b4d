"""Names from a file as names of a model: identifiers, each used once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dalembert.expressions import is_identifier
from dalembert.model import WORLD

_LENGTH = 56  # an identifier has at most 64 characters, and room is left for endings


def is_body_name(name: str) -> bool:
    """Whether a body can be called so."""
    return name != WORLD and is_identifier(name.replace("-", "_"))


def is_coordinate_name(name: str) -> bool:
    """Whether a coordinate can be called so."""
    return is_identifier(name)


def identifiers(names: Sequence[str], usable: Callable[[str], bool], prefix: str) -> list[str]:
    """A usable name for every name; the first that is usable as it is keeps it.

    >>> identifiers(["left arm", "left_arm", "2", "sin"], is_coordinate_name, "joint")
    ['left_arm_2', 'left_arm', 'joint_2', 'joint_sin']
    """
    waiting = {name for name in names if usable(name)}
    taken, counts = set(waiting), dict[str, int]()
    out = []
    for name in names:
        if name in waiting:
            waiting.remove(name)
            out.append(name)
        else:
            out.append(_fresh(_plain(name, usable, prefix), taken, counts))
    return out


def _plain(name: str, usable: Callable[[str], bool], prefix: str) -> str:
    """The name with what no identifier may hold replaced."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:_LENGTH]
    return plain if usable(plain) else f"{prefix}_{plain}"


def _fresh(name: str, taken: set[str], counts: dict[str, int]) -> str:
    """The name, with a number behind it where it is taken."""
    free = name
    while free in taken:
        counts[name] = counts.get(name, 1) + 1
        free = f"{name}_{counts[name]}"
    taken.add(free)
    return free
