"""What holds a particle by a formula: the surface it slides on, or the string that keeps its distance.

Both are read off the formula. φ is a distance where its second derivatives are those of a sphere; it is a surface where it is
linear in the coordinate that points upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import symengine as se

from dalembert.display.scene import colors
from dalembert.display.scene.layout import Layout, Placed
from dalembert.display.scene.scene_programs import Places, moved
from dalembert.display.scene.scene_values import Cord, Shape
from dalembert.model.constraints.holonomic import Holonomic
from dalembert.model.values import WORLD
from dalembert.symbolic.floats import FLOATS
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME, Formula, coordinate

_CELLS = 28  # of a surface, along each side
_HELD = 1e-6  # in lengths: what moves less stays


@dataclass(frozen=True)
class Particle:
    """A body that slides along three axes of the world, and by which coordinates."""

    placed: Placed
    names: tuple[str, str, str]


def particles(layout: Layout) -> list[Particle]:
    """The bodies whose place are three coordinates."""
    out = []
    for placed in layout.placed.values():
        ways = np.array([m.before.R @ m.along for m in placed.motions if m.along is not None]).reshape(-1, 3)
        symbols = [motion.formula for motion in placed.motions]
        free = len(ways) == len(symbols) == 3 and all(isinstance(x, se.Symbol) for x in symbols)
        if free and placed.body.parent == WORLD and np.array_equal(np.sort(ways, axis=0)[-1], np.ones(3)):
            order = np.argmax(ways, axis=1)
            names = [str(symbols[int(np.flatnonzero(order == axis)[0])]) for axis in range(3)]
            out.append(Particle(placed, (names[0], names[1], names[2])))
    return out


def strings(layout: Layout) -> Iterator[Cord]:
    """A string for every formula that keeps a particle at a distance from a point, or on a line that turns about the origin."""
    yield from _wires(layout)
    for particle in particles(layout):
        for constraint in layout.model.holonomic_constraints:
            middle = _middle(constraint.phi, particle.names)
            if middle is not None:
                ends = layout.vector(middle), particle.placed.center
                yield Cord(constraint.name, "rope", (WORLD, particle.placed.body.name), ends, colors.CORD)


def _wires(layout: Layout) -> Iterator[Cord]:
    """φ = a(t)·x: the particle is on a line through the origin that turns."""
    for name, placed in layout.placed.items():
        q = [motion.formula for motion in placed.motions if isinstance(motion.formula, se.Symbol)]
        if placed.body.parent != WORLD or placed.turns or not len(q) == len(placed.motions) == 2:
            continue
        for constraint in layout.model.holonomic_constraints:
            phi = constraint.phi
            slopes = [se.diff(phi, x) for x in q]
            linear = not set(q) & set().union(*(slope.free_symbols for slope in slopes))
            if TIME in phi.free_symbols and linear and se.expand(phi - slopes[0] * q[0] - slopes[1] * q[1]) == 0:
                yield Cord(constraint.name, "rope", (WORLD, name), (np.zeros(3), placed.center), colors.CORD)


@dataclass(frozen=True)
class Held:
    """Where formulas hold marks of bodies: at a point of the world, or on a line between two."""

    points: tuple[np.ndarray, ...] = ()
    lines: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


def held(layout: Layout, places: Places) -> Held:
    """The declared shapes whose middles stay at a point or on a line along the samples, although no joint keeps them there."""
    points, lines = list[np.ndarray](), list[tuple[np.ndarray, np.ndarray]]()
    for shape in layout.model.shapes:
        placed = layout.placed.get(shape.body)
        if placed is None or (placed.slides and not placed.floats):
            continue
        path = moved(places, shape.body, np.array(shape.position, dtype=float)).T
        _, sizes, axes = np.linalg.svd(path - path[0])
        if len(path) == 1 or (sizes[1] > _HELD * sizes[0] and sizes[0] > _HELD * layout.unit):
            continue
        if sizes[0] <= _HELD * layout.unit:
            points.append(path[0])
        else:
            along = (path - path[0]) @ axes[0]
            lines.append((path[0] + along.min() * axes[0], path[0] + along.max() * axes[0]))
    return Held(tuple(points), tuple(lines))


def _middle(phi: Formula, names: tuple[str, str, str]) -> list[Formula] | None:
    """The point whose distance φ holds, as constants; None where φ holds something else."""
    q = [coordinate(name) for name in names]
    slopes = [se.diff(phi, x) for x in q]
    second = [[se.expand(se.diff(slope, x)) for x in q] for slope in slopes]
    size = second[0][0]
    round_ = all(se.expand(second[i][j] - (size if i == j else 0)) == 0 for i in range(3) for j in range(3))
    if not round_ or size == 0 or TIME in phi.free_symbols or size.free_symbols & set(q):
        return None
    return [se.expand(x - slope / size) for x, slope in zip(q, slopes, strict=True)]


def surfaces(
    layout: Layout,
    constraints: Sequence[Holonomic],
    parameters: dict[str, float],
    up: np.ndarray,
    paths: dict[str, np.ndarray],
) -> Iterator[Shape]:
    """The surface of every formula that is linear in the coordinate upwards, around the path (3, k) of its particle."""
    axis = int(np.argmax(np.abs(up)))
    for particle in particles(layout):
        for constraint in (each for each in constraints if not each.feedback):
            height = _height(constraint.phi, particle.names[axis])
            known = {*parameters, *particle.names} - {particle.names[axis]}
            if height is not None and {str(x) for x in height.free_symbols} <= known:
                path = paths[particle.placed.body.name]
                yield _grid(height, particle, axis, parameters, path)


def _height(phi: Formula, name: str) -> Formula | None:
    """φ = 0 solved for a coordinate, where it is linear in it."""
    x = coordinate(name)
    slope = se.expand(se.diff(phi, x))
    if slope == 0 or x in slope.free_symbols or TIME in phi.free_symbols:
        return None
    found = se.expand(x - phi / slope)
    return None if x in found.free_symbols else found


def _grid(height: Formula, particle: Particle, axis: int, parameters: dict[str, float], path: np.ndarray) -> Shape:
    """The surface as a mesh, somewhat larger than the path."""
    others = [k for k in range(3) if k != axis]
    low, high = path.min(axis=1), path.max(axis=1)
    margin = 0.15 * max(float((high - low)[others].max()), 1e-9)
    sides = [np.linspace(low[k] - margin, high[k] + margin, _CELLS + 1) for k in others]
    a, b = np.meshgrid(*sides, indexing="ij")
    values = dict(parameters) | {particle.names[others[0]]: a.ravel(), particle.names[others[1]]: b.ravel()}
    points = np.zeros((a.size, 3))
    points[:, others[0]], points[:, others[1]] = a.ravel(), b.ravel()
    points[:, axis] = np.zeros(a.size) + Lowering(FLOATS, values)(height)  # pyright: ignore[reportOperatorIssue]
    k = np.arange(a.size).reshape(a.shape)
    first, second, third, fourth = (x.ravel() for x in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    faces = np.concatenate([np.stack([first, second, third], 1), np.stack([first, third, fourth], 1)])
    return Shape("mesh", (1.0, 1.0, 1.0), "#b9c3ce", "ground", points=points, faces=faces, opacity=0.85)
