"""The kinematic tree as a drawing: bodies below what carries them, loops as broken lines. One SVG, all text escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from dalembert.display.math import plain_text
from dalembert.model.constraints.loop import Loop
from dalembert.model.description import Elements
from dalembert.model.elements import Body
from dalembert.model.values import WORLD

_HEIGHT, _LETTER, _PAD = 26.0, 7.4, 10.0  # of a box, of a letter at 13 px, on both sides of a name
_ROW, _STEP, _LONGEST = 40.0, 26.0, 30  # between rows, between depths, letters of a word
_RAIL = 12.0  # between the lines of loops
_MOST = 80  # bodies


@dataclass(frozen=True)
class _Box:
    """A body in the drawing, and what moves it."""

    name: str
    said: str
    x: float
    y: float  # of its middle

    @property
    def width(self) -> float:
        return len(_short(self.name)) * _LETTER + 2 * _PAD

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def end(self) -> float:
        """Where the words behind it end."""
        return self.right + 10 + 0.85 * _LETTER * len(self.said)


def tree_in_svg(model: Elements) -> str:
    """The bodies of a model below the one that carries them, with their joints and loops; empty where it has no bodies.

    >>> import dalembert as dl
    >>> tree_in_svg(dl.load("four-bar")).count("<rect")
    4
    """
    if not 0 < len(model.bodies) <= _MOST:
        return ""
    boxes = _placed(model)
    words = [0.85 * _LETTER * len(_said_of_loop(loop)) for loop in model.loops]
    rail = max(box.end for box in boxes.values()) + max(words, default=0) + 12
    lines = []  # from every body down to those it carries
    for body in model.bodies:
        a, b = boxes[body.parent], boxes[body.name]
        lines.append(f'<path d="M{a.x + _STEP / 2:.1f} {a.y + _HEIGHT / 2:.1f}V{b.y:.1f}H{b.x:.1f}"/>')
    parts = [*lines, *_loops(model, boxes, rail), *map(_drawn, boxes.values())]
    width = rail + _RAIL * len(model.loops)
    height = _ROW * len(boxes)
    label = escape(f"Bodies, joints and loops of {model.name}")
    return (
        f'<svg class="tree" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-size="13" fill="none" stroke="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _placed(model: Elements) -> dict[str, _Box]:
    """A box for the world and for every body, one row each: children below their parent and further in."""
    children: dict[str, list[Body]] = {}
    for body in model.bodies:
        children.setdefault(body.parent, []).append(body)
    boxes: dict[str, _Box] = {}
    waiting: list[tuple[str, str, int]] = [(WORLD, "", 0)]
    while waiting:
        name, said, depth = waiting.pop()
        boxes[name] = _Box(name, said, 2 + _STEP * depth, _ROW * (len(boxes) + 0.5))
        waiting += [(body.name, _said(body), depth + 1) for body in reversed(children.get(name, []))]
    return boxes


def _loops(model: Elements, boxes: Mapping[str, _Box], rail: float) -> Iterator[str]:
    """Broken lines between the bodies that a loop joins, each on a rail of its own, with its name where it begins."""
    begun: Counter[str] = Counter()
    for k, loop in enumerate(model.loops):
        first, second = sorted((boxes[name] for name in loop.bodies), key=lambda box: box.y)
        # of several that begin here, the names stand one below the other
        x, below = rail + _RAIL * k, 13 * begun[first.name]
        begun[first.name] += 1
        yield f'<path stroke-dasharray="5 4" d="M{first.end:.1f} {first.y:.1f}H{x:.1f}V{second.y:.1f}H{second.end:.1f}"/>'
        yield _text(_said_of_loop(loop), first.end + 6, first.y - 5 + below, size=11)


def _drawn(box: _Box) -> str:
    weight = 2 if box.name == WORLD else 1
    top = box.y - _HEIGHT / 2
    shape = f'<rect x="{box.x:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{_HEIGHT}" rx="6" stroke-width="{weight}"/>'
    name = _text(_short(box.name), box.x + box.width / 2, box.y + 4.5, middle=True)
    said = _text(box.said, box.right + 8, box.y + 4, size=11) if box.said else ""
    return f'<g data-body="{escape(box.name)}">{shape}{name}</g>{said}'


def _said(body: Body) -> str:
    """The kinds of its joints, and what moves in them."""
    joints = []
    for joint in body.joints:
        moving = ", ".join(plain_text.expression(value) for value in joint.values)
        joints.append(f"{joint.kind} {moving}".strip() if len(moving) <= _LONGEST else joint.kind)
    return _short(" · ".join(joints) or "fixed")


def _said_of_loop(loop: Loop) -> str:
    return _short(f"{loop.name}: {loop.joint.kind}")


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def _text(words: str, x: float, y: float, size: int = 13, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{anchor} fill="currentColor" stroke="none">{escape(words)}</text>'
