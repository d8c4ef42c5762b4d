"""Diagram of the kinematic tree as SVG: bodies below their parents, loops as dashed lines; all text is escaped."""

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

_HEIGHT, _LETTER, _PAD = 26.0, 7.4, 10.0  # height of a box, width of a letter at 13 px, margin on both sides of a name
_ROW, _STEP, _MAX_LABEL = 40.0, 26.0, 30  # distance of rows, of depths, letters of a label
_LOOP_SPACING = 12.0  # between the lines of loops
_MAX_BODIES = 80


@dataclass(frozen=True)
class _Box:
    """A body in the diagram, and its joints."""

    name: str
    label: str
    x: float
    y: float  # of its center

    @property
    def width(self) -> float:
        return len(_shorten(self.name)) * _LETTER + 2 * _PAD

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def end(self) -> float:
        """Right end of its label."""
        return self.right + 10 + 0.85 * _LETTER * len(self.label)


def tree_in_svg(model: Elements) -> str:
    """Return the bodies of a model below their parents, with joints and loops; empty for a model without bodies.

    >>> import dalembert as dl
    >>> tree_in_svg(dl.load("four-bar")).count("<rect")
    4
    """
    if not 0 < len(model.bodies) <= _MAX_BODIES:
        return ""
    boxes = _placed(model)
    words = [0.85 * _LETTER * len(_loop_label(loop)) for loop in model.loops]
    rail = max(box.end for box in boxes.values()) + max(words, default=0) + 12
    lines = []  # from every body to its children
    for body in model.bodies:
        a, b = boxes[body.parent], boxes[body.name]
        lines.append(f'<path d="M{a.x + _STEP / 2:.1f} {a.y + _HEIGHT / 2:.1f}V{b.y:.1f}H{b.x:.1f}"/>')
    parts = [*lines, *_loops(model, boxes, rail), *map(_draw_box, boxes.values())]
    width = rail + _LOOP_SPACING * len(model.loops)
    height = _ROW * len(boxes)
    label = escape(f"Bodies, joints and loops of {model.name}")
    return (
        f'<svg class="tree" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-size="13" fill="none" stroke="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _placed(model: Elements) -> dict[str, _Box]:
    """Return a box for the world and for every body, one row each: children below their parent and indented."""
    children: dict[str, list[Body]] = {}
    for body in model.bodies:
        children.setdefault(body.parent, []).append(body)
    boxes: dict[str, _Box] = {}
    waiting: list[tuple[str, str, int]] = [(WORLD, "", 0)]
    while waiting:
        name, label, depth = waiting.pop()
        boxes[name] = _Box(name, label, 2 + _STEP * depth, _ROW * (len(boxes) + 0.5))
        waiting += [(body.name, _joint_label(body), depth + 1) for body in reversed(children.get(name, []))]
    return boxes


def _loops(model: Elements, boxes: Mapping[str, _Box], rail: float) -> Iterator[str]:
    """Yield a dashed line for every loop between its bodies, each at its own x, with its name at the start."""
    n_labels: Counter[str] = Counter()
    for k, loop in enumerate(model.loops):
        first, second = sorted((boxes[name] for name in loop.bodies), key=lambda box: box.y)
        # names of loops with the same first body are stacked
        x, below = rail + _LOOP_SPACING * k, 13 * n_labels[first.name]
        n_labels[first.name] += 1
        yield f'<path stroke-dasharray="5 4" d="M{first.end:.1f} {first.y:.1f}H{x:.1f}V{second.y:.1f}H{second.end:.1f}"/>'
        yield _text_element(_loop_label(loop), first.end + 6, first.y - 5 + below, size=11)


def _draw_box(box: _Box) -> str:
    weight = 2 if box.name == WORLD else 1
    top = box.y - _HEIGHT / 2
    shape = f'<rect x="{box.x:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{_HEIGHT}" rx="6" stroke-width="{weight}"/>'
    name = _text_element(_shorten(box.name), box.x + box.width / 2, box.y + 4.5, middle=True)
    label = _text_element(box.label, box.right + 8, box.y + 4, size=11) if box.label else ""
    return f'<g data-body="{escape(box.name)}">{shape}{name}</g>{label}'


def _joint_label(body: Body) -> str:
    """Return the types of the joints of a body, and their coordinates."""
    joints = []
    for joint in body.joints:
        moving = ", ".join(plain_text.expression(value) for value in joint.values)
        joints.append(f"{joint.kind} {moving}".strip() if len(moving) <= _MAX_LABEL else joint.kind)
    return _shorten(" · ".join(joints) or "fixed")


def _loop_label(loop: Loop) -> str:
    return _shorten(f"{loop.name}: {loop.joint.kind}")


def _shorten(words: str) -> str:
    return words if len(words) <= _MAX_LABEL else f"{words[: _MAX_LABEL - 1]}…"


def _text_element(words: str, x: float, y: float, size: int = 13, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{anchor} fill="currentColor" stroke="none">{escape(words)}</text>'
