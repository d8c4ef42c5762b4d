"""The kinematic tree as a drawing: bodies by depth, joints between them, loops as broken lines. One SVG, all text escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from dalembert.model import WORLD, Elements
from dalembert.model.elements import Body
from dalembert.show import text

_HEIGHT, _LETTER, _PAD = 30.0, 7.4, 12.0  # of a box, of a letter at 13 px, on both sides of a name
_ROW, _GAP, _LONGEST = 58.0, 46.0, 26  # between rows, between columns beside the words on a line, letters of a word
_MOST = 80  # bodies


@dataclass(frozen=True)
class _Box:
    """A body in the drawing."""

    name: str
    x: float
    y: float  # of its middle
    width: float

    @property
    def right(self) -> float:
        return self.x + self.width


def tree_in_svg(model: Elements) -> str:
    """The bodies of a model from the world outwards, with their joints and loops; empty where it has no bodies.

    >>> import dalembert as dl
    >>> tree_in_svg(dl.load("four-bar")).count("<rect")
    4
    """
    if not 0 < len(model.bodies) <= _MOST:
        return ""
    boxes = _placed(model)
    parts = [*_lines(model, boxes), *_arcs(model, boxes), *map(_drawn, boxes.values())]
    width = max(box.right for box in boxes.values()) + 70
    low = min(box.y for box in boxes.values()) - _HEIGHT
    high = max(box.y for box in boxes.values()) + _HEIGHT
    words = escape(f"Bodies, joints and loops of {model.name}")
    return (
        f'<svg class="tree" role="img" aria-label="{words}" viewBox="0 {low:.0f} {width:.0f} {high - low:.0f}" '
        f'width="{width:.0f}" height="{high - low:.0f}" font-size="13" fill="none" stroke="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _placed(model: Elements) -> dict[str, _Box]:
    """A box for the world and for every body: columns by depth, a parent in the middle of its children."""
    children: dict[str, list[Body]] = {}
    for body in model.bodies:
        children.setdefault(body.parent, []).append(body)
    depth, order = {WORLD: 0}, [WORLD]
    for name in order:
        for body in children.get(name, []):
            depth[body.name] = depth[name] + 1
            order.append(body.name)
    widths, spaces = [0.0] * (max(depth.values()) + 1), [0.0] * (max(depth.values()) + 1)
    for name in order:
        widths[depth[name]] = max(widths[depth[name]], _width(name))
    for body in model.bodies:
        spaces[depth[body.name]] = max(spaces[depth[body.name]], len(_said(body)) * _LETTER * 0.85 + _GAP)
    left = [4.0]
    for k in range(1, len(widths)):
        left.append(left[-1] + widths[k - 1] + spaces[k])
    rows: dict[str, float] = {}
    next_row = 0.0
    for name in _leaves_first(children):
        below = [rows[body.name] for body in children.get(name, [])]
        rows[name] = (below[0] + below[-1]) / 2 if below else next_row
        next_row += 0 if below else _ROW
    return {name: _Box(name, left[depth[name]], rows[name], _width(name)) for name in order}


def _leaves_first(children: Mapping[str, list[Body]]) -> Iterator[str]:
    waiting = [(WORLD, False)]
    while waiting:
        name, ready = waiting.pop()
        if ready:
            yield name
        else:
            waiting.append((name, True))
            waiting += [(body.name, False) for body in reversed(children.get(name, []))]


def _lines(model: Elements, boxes: Mapping[str, _Box]) -> Iterator[str]:
    """The joints: a line from the parent, and what moves above it."""
    for body in model.bodies:
        a, b = boxes[body.parent], boxes[body.name]
        bend = a.right + _GAP / 3
        yield f'<path d="M{a.right:.1f} {a.y:.1f}H{bend:.1f}V{b.y:.1f}H{b.x:.1f}"/>'
        yield _text(_said(body), (bend + b.x) / 2, b.y - 6, size=11)


def _arcs(model: Elements, boxes: Mapping[str, _Box]) -> Iterator[str]:
    """The loops: broken lines between the bodies they join, with their names."""
    for k, loop in enumerate(model.loops):
        first, second = (boxes[name] for name in loop.bodies)
        out = max(first.right, second.right) + 26 + 9 * (k % 4)
        path = f"M{first.right:.1f} {first.y:.1f}H{out:.1f}V{second.y:.1f}H{second.right:.1f}"
        if first.y == second.y:  # in one row: above the boxes between them
            top = first.y - _HEIGHT / 2
            path = (
                f"M{first.x + first.width / 2:.1f} {top:.1f}V{top - 9:.1f}H{second.x + second.width / 2:.1f}V{top:.1f}"
            )
        yield f'<path stroke-dasharray="5 4" d="{path}"/>'
        yield _text(_short(f"{loop.name}: {loop.joint.kind}"), out - 4, (first.y + second.y) / 2 - 6, size=11, end=True)


def _drawn(box: _Box) -> str:
    weight = 2 if box.name == WORLD else 1
    top = box.y - _HEIGHT / 2
    shape = f'<rect x="{box.x:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{_HEIGHT}" rx="6" stroke-width="{weight}"/>'
    return shape + _text(_short(box.name), box.x + box.width / 2, box.y + 4.5)


def _said(body: Body) -> str:
    """The kinds of its joints, and what moves in them."""
    joints = []
    for joint in body.joints:
        moving = ", ".join(text.expression(value) for value in joint.values)
        joints.append(f"{joint.kind} {moving}".strip() if len(moving) <= _LONGEST else joint.kind)
    return _short(" · ".join(joints) or "fixed")


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def _width(name: str) -> float:
    return len(_short(name)) * _LETTER + 2 * _PAD


def _text(words: str, x: float, y: float, size: int = 13, end: bool = False) -> str:
    anchor = "end" if end else "middle"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="currentColor" stroke="none">'
        f"{escape(words)}</text>"
    )
