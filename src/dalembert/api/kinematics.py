"""`Kinematics`: poses, velocities, accelerations and Jacobians as compiled functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import ClassVar, Concatenate

import numpy as np

from dalembert.api.compiled_calls import CompiledModel, Numbers, Out, repeat_for_batch
from dalembert.api.load import P, R, Source, accepts_source
from dalembert.arguments import as_finite_array, documented_class, restricted
from dalembert.codegen.function import choose_engine
from dalembert.errors import InputError, suggest_name
from dalembert.model.description import Elements
from dalembert.model.immutable import Frozen
from dalembert.model.values import WORLD
from dalembert.recursive.traced import Detail
from dalembert.symbolic import rotations as relative
from dalembert.symbolic.rotations import PointMotion, Pose

ORIGIN = (0.0, 0.0, 0.0)


@documented_class
@dataclass(frozen=True, repr=False)
class Kinematics(CompiledModel):
    """Kinematics of the bodies of a model, created by `dl.kinematics`. Immutable; compiled functions are cached by content.

    Every method takes one state (n,) or many (n, batch), and one time or one for each state. A `point` is in axes of its body,
    results are in world axes. Velocities and accelerations are those of the coordinates or, with quaternions, the speeds in
    `speed_names`. With `out` the result is written to an array; `threads` is the number of threads for a batch.

    With `relative_to`, another body, results are relative to that body and in its axes: velocities are rates of the relative
    positions, accelerations rates of these velocities.

    `dl.pose`, `dl.position`, `dl.velocity`, `dl.acceleration`, `dl.jacobian`, `dl.jacobian_rate` and `dl.center_of_mass` are the
    same functions with the model as first argument; use `dl.kinematics(model)` for repeated calls.

    Attributes
    ----------
    changes : mapping of str to float
        Parameter values that differ from those of the model.

    Examples
    --------
    >>> import dalembert as dl
    >>> arm = dl.kinematics("double-pendulum")
    >>> arm.pose([0.1, 0.2], "lower").position.shape
    (3,)
    >>> arm.position(np.zeros((2, 1000)), "lower", (0.0, -0.5, 0.0)).shape
    (3, 1000)
    """

    changes: Frozen[str, float] = Frozen()  # noqa: RUF009 (immutable): changed parameter values

    _result_names: ClassVar[dict[str, str]] = {
        "poses": "the pose",
        "position": "the position",
        "velocity": "the velocity",
        "acceleration": "the acceleration",
        "jacobian": "the Jacobian",
        "jacobian_rate": "the rate of the Jacobian",
        "center_of_mass": "the mass center",
    }

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the bodies."""
        return tuple(body.name for body in self.model.bodies)

    def __repr__(self) -> str:
        return f"Kinematics('{self.model.name}', {len(self.bodies)} bodies, {self.engine})"

    def pose(self, q: Numbers, body: str, t: Numbers = 0.0, *, relative_to: str = WORLD, threads: int = 1) -> Pose:
        """The pose of a body in the world, or relative to another body.

        Parameters
        ----------
        q : array_like, shape (n,) or (n, batch)
            Coordinates.
        body : str
            The name of the body.
        t : float or array_like, shape (batch,), optional
            Time.
        relative_to : str, optional
            The name of the reference body; the world by default.

        Returns
        -------
        Pose
            With attributes for rotation, position, 4×4 matrix and quaternion.

        Examples
        --------
        >>> import dalembert as dl
        >>> pose = dl.pose("puma560", np.zeros(6), "flange")
        >>> pose.rotation.shape, pose.position.shape, pose.of, pose.frame
        ((3, 3), (3,), 'flange', 'world')
        >>> dl.kinematics("simple-pendulum").pose([0.0], "bob")
        <Pose of 'bob' in 'world'>
        """
        if relative_to == WORLD:
            return self.poses(q, t, bodies=(body,), threads=threads)[body]
        found = self.poses(q, t, bodies=tuple(dict.fromkeys((body, relative_to))), threads=threads)
        return relative.relative_pose(found[body], found[relative_to])

    def poses(
        self, q: Numbers, t: Numbers = 0.0, *, bodies: tuple[str, ...] | None = None, threads: int = 1
    ) -> dict[str, Pose]:
        """The poses of several bodies in the world, by name.

        Parameters
        ----------
        bodies : tuple of str, optional
            Names of the bodies; all by default.

        Returns
        -------
        dict of str to Pose
            Poses by name, with attributes for rotation, position, 4×4 matrix and quaternion.

        Examples
        --------
        >>> import dalembert as dl
        >>> list(dl.kinematics("double-pendulum").poses([0.1, 0.2]))
        ['upper', 'lower']
        """
        names = self.bodies if bodies is None else tuple(map(self._require_body, bodies))
        found = self._evaluate("poses", (q,), t, names, None, threads)
        each = found.reshape(len(names), 12, *found.shape[1:])
        return {
            name: Pose(name, WORLD, x[3:].reshape(3, 3, *x.shape[1:]), x[:3])
            for name, x in zip(names, each, strict=True)
        }

    def position(
        self,
        q: Numbers,
        body: str,
        point: Numbers = ORIGIN,
        t: Numbers = 0.0,
        *,
        relative_to: str = WORLD,
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """The position of a point of a body in the world, or relative to another body.

        Parameters
        ----------
        q : array_like, shape (n,) or (n, batch)
            Coordinates.
        body : str
            The name of the body.
        point : array_like, shape (3,), optional
            A point in axes of the body; its origin by default.
        t : float or array_like, shape (batch,), optional
            Time.
        relative_to : str, optional
            The name of the reference body; the world by default.

        Returns
        -------
        ndarray, shape (3,) or (3, batch)
            The position (m).

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.kinematics("simple-pendulum").position([0.0], "bob").shape
        (3,)
        >>> dl.position("double-pendulum", np.zeros((2, 50)), "lower", (0.0, -1.0, 0.0)).shape
        (3, 50)
        """
        found = self._evaluate("position", (q, self._checked_point(point, body, q)), t, (body,), out, threads)
        if relative_to == WORLD:
            return found
        return _write_into(out, relative.relative_position(found, self.pose(q, relative_to, t, threads=threads)))

    def velocity(
        self,
        q: Numbers,
        qd: Numbers,
        body: str,
        point: Numbers = ORIGIN,
        t: Numbers = 0.0,
        *,
        relative_to: str = WORLD,
        threads: int = 1,
    ) -> PointMotion:
        """The velocity of a point and the angular velocity of its body: J q̇ and the terms of rheonomic joints.

        Parameters
        ----------
        q : array_like, shape (n,) or (n, batch)
            Coordinates.
        qd : array_like, shape (n,) or (n, batch)
            Rates of the coordinates, or speeds.
        body : str
            The name of the body.
        point : array_like, shape (3,), optional
            A point in axes of the body; its origin by default.
        t : float or array_like, shape (batch,), optional
            Time.
        relative_to : str, optional
            The name of the reference body; the world by default.

        Returns
        -------
        PointMotion
            `.linear` (m/s) and `.angular` (rad/s), in world axes or in axes of `relative_to`.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.velocity("double-pendulum", [0.0, 0.0], [1.0, 0.5], "upper").angular.round(12)
        array([0., 0., 1.])
        >>> dl.velocity("double-pendulum", [0.0, 0.0], [1.0, 0.5], "lower", relative_to="upper").linear.round(12) + 0.0
        array([0., 0., 0.])
        >>> arm = dl.kinematics("puma560")
        >>> v = arm.velocity(np.zeros(6), np.ones(6), "flange")
        >>> bool(np.allclose(np.concatenate(v), arm.jacobian(np.zeros(6), "flange") @ np.ones(6)))
        True
        """
        v = _point_motion(
            self._evaluate("velocity", (q, qd, self._checked_point(point, body, q)), t, (body,), None, threads)
        )
        if relative_to == WORLD:
            return v
        p, base = self.position(q, body, point, t, threads=threads), self.pose(q, relative_to, t, threads=threads)
        return relative.relative_velocity(p, v, base, self.velocity(q, qd, relative_to, t=t, threads=threads))

    def acceleration(
        self,
        q: Numbers,
        qd: Numbers,
        qdd: Numbers,
        body: str,
        point: Numbers = ORIGIN,
        t: Numbers = 0.0,
        *,
        relative_to: str = WORLD,
        threads: int = 1,
    ) -> PointMotion:
        """The acceleration of a point and the angular acceleration of its body, without gravity.

        It is the rate of `velocity`: J q̈ + J̇ q̇ and the terms of rheonomic joints.

        Parameters
        ----------
        q : array_like, shape (n,) or (n, batch)
            Coordinates.
        qd : array_like, shape (n,) or (n, batch)
            Rates of the coordinates, or speeds.
        qdd : array_like, shape (n,) or (n, batch)
            Accelerations of the coordinates, or rates of the speeds.
        body : str
            The name of the body.
        point : array_like, shape (3,), optional
            A point in axes of the body; its origin by default.
        t : float or array_like, shape (batch,), optional
            Time.
        relative_to : str, optional
            The name of the reference body; the world by default.

        Returns
        -------
        PointMotion
            `.linear` (m/s²) and `.angular` (rad/s²), in world axes or in axes of `relative_to`.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.acceleration("double-pendulum", [0.0, 0.0], [1.0, 0.5], [2.0, 0.0], "upper").angular.round(12)
        array([0., 0., 2.])
        """
        arguments = (q, qd, qdd, self._checked_point(point, body, q))
        a = _point_motion(self._evaluate("acceleration", arguments, t, (body,), None, threads))
        if relative_to == WORLD:
            return a
        p, base = self.position(q, body, point, t, threads=threads), self.pose(q, relative_to, t, threads=threads)
        v = self.velocity(q, qd, body, point, t, threads=threads)
        moved = self.velocity(q, qd, relative_to, t=t, threads=threads)
        driven = self.acceleration(q, qd, qdd, relative_to, t=t, threads=threads)
        return relative.relative_acceleration(p, v, a, base, moved, driven)

    def jacobian(
        self,
        q: Numbers,
        body: str,
        point: Numbers = ORIGIN,
        t: Numbers = 0.0,
        *,
        relative_to: str = WORLD,
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """The Jacobian J of a point, in world axes or relative to another body.

        Parameters
        ----------
        q : array_like, shape (n,) or (n, batch)
            Coordinates.
        body : str
            The name of the body.
        point : array_like, shape (3,), optional
            A point in axes of the body; its origin by default.
        t : float or array_like, shape (batch,), optional
            Time.
        relative_to : str, optional
            The name of the reference body; the world by default.

        Returns
        -------
        ndarray, shape (6, n) or (6, n, batch)
            Rows 0 to 2: velocity of the point; rows 3 to 5: angular velocity. Columns: q̇, or `speed_names` with quaternions.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.jacobian("puma560", np.zeros(6), "flange").shape
        (6, 6)
        """
        J = self._evaluate("jacobian", (q, self._checked_point(point, body, q)), t, (body,), out, threads)
        if relative_to == WORLD:
            return J
        p, base = self.position(q, body, point, t, threads=threads), self.pose(q, relative_to, t, threads=threads)
        return _write_into(
            out, relative.relative_jacobian(p, J, base, self.jacobian(q, relative_to, t=t, threads=threads))
        )

    def jacobian_rate(
        self,
        q: Numbers,
        qd: Numbers,
        body: str,
        point: Numbers = ORIGIN,
        t: Numbers = 0.0,
        *,
        relative_to: str = WORLD,
        out: Out = None,
        threads: int = 1,
    ) -> np.ndarray:
        """The time derivative dJ/dt of the Jacobian of a point along the motion.

        Parameters
        ----------
        q : array_like, shape (n,) or (n, batch)
            Coordinates.
        qd : array_like, shape (n,) or (n, batch)
            Rates of the coordinates, or speeds.
        body : str
            The name of the body.
        point : array_like, shape (3,), optional
            A point in axes of the body; its origin by default.
        t : float or array_like, shape (batch,), optional
            Time.
        relative_to : str, optional
            The name of the reference body; the world by default.

        Returns
        -------
        ndarray, shape (6, n) or (6, n, batch)
            With rows and columns as in `jacobian`.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.jacobian_rate("puma560", np.zeros(6), np.ones(6), "flange").shape
        (6, 6)
        """
        rate = self._evaluate("jacobian_rate", (q, qd, self._checked_point(point, body, q)), t, (body,), out, threads)
        if relative_to == WORLD:
            return rate
        p, base = self.position(q, body, point, t, threads=threads), self.pose(q, relative_to, t, threads=threads)
        v = self.velocity(q, qd, body, point, t, threads=threads)
        moved = self.velocity(q, qd, relative_to, t=t, threads=threads)
        J = self.jacobian(q, body, point, t, threads=threads)
        own = self.jacobian(q, relative_to, t=t, threads=threads)
        own_rate = self.jacobian_rate(q, qd, relative_to, t=t, threads=threads)
        return _write_into(out, relative.relative_jacobian_rate(p, v, J, rate, base, moved, own, own_rate))

    def center_of_mass(self, q: Numbers, t: Numbers = 0.0, *, out: Out = None, threads: int = 1) -> np.ndarray:
        """The position of the center of mass of all bodies.

        Parameters
        ----------
        q : array_like, shape (n,) or (n, batch)
            Coordinates.
        t : float or array_like, shape (batch,), optional
            Time.

        Returns
        -------
        ndarray, shape (3,) or (3, batch)
            The position in world axes (m).

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.center_of_mass("double-pendulum", [0.1, 0.2]).shape
        (3,)
        """
        return self._evaluate("center_of_mass", (q,), t, (), out, threads)

    def _evaluate(
        self, task: str, arguments: tuple[Numbers, ...], t: Numbers, bodies: tuple[str, ...], out: Out, threads: int
    ) -> np.ndarray:
        """The result of a task for bodies; changed parameters are inputs of the function."""
        if self.changes:
            arguments = (*arguments, repeat_for_batch(np.array(list(self.changes.values())), arguments[0]))
        return self._run(task, arguments, t, False, out, threads, Detail(named=tuple(self.changes), bodies=bodies))

    def _require_body(self, body: str) -> str:
        if body not in self.bodies:
            raise InputError(f"model '{self.model.name}': there is no body '{body}'. {suggest_name(body, self.bodies)}")
        return body

    def _checked_point(self, point: Numbers, body: str, q: Numbers) -> np.ndarray:
        found = as_finite_array(point, "point")
        if found.shape != (3,):
            raise InputError(f"point has shape {found.shape}. Expected (3,), in axes of body '{body}'.")
        return repeat_for_batch(found, q)


def _point_motion(found: np.ndarray) -> PointMotion:
    return PointMotion(found[:3], found[3:])


def _write_into(out: Out, found: np.ndarray) -> np.ndarray:
    if out is None:
        return found
    out[...] = found
    return out


@accepts_source
def kinematics(model: Elements, *, engine: str | None = None) -> Kinematics:
    """Create the kinematics of a model; each function is compiled at its first call.

    Parameters
    ----------
    model : Model, Description, str or Path
        The model, the name of a gallery example, or the path of a model file.
    engine : {"native", "python"}, optional
        How functions are evaluated; native machine code by default if it is available.

    Returns
    -------
    Kinematics
        The compiled functions.

    Examples
    --------
    >>> from dalembert.model.model import Model
    >>> model = Model("slider").coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> kinematics(model).position([3.0], "block")
    array([3., 0., 0.])
    """
    require_bodies(model)
    return Kinematics(model.without_controllers().description, choose_engine(engine))


def require_bodies(model: Elements) -> None:
    """Raise for a model without bodies."""
    if not model.bodies:
        raise InputError(
            f"model '{model.name}' is defined by energies, so positions are not defined. Expected bodies. "
            "Define it by bodies and joints."
        )


def _in_one_call(method: Callable[Concatenate[Kinematics, P], R]) -> Callable[Concatenate[Source, P], R]:
    """Convert a method of `Kinematics` to a function of a model, without `out` and `threads`."""

    def called(model: Elements, *arguments: P.args, **options: P.kwargs) -> R:
        return method(kinematics(model), *arguments, **options)

    model, own = signature(called).parameters["model"], signature(method)
    _, *others = (x for x in own.parameters.values() if x.name not in ("out", "threads"))
    vars(called)["__signature__"] = own.replace(parameters=[model, *others])
    called.__name__ = called.__qualname__ = method.__name__
    called.__doc__ = restricted(method.__doc__ or "", [x.name for x in others])
    return accepts_source(called)


pose = _in_one_call(Kinematics.pose)
position = _in_one_call(Kinematics.position)
velocity = _in_one_call(Kinematics.velocity)
acceleration = _in_one_call(Kinematics.acceleration)
jacobian = _in_one_call(Kinematics.jacobian)
jacobian_rate = _in_one_call(Kinematics.jacobian_rate)
center_of_mass = _in_one_call(Kinematics.center_of_mass)
