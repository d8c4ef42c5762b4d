"""Which bodies belong to a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.model.elements import WORLD, Loop

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def ancestors(model: Elements, body: str) -> list[str]:
    """The body, its parent, and so on, without the world."""
    parents = {b.name: b.parent for b in model.bodies}
    out = []
    while body != WORLD:
        out.append(body)
        body = parents[body]
    return out


def loop_bodies(model: Elements, loop: Loop) -> list[str]:
    """The bodies whose joints belong to a loop: from its first body up, then down to its second."""
    up, down = (ancestors(model, body) for body in loop.bodies)
    shared = set(up) & set(down)
    return [b for b in up if b not in shared] + [b for b in reversed(down) if b not in shared]
