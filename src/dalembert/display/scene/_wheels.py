"""Gears, pulleys of belts, pinions and racks: with the size of their transmission, and teeth that mesh in the initial state.

The ratio of a gear divides the distance of its axes; a pinion and a pulley have their radius. Transmissions with axes that are
not parallel, or between bodies with different parents, are not drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.display.scene import _declared_shapes
from dalembert.display.scene._layout import BodyLayout, Layout
from dalembert.display.scene.scene_values import Connector, SceneShape
from dalembert.model.contacts.belt import Belt
from dalembert.model.contacts.gear import Gear
from dalembert.model.contacts.rack_and_pinion import RackAndPinion

_Hinge = tuple[BodyLayout, np.ndarray, np.ndarray]  # a body, and the position and direction of its axis on its parent
_PARALLEL = 1e-9
_MIN_TEETH, _MAX_TEETH = 14, 31  # of the first wheel of a gear train
_TOOTH = ((-0.31, -1.0), (-0.13, 0.8), (0.13, 0.8), (0.31, -1.0))  # corners, in pitches along and modules across


@dataclass(frozen=True)
class Wheel:
    """A wheel on a body, in body axes; `phase` is the angle of a tooth from the first axis of `turn`."""

    body: str
    radius: float
    at: np.ndarray
    turn: np.ndarray  # its third axis is the wheel axis
    teeth: int = 0
    phase: float = 0.0
    inside: bool = False
    level: int = 0  # index among the wheels side by side on one body

    @property
    def module(self) -> float:
        """Approximate height of the teeth above the pitch circle."""
        return 2 * self.radius / self.teeth if self.teeth else 0.0

    def missed(self, direction: np.ndarray) -> float:
        """Return the offset of a direction behind a tooth, in pitches; `direction` in body axes."""
        x, y, _ = self.turn.T @ direction
        return float((np.arctan2(y, x) - self.phase) * self.teeth / (2 * np.pi) % 1.0)


@dataclass(frozen=True)
class Bar:
    """The rack on a body, in body axes: the pitch line through `at` along the first axis of `turn`, teeth along the second."""

    body: str
    at: np.ndarray
    turn: np.ndarray
    pitch: float
    lift: np.ndarray  # direction of the offset of its pinion next to another wheel, by its level


@dataclass
class Wheels:
    """All wheels and racks of a model by body, and its belts."""

    layout: Layout
    wheels: dict[str, list[Wheel]] = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    belts: list[Connector] = field(default_factory=list)

    def __post_init__(self) -> None:
        for contact in self.layout.model.contacts:
            match contact:
                case Gear():
                    self._gear(contact)
                case RackAndPinion():
                    self._rack(contact)
                case Belt():
                    self._belt(contact)

    # positions

    def _hinge(self, body: str) -> _Hinge | None:
        """Return a body that rotates about one axis, with the position and direction of the axis on its parent."""
        placed = self.layout.placed[body]
        if len(placed.motions) != 1 or placed.motions[0].about is None or placed.motions[0].along is not None:
            return None
        return placed, placed.attached.p, placed.attached.R @ placed.motions[0].about

    def _add(
        self,
        placed: BodyLayout,
        radius: float,
        center: np.ndarray,
        axis: np.ndarray,
        *,
        teeth: int = 0,
        phase: float = 0.0,
        inside: bool = False,
        level: int = 0,
    ) -> Wheel:
        """Return a wheel about an axis of the parent."""
        back = placed.pose.inverse
        at, turn = back.of(center), _declared_shapes.along(back.R @ axis)
        made = Wheel(placed.body.name, radius, at, turn, teeth, phase, inside, level)
        self.wheels.setdefault(made.body, []).append(made)
        return made

    def _known(self, body: str, radius: float) -> Wheel | None:
        alike = (wheel for wheel in self.wheels.get(body, []) if abs(wheel.radius - radius) < 1e-6 * radius)
        return next((wheel for wheel in alike if wheel.teeth), None)

    def _hinges(self, bodies: Sequence[str]) -> tuple[_Hinge, _Hinge, np.ndarray] | None:
        """Return two bodies that rotate about parallel axes on one parent, and the vector from the first axis to the second."""
        first, second = (self._hinge(body) for body in bodies)
        if first is None or second is None or first[0].body.parent != second[0].body.parent:
            return None
        (_, p, n), (_, r, m) = first, second
        return None if abs(n @ m) < 1 - _PARALLEL else (first, second, (r - p) - ((r - p) @ n) * n)

    def _gear(self, gear: Gear) -> None:
        if (found := self._hinges(gear.bodies)) is None:
            return
        (one, p, n), (two, r, m), across = found
        ratio = self.layout.number(gear.weights[1]) * float(n @ m)  # about the first axis
        apart = float(np.linalg.norm(across))
        if not apart > 0 or abs(1 + ratio) < 1e-9:
            return
        # the pitch circles touch on the line of centers: r₁ + r₂ = distance, r₂ = ratio r₁, with signs
        first = apart / (1 + ratio)
        direction = across / apart * np.sign(first)
        radii = abs(first), abs(ratio * first)
        large = 0 if radii[0] > radii[1] else 1
        inside = [ratio < 0 and k == large for k in (0, 1)]
        known = self._known(one.body.name, radii[0])
        if known is None:
            teeth, level = _teeth(abs(ratio)), max(len(self.wheels.get(body, [])) for body in gear.bodies)
            phase = _angle(one, direction, n)
            known = self._add(one, radii[0], p, n, teeth=teeth, phase=phase, inside=inside[0], level=level)
        count = max(3, round(known.teeth * abs(ratio)))
        lag = known.missed(one.pose.R.T @ direction)
        side = -direction if ratio > 0 else direction
        turn = lag - 0.5 if ratio > 0 else -lag - 0.5
        phase = _angle(two, side, n) + turn * 2 * np.pi / count
        center = r - ((r - p) @ n) * n
        self._add(two, radii[1], center, n, teeth=count, phase=phase, inside=inside[1], level=known.level)

    def _rack(self, rack: RackAndPinion) -> None:
        hinge, bar = self._hinge(rack.bodies[0]), self.layout.placed[rack.bodies[1]]
        slides = bar.motions
        if hinge is None or len(slides) != 1 or slides[0].along is None or slides[0].about is not None:
            return
        (pinion, p, n), direction = hinge, slides[0].before.R @ slides[0].along
        if pinion.body.parent != bar.body.parent or abs(n @ direction) > _PARALLEL:
            return
        radius = self.layout.number(rack.radius)
        side = np.cross(direction, n) * np.sign(radius)  # where the rim moves with the rack
        known = self._known(pinion.body.name, abs(radius))
        if known is None:
            level = len(self.wheels.get(pinion.body.name, []))
            known = self._add(pinion, abs(radius), p, n, teeth=18, phase=_angle(pinion, side, n), level=level)
        back, pitch = bar.pose.inverse, 2 * np.pi * abs(radius) / known.teeth
        lag = known.missed(pinion.pose.R.T @ side)
        spin = float(np.sign(np.cross(n, side) @ direction))
        at = p + abs(radius) * side + (0.5 - lag) * spin * pitch * direction
        turn = np.column_stack([back.R @ direction, back.R @ -side, back.R @ np.cross(direction, -side)])
        self.bars[bar.body.name] = Bar(bar.body.name, back.of(at), turn, pitch, known.level * (back.R @ n))

    def _belt(self, belt: Belt) -> None:
        if (found := self._hinges(belt.bodies)) is None:
            return
        (one, p, n), (two, _, m), across = found
        radii = [abs(self.layout.number(radius)) for radius in belt.radii]
        apart = float(np.linalg.norm(across))
        if not apart > abs(radii[0] - radii[1]):
            return
        for placed, radius, center in ((one, radii[0], p), (two, radii[1], p + across)):
            self._add(placed, radius, center, n)
        ahead, up = across / apart, np.cross(n, across / apart)
        second = -radii[1] if belt.crossed == (n @ m > 0) else radii[1]
        if apart <= abs(radii[0] - second):
            return
        lean = (radii[0] - second) / apart  # cosine of the angle between line of centers and radius at the tangent
        for side in (-1, 1):
            out = lean * ahead + side * np.sqrt(1 - lean**2) * up
            parent = one.body.parent
            ends = p + radii[0] * out, p + across + second * out
            self.belts.append(Connector(belt.name, "belt", (parent, parent), ends, _declared_shapes.CORD))

    # shapes

    def shapes(self, body: str, color: str, thin: float, travel: tuple[float, float]) -> Iterator[SceneShape]:
        """Return the wheels of a body, and its rack over the travel of its slide."""
        for wheel in self.wheels.get(body, []):
            yield from _wheel(wheel, color, thin)
        if body in self.bars:
            yield _bar(self.bars[body], color, thin, travel)


def _teeth(ratio: float) -> int:
    """Return the number of teeth of the first wheel that gives the other an integer number."""
    small = min(1.0, ratio)
    trials = [round(k / small) if ratio < 1 else k for k in range(_MIN_TEETH, _MAX_TEETH)]
    return min(trials, key=lambda k: (round(abs(k * ratio - round(k * ratio)), 6), k))


def _angle(placed: BodyLayout, direction: np.ndarray, axis: np.ndarray) -> float:
    """Return the angle of a direction of the parent about the axis of a wheel."""
    back = placed.pose.R.T
    x, y, _ = _declared_shapes.along(back @ axis).T @ (back @ direction)
    return float(np.arctan2(y, x))


def _wheel(wheel: Wheel, color: str, thin: float) -> Iterator[SceneShape]:
    thick = 2.2 * thin
    at = wheel.at + 1.1 * thick * wheel.level * wheel.turn[:, 2]
    if not wheel.teeth:
        yield SceneShape("cylinder", (wheel.radius, thick), color, "body", at, wheel.turn)
        return
    pitch, sign = 2 * np.pi / wheel.teeth, -1 if wheel.inside else 1
    corners = [(k + along, sign * across) for k in range(wheel.teeth) for along, across in _TOOTH]
    angles = wheel.phase + pitch * np.array([x for x, _ in corners])
    rim = wheel.radius + wheel.module * np.array([y for _, y in corners])
    base = np.full(len(rim), wheel.radius + 4 * wheel.module if wheel.inside else 1e-3 * wheel.radius)
    rings = [np.stack([r * np.cos(angles), r * np.sin(angles)], axis=1) for r in (base, rim)]
    yield prism(rings[0], rings[1], thick, color, at, wheel.turn, closed=True)


def _bar(bar: Bar, color: str, thin: float, travel: tuple[float, float]) -> SceneShape:
    """Return the rack with teeth where the pinion meets it, at −travel of its slide."""
    first, last = (int(np.floor(-travel[1] / bar.pitch)) - 4, int(np.ceil(-travel[0] / bar.pitch)) + 4)
    module = bar.pitch / np.pi
    corners = [((k + along) * bar.pitch, across * module) for k in range(first, last + 1) for along, across in _TOOTH]
    rim = np.array(corners)
    base = np.column_stack([rim[:, 0], np.full(len(rim), -4 * module)])
    return prism(base, rim, 2.2 * thin, color, bar.at + 1.1 * 2.2 * thin * bar.lift, bar.turn, closed=False)


def prism(
    base: np.ndarray, rim: np.ndarray, thick: float, color: str, at: np.ndarray, turn: np.ndarray, *, closed: bool
) -> SceneShape:
    """Return the strip between two lines of a plane, with a thickness: four corners at each point along it."""
    count = len(rim)
    flat = np.concatenate([base, rim, base, rim])
    lift = np.repeat([-thick / 2, thick / 2], 2 * count)
    points = np.column_stack([flat, lift]) @ turn.T + at
    faces: list[tuple[int, int, int]] = []
    low, high, under, over = 0, count, 2 * count, 3 * count  # base and rim below, base and rim above

    def quad(a: int, b: int, c: int, d: int) -> None:
        faces.extend([(a, b, c), (a, c, d)])

    for k in range(count if closed else count - 1):
        j = (k + 1) % count
        quad(under + k, over + k, over + j, under + j)
        quad(low + j, high + j, high + k, low + k)
        quad(high + k, high + j, over + j, over + k)
        quad(low + j, low + k, under + k, under + j)
    if not closed:
        quad(low, high, over, under)
        last = count - 1
        quad(high + last, low + last, under + last, over + last)
    # faces are oriented outward: the rim runs to the left of the direction from base to rim
    along, out = np.diff(rim, axis=0), (rim - base)[:-1]
    inverted = float(np.sum(along[:, 0] * out[:, 1] - along[:, 1] * out[:, 0])) > 0
    corners = np.array(faces)[:, ::-1] if inverted else np.array(faces)
    return SceneShape("mesh", (1.0, 1.0, 1.0), color, "body", points=points, faces=corners)
