"""Whether a model moves in one plane: read off its joints, not off samples.

All turns must go about one direction n and all slides across it. Since n is fixed in every body as soon as all joints before it
turn about n alone, its components follow from the constant rotations between joints.
"""

from __future__ import annotations

import numpy as np

from dalembert.display.scene.layout import Layout, Pose
from dalembert.model.values import WORLD

_STRAIGHT = 1e-9


def normal_of(layout: Layout) -> np.ndarray | None:
    """The direction across the plane that all bodies move in, in world axes; None where there is no such plane."""
    turns, slides, constant = _directions(layout)
    if not constant:
        return None
    for turn in turns[:1]:
        across = all(abs(turn @ slide) < _STRAIGHT for slide in slides)
        alike = all(np.linalg.norm(np.cross(turn, other)) < _STRAIGHT for other in turns)
        return _forward(turn) if across and alike else None
    if not slides:
        return None
    return _normal_of_slides(layout, slides)


def _directions(layout: Layout) -> tuple[list[np.ndarray], list[np.ndarray], bool]:
    """All axes and ways of joints in the world at the start, and whether every motion has one."""
    turns, slides = list[np.ndarray](), list[np.ndarray]()
    for placed in layout.placed.values():
        parent = layout.poses[placed.body.parent] if placed.body.parent != WORLD else Pose()
        for motion in placed.motions:
            R = parent.R @ motion.before.R
            if motion.about is None and motion.along is None:
                return [], [], False
            if motion.about is not None:
                turns.append(R @ motion.about)
            if motion.along is not None:
                slides.append(R @ motion.along)
                if motion.about is not None:  # a screw
                    return [], [], False
    return turns, slides, True


def _normal_of_slides(layout: Layout, slides: list[np.ndarray]) -> np.ndarray | None:
    """Without turns: the plane of the slides; one slide alone is seen with gravity upright."""
    _, sizes, axes = np.linalg.svd(np.array(slides))
    if len(sizes) > 2 and sizes[2] > _STRAIGHT:
        return None
    if len(sizes) > 1 and sizes[1] > _STRAIGHT:
        return _forward(np.cross(axes[0], axes[1]))
    way = axes[0]
    gravity = layout.vector(layout.model.gravity)
    across = np.cross(way, gravity)
    if np.linalg.norm(across) < _STRAIGHT:
        across = np.cross(way, np.eye(3)[int(np.argmin(np.abs(way)))])
    return _forward(across / np.linalg.norm(across))


def _forward(n: np.ndarray) -> np.ndarray:
    """The one of ±n that points to where the reader stands: +z or +x, but −y, so that x is to the right."""
    k = int(np.argmax(np.abs(n)))
    toward = -1.0 if k == 1 else 1.0
    return n * np.sign(n[k]) * toward + 0.0
