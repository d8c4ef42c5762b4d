"""Motions of a body in space, along straight lines and circles, as motions of the coordinates by inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dalembert.analysis.inverse_kinematics import inverse_kinematics
from dalembert.analysis.task_kinematics import Given, Target, places_of, read_targets
from dalembert.api.load import accepts_source
from dalembert.arguments import numbers_given
from dalembert.errors import InputError, nearest
from dalembert.model.description import Elements
from dalembert.model.initial_state import Start, start_state
from dalembert.model.profiles import Profile, cycloidal, quintic, spline, trapezoidal
from dalembert.model.scales import scales_of

Timing = Literal["cycloidal", "quintic", "trapezoidal"]
TIMINGS: dict[str, Callable[[float, float, float], Profile]] = {
    "cycloidal": cycloidal,
    "quintic": quintic,
    "trapezoidal": trapezoidal,
}
Course = Callable[[float], Target]  # from the share of the way, 0 to 1
ACCURACY = 1e-6  # of the length of the model: how far the point may leave its way between two postures
_FIRST, _MOST = 33, 4097
_LEAP = 0.7  # of a coordinate between two postures, in its scale: it is on another branch


@accepts_source
def straight_line(
    model: Elements,
    body: str,
    end: Given,
    duration: float,
    *,
    start: Given | None = None,
    point: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    timing: Timing = "cycloidal",
    q0: Start = None,
    accuracy: float = ACCURACY,
    **options: Any,
) -> Profile:
    """The motion of all coordinates in which a point of a body goes along a straight line, from rest to rest.

    `start` and `end` are targets as for `inverse_kinematics`; without `start`, the body begins where it is at `q0`, with as much
    of its pose as `end` asks for. Orientations turn about one axis. `timing` says how the way is covered: cycloidal, quintic or
    trapezoidal. Postures are as many as needed so that the point stays within `accuracy` of the line, by the length of the model.
    Options are those of `inverse_kinematics`.

    >>> import dalembert as dl
    >>> way = dl.straight_line("puma560", "flange", (0.5, 0.2, 0.6), 2.0, start=(0.5, -0.2, 0.6))
    >>> dl.position("puma560", way.position(1.0), "flange").round(5).tolist()
    [0.5, 0.0, 0.6]
    """
    from scipy.spatial.transform import Rotation

    (to,) = read_targets(model, body, end, point)
    q = start_state(model, q0, None, "straight_line")[0]
    begin = start if start is not None else _current_target(model, body, to.point, to.kinds, q, options.get("t", 0.0))
    (from_,) = read_targets(model, body, begin, to.point)
    if not (to.single and from_.single) or to.kinds != from_.kinds:
        raise InputError(
            "straight_line: start and end ask for different things. Expected one position, one orientation, or both in each."
        )
    axis = None
    if to.rotation is not None and from_.rotation is not None:
        axis = Rotation.from_matrix(from_.rotation[0].T @ to.rotation[0]).as_rotvec()

    def course(share: float) -> Target:
        position = None
        if to.position is not None and from_.position is not None:
            position = from_.position[0] + share * (to.position[0] - from_.position[0])
        turn = None if axis is None or from_.rotation is None else from_.rotation[0] @ _rotation_by(share * axis)
        return Target(position, turn, to.point)

    return _Path("straight_line", model, body, course, duration, timing, options).profile(q, accuracy)


@accepts_source
def circle(
    model: Elements,
    body: str,
    center: npt.ArrayLike,
    axis: npt.ArrayLike,
    duration: float,
    *,
    angle: float = 2 * np.pi,
    start: npt.ArrayLike | None = None,
    orientation: npt.ArrayLike | None = None,
    point: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    timing: Timing = "cycloidal",
    q0: Start = None,
    accuracy: float = ACCURACY,
    **options: Any,
) -> Profile:
    """The motion of all coordinates in which a point of a body goes round a circle about `center` and `axis`, from rest to rest.

    The circle begins at the position `start`, by default where the point is at `q0`, and goes on by `angle` radians. With an
    `orientation`, the body keeps it. All else is as in `straight_line`.

    >>> import dalembert as dl
    >>> way = dl.circle("puma560", "flange", (0.4, 0.0, 0.6), (0, 0, 1), 2.0, start=(0.5, 0.0, 0.6))
    >>> bool(np.allclose(dl.position("puma560", way.position(1.0), "flange"), [0.3, 0.0, 0.6], atol=1e-5))
    True
    """
    about, middle = numbers_given(axis, "circle, axis"), numbers_given(center, "circle, center")
    if about.shape != (3,) or middle.shape != (3,) or not about.any():
        raise InputError("circle: expected `center` and `axis` as three numbers each, the axis not zero.")
    q = start_state(model, q0, None, "circle")[0]
    if start is None:
        start = _current_target(model, body, tuple(point), (True, False), q, options.get("t", 0.0)).position
    begin = numbers_given(start, "circle, start")
    if begin.shape != (3,):
        raise InputError(f"circle, start: got shape {begin.shape}. Expected three numbers.")
    arm = begin - middle
    unit = about / np.linalg.norm(about)
    if np.linalg.norm(np.cross(unit, arm)) < 1e-12 * max(float(np.linalg.norm(arm)), 1e-300):
        raise InputError("circle: it begins on its own axis. Expected a point beside the axis.")
    middle = middle + unit * (unit @ arm)  # in the plane of the point
    arm = arm - unit * (unit @ arm)

    def course(share: float) -> Target:
        return Target(middle + _rotation_by(share * angle * unit) @ arm, orientation, point)

    return _Path("circle", model, body, course, duration, timing, options).profile(q, accuracy)


def _current_target(
    model: Elements, body: str, point: Sequence[float] | np.ndarray, kinds: tuple[bool, bool], q: np.ndarray, t: float
) -> Target:
    """The target that the body fulfils at q."""
    read_targets(model, body, (0, 0, 0), point)  # the body is known
    seen = places_of(model.description, ((body, (point[0], point[1], point[2]), True, True),), None).look(q[:, None], t)
    p, R = seen.positions[0], seen.rotations[0]
    assert p is not None
    assert R is not None
    return Target(p[0] if kinds[0] else None, R[0] if kinds[1] else None)


@dataclass(frozen=True)
class _Path:
    """A course of a body in space, and how it is followed."""

    where: str
    model: Elements
    body: str
    course: Course
    duration: float
    timing: str
    options: Mapping[str, Any]

    def profile(self, q: np.ndarray, accuracy: float) -> Profile:
        """A spline through the postures along the course, with so many of them that it stays near to the course between."""
        if self.timing not in TIMINGS:
            raise InputError(f"{self.where}, timing: there is no '{self.timing}'. {nearest(str(self.timing), TIMINGS)}")
        law = TIMINGS[self.timing](0.0, 1.0, self.duration)
        length, count, off = scales_of(self.model).length, _FIRST, np.inf
        while count <= _MOST:
            times = np.linspace(0.0, self.duration, count)
            postures = self._postures(times, law, q)
            found = spline(times, postures, rates=(0.0, 0.0), names=self.model.coordinate_names)
            middle = (times[1:] + times[:-1]) / 2
            between = self._postures(middle, law, postures[:, 0], found.position(middle))
            off = float(np.abs(found.position(middle) - between).max()) * length
            if off <= accuracy * length:
                return replace(found, accuracy=off)
            count = 2 * count - 1
        raise InputError(
            f"{self.where}: with {_MOST} postures the way is still {off:.3g} off between them. It may pass near to a singular "
            "posture; take another `q0`, or a larger `accuracy`."
        )

    def _postures(self, times: np.ndarray, law: Profile, q: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
        """The coordinates (n, K) along the course, each posture near to the one before, or to what is known to be near."""
        out, unit = [], scales_of(self.model).positions
        for k, (t, share) in enumerate(zip(times.tolist(), law.position(times).tolist(), strict=True)):
            begin = q if near is None else near[:, k]
            first = near is None and k == 0
            options = {"q0": begin, **self.options, **({} if first else {"starts": 1})}
            found = inverse_kinematics(self.model, self.body, self.course(share), **options)
            if not found.converged:
                place = "at its start" if first else f"at t = {t:.6g}, {share:.1%} of the way"
                raise InputError(f"{self.where}: the way cannot be followed {place}: {found.message}")
            leap = np.abs((found.q - begin) / unit)
            if not first and leap.max() > _LEAP:
                name = self.model.coordinate_names[int(np.argmax(leap))]
                raise InputError(
                    f"{self.where}: at t = {t:.6g} the coordinate {name} leaps by {leap.max():.3g}: the way leads through a "
                    "singular posture. Take another branch by `q0`, or a way around it."
                )
            q = found.q
            out.append(q)
        return np.array(out).T


def _rotation_by(vector: np.ndarray) -> np.ndarray:
    """The rotation by a rotation vector, by Rodrigues' formula."""
    angle = float(np.linalg.norm(vector))
    if not angle:
        return np.eye(3)
    x, y, z = vector / angle
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)
