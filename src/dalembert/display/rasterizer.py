"""Triangles to pixels: what lies in front is seen, exactly, whatever cuts through whatever.

Every triangle is laid over its pixels row by row, all triangles at once; of what hits a pixel the nearest
stays. Pixels are finer than those of the picture, so that edges become smooth.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

FINE = 2  # fine pixels along each side of a pixel
_MOST = 4_000_000  # fine pixels looked at in one go


@dataclass(frozen=True)
class Lit:
    """Triangles as seen: corners (k, 3, 3) as across, upwards in fine pixels, and nearness; colours (k, 3, 4) in the corners."""

    corners: np.ndarray
    colors: np.ndarray


def picture(parts: list[Lit], width: int, height: int) -> np.ndarray:
    """The picture (height, width, 4) with values from 0 to 1, its first row on top; clear where nothing is hit."""
    w, h = FINE * width, FINE * height
    near, paint = np.full(w * h, -np.inf), np.zeros((w * h, 4), dtype=np.float32)
    for corners, colors in _portions(parts, w, h):
        _lay(corners, colors, (w, h), near, paint)
    # colours count as much as they cover
    paint[:, :3] *= paint[:, 3:]
    fine = paint.reshape(height, FINE, width, FINE, 4)
    out = np.zeros((height, width, 4), dtype=np.float32)
    for i, j in product(range(FINE), repeat=2):
        out += fine[:, i, :, j] / FINE**2
    out[..., :3] /= np.maximum(out[..., 3:], 1e-6)
    return np.clip(out[::-1], 0.0, 1.0)


def _portions(parts: list[Lit], w: int, h: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The triangles that reach into the picture, in portions of bounded work."""
    corners = np.concatenate([part.corners for part in parts])
    colors = np.concatenate([part.colors for part in parts])
    flat = corners[:, :, :2]
    low, high = flat.min(axis=1), flat.max(axis=1)
    inside = np.all(np.isfinite(flat), axis=(1, 2)) & np.all((high > 0) & (low < (w, h)), axis=1)
    corners, colors = corners[inside], colors[inside]
    size = np.prod(np.minimum(high[inside], (w, h)) - np.maximum(low[inside], 0) + 2, axis=1)
    cuts = np.flatnonzero(np.diff(np.cumsum(size) // _MOST)) + 1
    return list(zip(np.split(corners, cuts), np.split(colors, cuts), strict=True))


def _lay(corners: np.ndarray, colors: np.ndarray, size: tuple[int, int], near: np.ndarray, paint: np.ndarray) -> None:
    """Lay triangles over the pixels that are not hidden."""
    which, x, y = _pixels(corners, *size)
    a, ab, ac = corners[:, 0, :2], corners[:, 1, :2] - corners[:, 0, :2], corners[:, 2, :2] - corners[:, 0, :2]
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    inverse = 1 / np.where(np.abs(area) > 1e-9, area, np.inf)
    # how much the second and the third corner count: linear over the picture
    dx, dy = x + 0.5 - a[which, 0], y + 0.5 - a[which, 1]
    second = (dx * ac[which, 1] - dy * ac[which, 0]) * inverse[which]
    third = (dy * ab[which, 0] - dx * ab[which, 1]) * inverse[which]
    z = corners[:, :, 2]
    depth = z[which, 0] + second * (z[:, 1] - z[:, 0])[which] + third * (z[:, 2] - z[:, 0])[which]
    place = y * size[0] + x
    order = np.flatnonzero(depth > near[place])
    order = order[np.argsort(depth[order], kind="stable")]
    which, place, second, third = which[order], place[order], second[order, None], third[order, None]
    # of several assignments to one place the last stays: the nearest
    near[place] = depth[order]
    first = colors[:, 0]
    paint[place] = first[which] + second * (colors[:, 1] - first)[which] + third * (colors[:, 2] - first)[which]


def _pixels(corners: np.ndarray, w: int, h: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels inside the triangles, row by row: number of the triangle, x and y."""
    up = corners[:, :, 1]
    low = np.clip(np.ceil(up.min(axis=1) - 0.5), 0, h).astype(int)
    high = np.clip(np.floor(up.max(axis=1) - 0.5), -1, h - 1).astype(int)
    which, y = _ranges(low, high)
    left, right = np.full(len(which), np.inf), np.full(len(which), -np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        a, b = corners[which, i], corners[which, j]
        rise = b[:, 1] - a[:, 1]
        share = (y + 0.5 - a[:, 1]) / np.where(rise, rise, np.inf)
        meets = (share >= 0) & (share <= 1) & (rise != 0)
        at = a[:, 0] + share * (b[:, 0] - a[:, 0])
        left, right = np.where(meets, np.minimum(left, at), left), np.where(meets, np.maximum(right, at), right)
    start = np.ceil(np.clip(left, -1, w + 1) - 0.5).clip(0, w).astype(int)
    end = np.floor(np.clip(right, -1, w + 1) - 0.5).clip(-1, w - 1).astype(int)
    row, x = _ranges(start, end)
    return which[row], x, y[row]


def _ranges(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All whole numbers from low to high of every range, each with the number of its range.

    >>> [x.tolist() for x in _ranges(np.array([3, 0]), np.array([4, 0]))]
    [[0, 0, 1], [3, 4, 0]]
    """
    count = np.maximum(high - low + 1, 0)
    which = np.repeat(np.arange(len(low)), count)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + low[which]
