"""Where links are in the world, and what follows from it: Jacobians of points, and the momentum about the mass centre.

Both give six rows, linear above angular, in axes of the world, for unit speeds.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import Array, identity, scaled, vector, zeros
from dalembert.errors import InputError, nearest
from dalembert.recursive.links import Moving, whole
from dalembert.recursive.mass import composites
from dalembert.spatial import skew

Place = tuple[Array, Array]  # R_WM and p_WM


def link_places(moving: Moving) -> list[Place]:
    """The place of every link in the world."""
    out: list[Place] = []
    for link in moving.links:
        R, p = (identity(3), zeros(3)) if link.parent < 0 else out[link.parent]
        out.append((R @ link.way.R, p + R @ link.way.p))
    return out


def point_jacobian(moving: Moving, body: str, point: Array) -> Array:
    """The velocity of a point, given in axes of its body, and the angular velocity of the body, for unit speeds."""
    index = link_of(moving, body)
    known = link_places(moving)
    R, p = known[index]
    at = p + R @ point
    out = zeros(6, moving.tree.n_speeds)
    while index >= 0:
        link, (R, p) = moving.links[index], known[index]
        if link.speeds:
            turn, slide = R @ link.N[:3], R @ link.N[3:]
            columns = list(link.speeds)
            out[:3, columns] += slide - skew(at - p) @ turn
            out[3:, columns] += turn
        index = link.parent
    return out


def link_of(moving: Moving, body: str) -> int:
    """The link of a body."""
    for index, link in enumerate(moving.tree.links):
        if link.body is not None and link.body.name == body:
            return index
    names = [link.body.name for link in moving.tree.links if link.body is not None]
    raise InputError(f"model '{moving.tree.model.name}': there is no body '{body}'. {nearest(body, names)}")


def momentum_matrix(moving: Moving) -> Array:
    """Momentum, and angular momentum about the mass centre of all bodies, for unit speeds."""
    known = link_places(moving)
    center = _center(moving, known)
    out = zeros(6, moving.tree.n_speeds)
    for link, body, (R, p) in zip(moving.links, composites(moving), known, strict=True):
        if link.speeds:
            push = whole(body) @ link.N  # of the link with all that hangs on it, about O
            linear = R @ push[3:]
            columns = list(link.speeds)
            out[:3, columns] += linear
            out[3:, columns] += R @ push[:3] + skew(p - center) @ linear
    return out


def _center(moving: Moving, known: list[Place]) -> Array:
    """The mass centre of all bodies."""
    bodies = [link.fixture.body for link in moving.links]
    mass, moment = sum(body.m for body in bodies), zeros(3)
    for body, (R, p) in zip(bodies, known, strict=True):
        moment = moment + scaled(body.m, p) + R @ vector(body.h)
    return np.array([x / mass for x in moment], dtype=object)
