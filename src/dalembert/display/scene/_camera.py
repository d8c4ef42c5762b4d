"""Camera: everything is in view, planar models from the front, gravity downwards."""

from __future__ import annotations

import numpy as np

from dalembert.display.scene._layout import FramePose, Layout
from dalembert.display.scene.scene_values import PosesByBody, View
from dalembert.model.values import WORLD

ANGLE = np.radians(32.0)  # vertical field of view
_FILL = 0.9  # filled fraction of the image
_FOLLOW_DISTANCE = 5.0  # travel in lengths of the mechanism above which the camera follows
_STRAIGHT = 1e-9


def fitted(
    clouds: dict[str, np.ndarray], poses: PosesByBody, gravity: np.ndarray, normal: np.ndarray | None, unit: float
) -> View:
    """Return the view of points (3, k, samples) of every body; `poses` are the poses of the bodies at the samples."""
    all_points = np.concatenate(list(clouds.values()), axis=1)
    bodies = [name for name in clouds if name != WORLD]
    moving = np.concatenate([clouds[name] for name in bodies], axis=1)
    apart = moving - moving.mean(axis=1, keepdims=True)
    spread = max(2 * float(np.linalg.norm(apart, axis=0).max()), unit)
    travelled = float(np.linalg.norm(np.ptp(moving, axis=(1, 2))))
    follow = bodies[0] if travelled > _FOLLOW_DISTANCE * spread else None
    if follow is not None:
        origin = poses[follow][1][:, None]
        all_points = moving - origin + origin[:, :, :1]
    up = upwards(gravity, normal)
    toward = normal if normal is not None else oblique(up)
    right = np.cross(up, toward)
    axes = np.array([right / np.linalg.norm(right), np.cross(toward, right / np.linalg.norm(right)), toward])
    in_view_axes = axes @ all_points.reshape(3, -1)
    middle = (in_view_axes.min(axis=1) + in_view_axes.max(axis=1)) / 2
    distance = _distance(in_view_axes - middle[:, None], normal is not None, unit)
    if normal is None:  # perspective enlarges near objects, which shifts the center of the image
        for _ in range(3):
            near = distance / np.maximum(distance - in_view_axes[2] + middle[2], 0.02 * distance)
            projected = (in_view_axes[:2] - middle[:2, None]) * near
            middle[:2] += (projected.min(axis=1) + projected.max(axis=1)) / 2
            distance = _distance(in_view_axes - middle[:, None], False, unit)
    target = axes.T @ middle
    size = 2 * distance * float(np.tan(ANGLE / 2))
    return View(up, normal is not None, target + distance * toward, target, size, unit, follow)


def _distance(in_view_axes: np.ndarray, planar: bool, unit: float) -> float:
    """Return the camera distance at which all points (right, up, toward) are in the image."""
    slope = _FILL * np.tan(ANGLE / 2)
    toward = np.zeros(in_view_axes.shape[1]) if planar else in_view_axes[2]
    return max(float((np.abs(in_view_axes[:2]).max(axis=0) / slope + toward).max()), unit / 2 / slope)


def upwards(gravity: np.ndarray, normal: np.ndarray | None) -> np.ndarray:
    """Return the up direction: against gravity; if gravity is normal to the view plane, along y, z or x."""
    up = 0.0 - gravity
    if normal is not None:
        up = up - (up @ normal) * normal
    size = np.linalg.norm(up)
    if size > 1e-6 * max(np.linalg.norm(gravity), 1e-300):
        return up / size + 0.0  # turns -0.0 into 0.0
    if normal is None:
        return np.array([0.0, 0.0, 1.0])
    for axis in np.eye(3)[[1, 2, 0]]:
        up = axis - (axis @ normal) * normal
        if np.linalg.norm(up) > 0.5:
            return up / np.linalg.norm(up)
    return np.array([0.0, 1.0, 0.0])


def oblique(up: np.ndarray) -> np.ndarray:
    """Return the viewing direction from the front, right and above."""
    k = int(np.argmax(np.abs(up)))
    right = np.eye(3)[(k + 1) % 3]
    right = right - (right @ up) * up
    right = right / np.linalg.norm(right)
    front = np.cross(right, up)
    direction = 0.55 * right + front + 0.5 * up
    return direction / np.linalg.norm(direction)


def normal_of(layout: Layout) -> np.ndarray | None:
    """Return the normal of the plane in which all bodies move, in world axes; None if there is none."""
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
    """Return all rotation axes and slide directions of joints in the initial state, and whether every motion has one."""
    turns, slides = list[np.ndarray](), list[np.ndarray]()
    for placed in layout.placed.values():
        parent = layout.poses[placed.body.parent] if placed.body.parent != WORLD else FramePose()
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
    """Return the plane of the slides, for models without rotations; for one slide, a plane that contains gravity."""
    _, sizes, axes = np.linalg.svd(np.array(slides))
    if len(sizes) > 2 and sizes[2] > _STRAIGHT:
        return None
    if len(sizes) > 1 and sizes[1] > _STRAIGHT:
        return _forward(np.cross(axes[0], axes[1]))
    direction = axes[0]
    gravity = layout.vector(layout.model.gravity)
    across = np.cross(direction, gravity)
    if np.linalg.norm(across) < _STRAIGHT:
        across = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
    return _forward(across / np.linalg.norm(across))


def _forward(n: np.ndarray) -> np.ndarray:
    """Return the one of ±n that points toward the viewer: +z or +x, but −y, so that x is to the right."""
    k = int(np.argmax(np.abs(n)))
    toward = -1.0 if k == 1 else 1.0
    return n * np.sign(n[k]) * toward + 0.0
