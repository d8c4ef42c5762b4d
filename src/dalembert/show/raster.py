"""Triangles to pixels: what lies in front is seen, exactly, whatever cuts through whatever.

Every triangle is laid over the pixels inside its bounding box, all triangles at once; of the pixels that are hit more than once
the nearest stays. Pixels are finer than those of the picture, so that edges become smooth.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    near = np.full(w * h, -np.inf)
    paint = np.zeros((w * h, 4))
    for part in parts:
        for corners, colors in _portions(part, w, h):
            _lay(corners, colors, w, h, near, paint)
    fine = paint.reshape(height, FINE, width, FINE, 4)
    # colours count as much as they cover
    cover = fine[..., 3:].mean(axis=(1, 3))
    mixed = (fine[..., :3] * fine[..., 3:]).mean(axis=(1, 3)) / np.maximum(cover, 1e-12)
    return np.clip(np.concatenate([mixed, cover], axis=-1)[::-1], 0.0, 1.0)


def _portions(part: Lit, w: int, h: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The triangles that reach into the picture, in portions of bounded work."""
    flat = part.corners[:, :, :2]
    low, high = flat.min(axis=1), flat.max(axis=1)
    inside = np.all(np.isfinite(flat), axis=(1, 2)) & np.all((high > 0) & (low < (w, h)), axis=1)
    corners, colors = part.corners[inside], part.colors[inside]
    size = np.prod(np.minimum(high[inside], (w, h)) - np.maximum(low[inside], 0) + 2, axis=1)
    cuts = np.flatnonzero(np.diff(np.cumsum(size) // _MOST)) + 1
    return list(zip(np.split(corners, cuts), np.split(colors, cuts), strict=True))


def _lay(corners: np.ndarray, colors: np.ndarray, w: int, h: int, near: np.ndarray, paint: np.ndarray) -> None:
    """Lay triangles over the pixels that are not hidden."""
    if not len(corners):
        return
    low = np.clip(np.floor(corners[:, :, :2].min(axis=1)), 0, (w - 1, h - 1)).astype(int)
    high = np.clip(np.floor(corners[:, :, :2].max(axis=1)), 0, (w - 1, h - 1)).astype(int)
    span = high - low + 1
    count = span[:, 0] * span[:, 1]
    which = np.repeat(np.arange(len(corners)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    x, y = low[which, 0] + within % span[which, 0], low[which, 1] + within // span[which, 0]
    weights, hit = _weights(corners, which, x + 0.5, y + 0.5)
    which, place, weights = which[hit], (y * w + x)[hit], weights[hit]
    depth = np.einsum("ij,ij->i", weights, corners[which, :, 2])
    order = np.argsort(depth, kind="stable")
    order = order[depth[order] > near[place[order]]]
    # of several assignments to one place the last stays: the nearest
    near[place[order]] = depth[order]
    paint[place[order]] = np.einsum("ij,ijc->ic", weights[order], colors[which[order]])


def _weights(corners: np.ndarray, which: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much each corner counts at the points, and which of them lie inside their triangle."""
    a, b, c = (corners[:, k, :2] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    inverse = np.where(np.abs(area) > 1e-12, 1 / np.where(np.abs(area) > 1e-12, area, 1.0), np.nan)
    dx, dy = x - a[which, 0], y - a[which, 1]
    ab, ac = (b - a)[which], (c - a)[which]
    second = (dx * ac[:, 1] - dy * ac[:, 0]) * inverse[which]
    third = (dy * ab[:, 0] - dx * ab[:, 1]) * inverse[which]
    weights = np.stack([1 - second - third, second, third], axis=1)
    with np.errstate(invalid="ignore"):
        return weights, np.all(weights >= -1e-9, axis=1)
