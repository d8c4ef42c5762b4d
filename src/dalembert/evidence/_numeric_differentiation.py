"""Numerical differentiation of positions, along a motion and with respect to every coordinate.

    along the motion    q(s) = q + q̇ s + ½ q̈ s², t + s: value, first and second derivative in s by Taylor arithmetic
    virtual changes     q + iε e_i at fixed time: the derivative with respect to each coordinate by a complex step
    velocities          q̇ + s e_i, for formulas declared in terms of velocities

All are numerical and exact to rounding, and none uses a Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.mechanics.state_batch import States
from dalembert.model.description import Elements
from dalembert.model.reference_model import Derivatives, ReferenceFrame, rotation_about
from dalembert.model.values import WORLD, Matrix3, Vector3
from dalembert.symbolic.algebra_base import Algebra, Array, Scalar, identity, vector, zeros
from dalembert.symbolic.floats import FLOATS, SERIES, TruncatedSeries, series
from dalembert.symbolic.symbols import TIME, Formula, Lowering, rate

_STEP = 1e-30
_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


@dataclass(frozen=True)
class MovingModel:
    """A model at a batch of states that moves with prescribed accelerations."""

    model: Elements
    states: States
    qdd: np.ndarray
    path: BodyPoses
    perturbed: BodyPoses
    velocity_derivative: Lowering  # derivative with respect to each velocity: q̇ + s e_i
    momentum: Lowering  # both together: q̇ + iε e_i along the motion

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.states.q)

    @property
    def K(self) -> int:
        """Number of states."""
        return len(self.states)

    def center(self, body: str) -> Vector3:
        """Return the mass center of a body, in body axes."""
        return next(b.center for b in self.model.bodies if b.name == body)

    def mass(self, body: str) -> np.ndarray:
        """Return the mass of a body at every state."""
        return self.number(next(b.mass for b in self.model.bodies if b.name == body))

    def traced(self, quantity: Callable[[BodyPoses], Array | Scalar]) -> Derivatives:
        """Differentiate a function of positions along the motion and with respect to each coordinate."""
        along, near = _entries(quantity(self.path)), _entries(quantity(self.perturbed))
        parts = [series(x) for x in along.flat]
        value, rates, second = (
            np.stack([np.broadcast_to(getattr(x, name), self.K) for x in parts]).reshape(*along.shape, self.K)
            for name in ("value", "rate", "second")
        )
        return Derivatives(value, rates, second, self.changes(near))

    def changes(self, near: Array | Scalar) -> np.ndarray:
        """Return imaginary parts divided by the step, (..., n, K)."""
        entries = _entries(near)
        out = [np.imag(np.broadcast_to(x, (self.n, self.K))) / _STEP for x in entries.flat]
        return np.stack(out).reshape(*entries.shape, self.n, self.K)

    def slopes(self, formula: Formula) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and second derivative of a formula with respect to each velocity, (n, K)."""
        found = series(self.velocity_derivative(formula))
        first, second = (np.broadcast_to(x, (self.n, self.K)) for x in (found.rate, found.second))
        return first, second

    def number(self, formula: Formula, more: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """Return the value of a formula at every state; `more` has values of further symbols."""
        lower = self.path.lower.with_values(more) if more else self.path.lower
        return np.broadcast_to(np.asarray(series(lower(formula)).value, dtype=float), self.K)

    def numbers(self, formulas: Sequence[Formula] | Matrix3) -> np.ndarray:
        """Return the values of several formulas, (..., K)."""
        entries = np.empty(np.shape(formulas), dtype=object)
        entries[...] = formulas
        return np.stack([self.number(f) for f in entries.flat]).reshape(*entries.shape, self.K)


def _entries(quantity: Array | Scalar) -> Array:
    """Return an object array of scalars; a single scalar or batch of numbers becomes a 0-d array."""
    if isinstance(quantity, np.ndarray) and quantity.dtype == object:
        return quantity
    out = np.empty((), dtype=object)
    out[()] = quantity
    return out


def move_model(model: Elements, states: States, qdd: np.ndarray) -> MovingModel:
    """Return a model at a batch of states that moves with accelerations q̈ (n, K)."""
    n, K = states.q.shape
    steps = 1j * _STEP * np.eye(n)[:, :, None] * np.ones(K)
    clock = TruncatedSeries(states.t, np.ones(K), np.zeros(K))
    path = [TruncatedSeries(*parts) for parts in zip(states.q, states.qd, qdd, strict=True)]
    speeding = [TruncatedSeries(qd, a, np.zeros(K)) for qd, a in zip(states.qd, qdd, strict=True)]
    near = [q + step for q, step in zip(states.q, steps, strict=True)]
    zero = np.zeros((n, K))
    fast = [
        TruncatedSeries(qd + zero, unit + zero, zero) for qd, unit in zip(states.qd, np.eye(n)[:, :, None], strict=True)
    ]
    pushed = [TruncatedSeries(qd + step, a, zero) for qd, step, a in zip(states.qd, steps, qdd, strict=True)]

    def symbols(t: Scalar, q: Sequence[Scalar] | np.ndarray, qd: Sequence[Scalar] | np.ndarray) -> dict[str, Scalar]:
        names = model.coordinate_names
        rates = {rate(name).name: x for name, x in zip(names, qd, strict=True)}
        return {"t": t, **dict(zip(names, q, strict=True)), **rates, **model.parameter_values}

    def at(
        algebra: Algebra, t: Scalar, q: Sequence[Scalar] | np.ndarray, qd: Sequence[Scalar] | np.ndarray
    ) -> BodyPoses:
        return body_poses(model, algebra, symbols(t, q, qd))

    return MovingModel(
        model,
        states,
        qdd,
        at(SERIES, clock, path, speeding),
        at(FLOATS, states.t, near, states.qd),
        Lowering(SERIES, symbols(states.t, states.q, fast)),
        Lowering(SERIES, symbols(clock, path, pushed)),
    )


@dataclass(frozen=True)
class BodyPoses:
    """Poses of all bodies of a model, over one algebra."""

    model: Elements
    algebra: Algebra
    lower: Lowering
    frames: Mapping[str, ReferenceFrame]
    hinges: Mapping[str, Array]  # for each body the origin of the last joint that moves it
    first: Lowering  # evaluates a formula in the initial state

    def numbers(self, formulas: Sequence[Formula]) -> Array:
        """Return formulas as a vector of scalars."""
        return vector([self.lower(formula) for formula in formulas])

    def point(self, body: str, x: Sequence[Formula]) -> Array:
        """Return the position of a point of a body; x are formulas, in body axes."""
        return self.frames[body].point(self.numbers(x))

    def value(self, body: str, joint: int, motion: int) -> Scalar:
        """Return the joint value of one motion of a joint."""
        return self.lower(self._motion(body, joint, motion))

    def initial_value(self, body: str, joint: int, motion: int) -> Scalar:
        """Return the joint value in the initial state."""
        return self.first(self._motion(body, joint, motion))

    def _motion(self, body: str, joint: int, motion: int) -> Formula:
        return next(b for b in self.model.bodies if b.name == body).joints[joint].values[motion]

    def fixed_frame(self, body: str, position: Sequence[Formula], rotation: Sequence[Formula]) -> ReferenceFrame:
        """Return a frame fixed to a body: origin at `position`, rotated by roll, then pitch, then yaw about the body axes."""
        return _fixed_frame(self.algebra, self.frames[body], self.numbers(position), self.numbers(rotation))


def body_poses(model: Elements, algebra: Algebra, values: Mapping[str, Scalar]) -> BodyPoses:
    """Return the poses of all bodies for a scalar value of every symbol."""
    lower = Lowering(algebra, values)
    frames, hinges = {WORLD: ReferenceFrame(zeros(3), identity(3))}, {}
    remaining = list(model.bodies)
    while remaining:
        body = next(b for b in remaining if b.parent in frames)
        remaining.remove(body)
        at = frames[body.parent]
        for joint in body.joints:
            position, rotation = (vector([lower(x) for x in part]) for part in (joint.position, joint.rotation))
            shift, turn = joint.reference_pose(algebra, [lower(x) for x in joint.values])
            at = _fixed_frame(algebra, at, position, rotation)
            at = ReferenceFrame(at.point(shift), at.R @ turn)
            if joint.values:
                hinges[body.name] = at.p
        frames[body.name] = at
        hinges.setdefault(body.name, at.p)
    start = {TIME.name: 0.0, **{c.name: c.start for c in model.generalized_coordinates}}
    return BodyPoses(model, algebra, lower, frames, hinges, Lowering(algebra, {**values, **start}))


def _fixed_frame(algebra: Algebra, at: ReferenceFrame, position: Array, rotation: Array) -> ReferenceFrame:
    roll, pitch, yaw = rotation
    R = at.R
    for axis, angle in (("z", yaw), ("y", pitch), ("x", roll)):
        R = R @ rotation_about(algebra, _AXES[axis], angle)
    return ReferenceFrame(at.point(position), R)
