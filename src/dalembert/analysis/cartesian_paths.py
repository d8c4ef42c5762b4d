"""Cartesian paths of a body along straight lines and circles, as coordinate trajectories by inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dalembert.analysis.inverse_kinematics import inverse_kinematics
from dalembert.analysis.task_kinematics import Target, TargetLike, read_targets, task_kinematics_of
from dalembert.api.load import accepts_source
from dalembert.arguments import as_finite_array
from dalembert.errors import InputError, suggest_name
from dalembert.model.description import Elements
from dalembert.model.evaluation import Start, start_state
from dalembert.model.profiles import Profile, cycloidal, quintic, spline, trapezoidal
from dalembert.model.scales import scales_of

Timing = Literal["cycloidal", "quintic", "trapezoidal"]
TIMINGS: dict[str, Callable[[float, float, float], Profile]] = {
    "cycloidal": cycloidal,
    "quintic": quintic,
    "trapezoidal": trapezoidal,
}
Course = Callable[[float], Target]  # of the path fraction, 0 to 1
ACCURACY = 1e-6  # relative to the length of the model: deviation from the path between two waypoints
_MIN_POINTS, _MAX_POINTS = 33, 4097
_MAX_JUMP = 0.7  # of a coordinate between two waypoints, in its scale: above it the branch has changed


@accepts_source
def straight_line(
    model: Elements,
    body: str,
    end: TargetLike,
    duration: float,
    *,
    start: TargetLike | None = None,
    point: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    timing: Timing = "cycloidal",
    q0: Start = None,
    accuracy: float = ACCURACY,
    **options: Any,
) -> Profile:
    """The coordinate trajectory that moves a point of a body along a straight line, from rest to rest.

    Orientations rotate about a fixed axis. The number of waypoints grows until the path is accurate.

    Parameters
    ----------
    end : array_like, Pose or Target
        The last position, orientation or pose, as for `inverse_kinematics`.
    duration : float
        Duration of the motion.
    start : array_like, Pose or Target, optional
        The first one; that at `q0` if None, restricted to what `end` prescribes.
    timing : {'cycloidal', 'quintic', 'trapezoidal'}
        The time law along the path.
    accuracy : float, optional
        Largest deviation from the line, relative to the length of the model.
    **options
        Options of `inverse_kinematics`.

    Returns
    -------
    Profile
        The coordinates as functions of time.

    Raises
    ------
    InputError
        If `start` and `end` prescribe different quantities, or a position cannot be reached.

    See Also
    --------
    circle : The same on a circle.

    Examples
    --------
    >>> import dalembert as dl
    >>> path = dl.straight_line("puma560", "flange", (0.5, 0.2, 0.6), 2.0, start=(0.5, -0.2, 0.6))
    >>> dl.position("puma560", path.position(1.0), "flange").round(5).tolist()
    [0.5, 0.0, 0.6]
    """
    from scipy.spatial.transform import Rotation

    (to,) = read_targets(model, body, end, point)
    q = start_state(model, q0, None, "straight_line")[0]
    begin = start if start is not None else _current_target(model, body, to.point, to.kinds, q, options.get("t", 0.0))
    (from_,) = read_targets(model, body, begin, to.point)
    if not (to.single and from_.single) or to.kinds != from_.kinds:
        raise InputError(
            "straight_line: `start` and `end` prescribe different quantities. Expected one position, one orientation, or both."
        )
    axis = None
    if to.rotation is not None and from_.rotation is not None:
        axis = Rotation.from_matrix(from_.rotation[0].T @ to.rotation[0]).as_rotvec()

    def course(fraction: float) -> Target:
        position = None
        if to.position is not None and from_.position is not None:
            position = from_.position[0] + fraction * (to.position[0] - from_.position[0])
        rotation = None if axis is None or from_.rotation is None else from_.rotation[0] @ _rotation_by(fraction * axis)
        return Target(position, rotation, to.point)

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
    """The coordinate trajectory that moves a point of a body on a circle about `center` and `axis`, from rest to rest.

    Parameters
    ----------
    center : array_like, shape (3,)
        A point on the axis of the circle, in world axes.
    axis : array_like, shape (3,)
        The direction of the axis, in world axes, of any nonzero length.
    duration : float
        Duration of the motion.
    angle : float, default 2π
        The angle that the path subtends, in radians.
    start : array_like, shape (3,), optional
        The first position, in world axes; that of the point at `q0` if None.
    orientation : array_like, optional
        Constant orientation: a quaternion (w, x, y, z) or a rotation (3, 3). Not prescribed if None.
    timing : {'cycloidal', 'quintic', 'trapezoidal'}
        The time law along the path.
    accuracy : float, optional
        Largest deviation from the circle, relative to the length of the model.
    **options
        Options of `inverse_kinematics`.

    Returns
    -------
    Profile
        The coordinates as functions of time.

    Raises
    ------
    InputError
        If the radius is zero, an array has a wrong shape, or a position cannot be reached.

    See Also
    --------
    straight_line : The same along a line.

    Examples
    --------
    >>> import dalembert as dl
    >>> path = dl.circle("puma560", "flange", (0.4, 0.0, 0.6), (0, 0, 1), 2.0, start=(0.5, 0.0, 0.6))
    >>> bool(np.allclose(dl.position("puma560", path.position(1.0), "flange"), [0.3, 0.0, 0.6], atol=1e-5))
    True
    """
    about, middle = as_finite_array(axis, "circle, axis"), as_finite_array(center, "circle, center")
    if about.shape != (3,) or middle.shape != (3,) or not about.any():
        raise InputError("circle: expected `center` and `axis` as three numbers each, with a nonzero axis.")
    q = start_state(model, q0, None, "circle")[0]
    if start is None:
        start = _current_target(model, body, tuple(point), (True, False), q, options.get("t", 0.0)).position
    begin = as_finite_array(start, "circle, start")
    if begin.shape != (3,):
        raise InputError(f"circle, start: got shape {begin.shape}. Expected three numbers.")
    arm = begin - middle
    unit = about / np.linalg.norm(about)
    if np.linalg.norm(np.cross(unit, arm)) < 1e-12 * max(float(np.linalg.norm(arm)), 1e-300):
        raise InputError("circle: the start lies on the axis, so the radius is zero. Expected a point off the axis.")
    middle = middle + unit * (unit @ arm)  # the center in the plane of the start
    arm = arm - unit * (unit @ arm)

    def course(fraction: float) -> Target:
        return Target(middle + _rotation_by(fraction * angle * unit) @ arm, orientation, point)

    return _Path("circle", model, body, course, duration, timing, options).profile(q, accuracy)


def _current_target(
    model: Elements, body: str, point: Sequence[float] | np.ndarray, kinds: tuple[bool, bool], q: np.ndarray, t: float
) -> Target:
    """The target that equals the pose of the body at q."""
    read_targets(model, body, (0, 0, 0), point)  # raises for an unknown body
    pose = task_kinematics_of(model.description, ((body, (point[0], point[1], point[2]), True, True),), None).evaluate(
        q[:, None], t
    )
    p, R = pose.positions[0], pose.rotations[0]
    assert p is not None
    assert R is not None
    return Target(p[0] if kinds[0] else None, R[0] if kinds[1] else None)


@dataclass(frozen=True)
class _Path:
    """A path of a body in space, with its time law and the options of inverse kinematics."""

    where: str
    model: Elements
    body: str
    course: Course
    duration: float
    timing: str
    options: Mapping[str, Any]

    def profile(self, q: np.ndarray, accuracy: float) -> Profile:
        """A spline through configurations along the path, refined until the deviation between them is below `accuracy`."""
        if self.timing not in TIMINGS:
            raise InputError(
                f"{self.where}, timing: there is no '{self.timing}'. {suggest_name(str(self.timing), TIMINGS)}"
            )
        law = TIMINGS[self.timing](0.0, 1.0, self.duration)
        length, count, deviation = scales_of(self.model).length, _MIN_POINTS, np.inf
        while count <= _MAX_POINTS:
            times = np.linspace(0.0, self.duration, count)
            waypoints = self._postures(times, law, q)
            found = spline(times, waypoints, rates=(0.0, 0.0), names=self.model.coordinate_names)
            middle = (times[1:] + times[:-1]) / 2
            between = self._postures(middle, law, waypoints[:, 0], found.position(middle))
            deviation = float(np.abs(found.position(middle) - between).max()) * length
            if deviation <= accuracy * length:
                return replace(found, accuracy=deviation)
            count = 2 * count - 1
        raise InputError(
            f"{self.where}: with {_MAX_POINTS} waypoints the path deviates by {deviation:.3g} between them. It may pass near "
            "a singular configuration. Use another `q0`, or a larger `accuracy`."
        )

    def _postures(self, times: np.ndarray, law: Profile, q: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
        """The coordinates (n, K) along the path, each found from the previous ones or from those in `near`."""
        out, unit = [], scales_of(self.model).positions
        for k, (t, fraction) in enumerate(zip(times.tolist(), law.position(times).tolist(), strict=True)):
            begin = q if near is None else near[:, k]
            first = near is None and k == 0
            options = {"q0": begin, **self.options, **({} if first else {"starts": 1})}
            found = inverse_kinematics(self.model, self.body, self.course(fraction), **options)
            if not found.converged:
                where = "at its start" if first else f"at t = {t:.6g}, {fraction:.1%} of the path"
                raise InputError(f"{self.where}: the path cannot be followed {where}: {found.message}")
            jump = np.abs((found.q - begin) / unit)
            if not first and jump.max() > _MAX_JUMP:
                name = self.model.coordinate_names[int(np.argmax(jump))]
                raise InputError(
                    f"{self.where}: at t = {t:.6g} the coordinate {name} jumps by {jump.max():.3g}: the path crosses a singular "
                    "configuration. Choose another branch with `q0`, or change the path."
                )
            q = found.q
            out.append(q)
        return np.array(out).T


def _rotation_by(vector: np.ndarray) -> np.ndarray:
    """The rotation matrix of a rotation vector, by Rodrigues' formula."""
    angle = float(np.linalg.norm(vector))
    if not angle:
        return np.eye(3)
    x, y, z = vector / angle
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)
