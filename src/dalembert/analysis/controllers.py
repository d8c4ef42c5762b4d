"""Control laws for `model.actuator(..., law=...)`: PD, PID, LQR, computed torque, and operational-space control.

desired motion ──► inverse dynamics ──► torques over time ──► forward simulation (open loop)
               └─► drives with feedback ──► forward simulation (computed torque)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from dalembert.analysis.linearization import Linearization
from dalembert.analysis.linearize import linearize
from dalembert.api.dynamics import Dynamics, dynamics
from dalembert.api.load import accepts_source
from dalembert.arguments import as_finite_array, documented_class, is_real, is_str_sequence
from dalembert.codegen.function import CompiledFunction, choose_engine, compile_function
from dalembert.errors import InputError, short_repr, suggest_name
from dalembert.model.description import Elements
from dalembert.model.loads.joint_friction import JointFriction
from dalembert.model.model import Model
from dalembert.model.profiles import Profile
from dalembert.model.python_laws import State
from dalembert.model.values import TimeLaw
from dalembert.recursive.tree_dynamics import inverse_dynamics
from dalembert.symbolic.algebra_base import Scalar, choose, vector
from dalembert.symbolic.symbols import TIME, Lowering, SymbolKind, coordinate

DesiredMotion: TypeAlias = "Mapping[str, TimeLaw] | Profile"


def laws_of(model: Elements, motion: DesiredMotion, duration: float) -> dict[str, Profile]:
    """The motion of each named coordinate, or of all coordinates in order for a profile without names."""
    names = model.coordinate_names
    if isinstance(motion, Profile):
        known = motion.names or names
        if len(motion) != len(known):
            raise InputError(
                f"motion: the profile has {len(motion)} values, and the model has the coordinates {', '.join(names)}. "
                "Expected one value for each coordinate, or a mapping of coordinates to motions."
            )
        motion = {name: motion[i] for i, name in enumerate(known)}
    if not isinstance(motion, Mapping):
        raise InputError(
            f"motion: got {short_repr(motion)}. Expected a profile, or a mapping of coordinates to motions."
        )
    for name in motion:
        if name not in names:
            raise InputError(f"motion: there is no coordinate '{name}'. {suggest_name(name, names)}")
    return {name: model.reader.law(law, f"motion of '{name}'", duration) for name, law in motion.items()}


def desired_motion(
    model: Elements, motion: DesiredMotion, times: np.ndarray, duration: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇ and q̈ of a desired motion at many times; other coordinates stay at their initial values."""
    names, values = model.coordinate_names, model.parameter_values
    out = np.zeros((3, len(names), len(times)))
    out[0] = model.initial[0][:, None]
    for name, law in laws_of(model, motion, model.duration if duration is None else duration).items():
        out[:, names.index(name)] = replace(law, formulas=(law.formulas[0].subs(values),))(times)
    return out[0], out[1], out[2]


def at_start(model: Elements, motion: DesiredMotion) -> Model:
    """The model with the initial state of the desired motion at t = 0."""
    q, qd, _ = desired_motion(model, motion, np.zeros(1))
    return Model.of(model).start(q[:, 0].tolist(), qd[:, 0].tolist())


@accepts_source
def feedforward(
    model: Elements,
    motion: DesiredMotion,
    duration: float,
    samples: int = 501,
    *,
    actuated: Sequence[str] | None = None,
) -> Model:
    """The model driven by the feedforward torques of a desired motion. It starts on the motion.

    A motion is a profile for all coordinates, or a mapping of moving coordinates to laws: a formula of t as str or SymPy
    expression, a profile, points as (times, values), or a function of time.
    Inverse dynamics at `samples` times gives the torques, which time tables apply; there is no feedback.

    Parameters
    ----------
    model : Model, Description, str or Path
        A model, the name of an example model, or a model file.
    motion : Profile or mapping of str to law
        The desired motion of all coordinates, or of each moving one.
    duration : float
        The length of the time tables, s.
    samples : int, optional
        The number of times at which the torques are computed.
    actuated : sequence of str, optional
        The actuated coordinates of a constrained model, as for `inverse_dynamics`.

    Returns
    -------
    Model
        The model with the initial state of the motion and one torque table for each coordinate with a nonzero torque.

    Examples
    --------
    >>> import dalembert as dl
    >>> model = feedforward(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"}, 1.0)
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-4
    np.True_
    """
    times = np.linspace(0.0, duration, samples)
    motion = laws_of(model, motion, duration)
    q, qd, qdd = desired_motion(model, motion, times)
    tau = inverse_dynamics(model, q, qd, qdd, times, friction=True, actuated=actuated)
    out = at_start(model, motion)
    for name, row in zip(model.coordinate_names, tau, strict=True):
        if np.abs(row).max() > 0:
            body, joint, index = joint_of(model, name, "feedforward")
            out.torque_table(body, times.tolist(), row.tolist(), joint=joint, motion=index, name=f"torque on {name}")
    return out


@accepts_source
def computed_torque(model: Elements, motion: DesiredMotion, gains: tuple[float, float] = (100.0, 20.0)) -> Model:
    """The model with a computed-torque controller that tracks a desired motion: errors obey ë + β ė + α e = 0.

    Functions of time are sampled over the duration of the model. The torques of the controller are the multipliers of the run.
    Coordinates that are not named are held at their initial values, unless the model has constraints.

    Parameters
    ----------
    model : Model, Description, str or Path
        A model, the name of an example model, or a model file.
    motion : Profile or mapping of str to law
        The desired motion, as for `feedforward`.
    gains : tuple of float
        (α, β) in 1/s² and 1/s.

    Returns
    -------
    Model
        The model with one drive with feedback for each tracked coordinate.

    Examples
    --------
    >>> import dalembert as dl
    >>> model = computed_torque(dl.load("two-link-robot"), {"q1": "0.1*t**2", "q2": "0.2*t**2"})
    >>> abs(dl.simulate(model, 1.0, samples=11).q[:, -1] - [0.1, 0.2]).max() < 1e-9
    np.True_
    """
    motion = laws_of(model, motion, model.duration)
    out = at_start(model, motion)
    start = dict(zip(model.coordinate_names, model.initial[0].tolist(), strict=True))
    fixed = {} if model.constraint_names or model.contacts else start
    for name, law in {**fixed, **motion}.items():
        out.drive(name, law, name=f"control of {name}", feedback=gains)
    return out


def joint_of(model: Elements, name: str, who: str) -> tuple[str, int, int]:
    """The joint motion that equals a coordinate: its body, the joint index and the motion index."""
    found = [
        ((body.name, index, motion), formula)
        for body in model.bodies
        for index, joint in enumerate(body.joints)
        for motion, formula in enumerate(joint.values)
        if coordinate(name) in formula.free_symbols
    ]
    if len(found) != 1 or found[0][1] != coordinate(name):
        raise InputError(
            f"{who}: the coordinate '{name}' moves {len(found)} joints, or a joint motion differs from it. "
            "Expected one joint whose motion equals this coordinate, so that a joint torque acts along it."
        )
    return found[0][0]


Target = float | Profile | Callable[[float], float | tuple[float, float, float]]
_RANK = 1e-9  # relative: Λ excludes directions in which the point cannot move


@documented_class
class PD:
    """Proportional-derivative (PD) control of one coordinate: u = kp e + kd ė; continuous or sampled.

    The error is e = target − coordinate. Without integral action or feedforward, loads such as gravity cause a steady-state
    error. A function of time that returns only the position has zero rate and acceleration.

    Parameters
    ----------
    coordinate : str
        The name of the controlled coordinate.
    target : float, Profile or callable
        The target: a number, a profile, or a function of time that returns the position, or (position, rate, acceleration).
    kp : float
        Proportional gain, force or torque per unit of the coordinate.
    kd : float, default 0.0
        Derivative gain, force or torque per unit of the rate.

    Raises
    ------
    InputError
        If an argument is not of the expected type.

    Examples
    --------
    >>> import dalembert as dl
    >>> model = dl.load("simple-pendulum").copy()
    >>> _ = model.actuator("bob", law=PD("theta", 0.5, kp=200, kd=25))
    >>> round(float(dl.simulate(model, 5.0)["theta"][-1]), 3)  # steady-state error by gravity
    0.477
    """

    def __init__(self, coordinate: str, target: Target, kp: float, kd: float = 0.0) -> None:
        where = f"{type(self).__name__} of '{coordinate}'"
        if not isinstance(coordinate, str):
            raise InputError(f"{type(self).__name__}, coordinate: got {short_repr(coordinate)}. Expected a str.")
        self.coordinate, self.kp, self.kd = coordinate, gain(kp, f"{where}, kp"), gain(kd, f"{where}, kd")
        self._rate = SymbolKind.RATE.of(coordinate)
        self._target = target_of(target, (), f"{where}, target")

    def _errors(self, t: float, state: State) -> tuple[float, float]:
        """e and ė."""
        desired: DesiredState = self._target(t)
        return desired.position - state[self.coordinate], desired.rate - state[self._rate]

    def __call__(self, t: float, state: State) -> float:
        """The effort at a state."""
        e, rate = self._errors(t, state)
        return self.kp * e + self.kd * rate


@documented_class
class PID(PD):
    """Proportional-integral-derivative (PID) control of one coordinate: u = kp e + ki ∫ e dt + kd ė; sampled.

    The integral uses the error of each sample until the next. Anti-windup: in saturation it only includes errors that reduce the
    saturation. An actuator with this law needs a `period`.

    Parameters
    ----------
    coordinate : str
        The name of the controlled coordinate.
    target : float, Profile or callable
        The target: a number, a profile, or a function of time that returns the position, or (position, rate, acceleration).
    kp : float
        Proportional gain, force or torque per unit of the coordinate.
    ki : float, default 0.0
        Integral gain, force or torque per unit of the coordinate and second.
    kd : float, default 0.0
        Derivative gain, force or torque per unit of the rate.
    limit : float or sequence of float, optional
        Saturation of the effort: one number for ±limit, or (lowest, highest).

    Raises
    ------
    InputError
        If an argument is not of the expected type, or lowest > highest.

    Examples
    --------
    >>> import dalembert as dl
    >>> model = dl.load("simple-pendulum").copy()
    >>> _ = model.actuator("bob", law=PID("theta", 0.5, kp=200, ki=400, kd=25, limit=60), period=0.01)
    >>> round(float(dl.simulate(model, 5.0)["theta"][-1]), 3)
    0.5
    """

    def __init__(
        self,
        coordinate: str,
        target: Target,
        kp: float,
        ki: float = 0.0,
        kd: float = 0.0,
        *,
        limit: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(coordinate, target, kp, kd)
        self.ki = gain(ki, f"PID of '{coordinate}', ki")
        self.low, self.high = _ends(limit, f"PID of '{coordinate}', limit")
        self._sum, self._last, self._counted = 0.0, 0.0, 0.0

    def reset(self, t0: float, state: State) -> None:
        """Reset the integral to zero, at the start of a simulation.

        Parameters
        ----------
        t0 : float
            Initial time of the simulation, s.
        state : State
            Initial state, which is not used.
        """
        self._sum, self._last, self._counted = 0.0, t0, 0.0

    def __call__(self, t: float, state: State) -> float:
        """The effort at a sample."""
        self._sum += self._counted * (t - self._last)
        e, rate = self._errors(t, state)
        effort = self.kp * e + self.kd * rate + self.ki * self._sum
        limited = min(max(effort, self.low), self.high)
        self._last, self._counted = t, e if limited == effort or (effort - limited) * self.ki * e < 0 else 0.0
        return limited


def _ends(limit: float | Sequence[float] | None, where: str) -> tuple[float, float]:
    if limit is None:
        return -math.inf, math.inf
    limits = as_finite_array(limit, where)
    ends = limits if limits.ndim else np.array([-limits, limits])
    if ends.shape != (2,) or not ends[0] <= ends[1]:
        raise InputError(f"{where}: got {short_repr(limit)}. Expected a number >= 0, or (lowest, highest).")
    return float(ends[0]), float(ends[1])


def actuated_joints(
    model: Elements, actuated: Sequence[str] | None, who: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The actuated coordinates, all by default, and the body whose first joint each of them moves."""
    if not isinstance(model, Elements):
        raise InputError(f"{who}, model: got {short_repr(model)}. Expected a model, such as dl.load(...) returns.")
    if actuated is not None and not is_str_sequence(actuated):
        raise InputError(f"{who}, actuated: got {short_repr(actuated)}. Expected a list of str.")
    names = tuple(model.coordinate_names if actuated is None else actuated)
    for name in names:
        if name not in model.coordinate_names:
            raise InputError(f"{who}: there is no coordinate '{name}'. {suggest_name(name, model.coordinate_names)}")
    motions = [joint_of(model, name, who) for name in names]
    for name, (body, joint, motion) in zip(names, motions, strict=True):
        if (joint, motion) != (0, 0):
            raise InputError(
                f"{who}: the coordinate '{name}' is motion {motion} of joint {joint} of body '{body}'. Expected motion 0 of "
                "joint 0: an actuator with a law for several bodies acts there. Give the joint a separate body."
            )
    return names, tuple(body for body, _, _ in motions)


def dynamics_in_rates(model: Elements, who: str) -> Dynamics:
    """The dynamics of a model whose speeds are coordinate rates; raises for other models."""
    found = dynamics(model)
    if found.speed_names != tuple(map(SymbolKind.RATE.of, model.coordinate_names)):
        raise InputError(
            f"{who}: model '{model.name}' has quaternion joints, whose speeds are not coordinate rates. Use other joints."
        )
    return found


class DesiredState(NamedTuple):
    """A target at a time: its position, rate and acceleration."""

    position: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray


def gain(value: object, where: str) -> float:
    """Convert a gain to a finite float."""
    if not is_real(value):
        raise InputError(f"{where}: got {short_repr(value)}. Expected a number.")
    return float(cast("float", value))


def target_of(target: object, shape: tuple[int, ...], where: str) -> Callable[[float], DesiredState]:
    """A target as a function of time: a constant, a profile, or a function of time that returns x or (x, ẋ, ẍ)."""
    if isinstance(target, Profile):
        profile = target
        _require(profile.position(0.0), shape, where)
        return lambda t: DesiredState(*profile(t))
    if callable(target):
        return lambda t: _desired(target(t), shape, f"{where} at t = {t:.9g}")
    constant = DesiredState(_require(target, shape, where), np.zeros(shape), np.zeros(shape))
    return lambda t: constant


def _desired(found: object, shape: tuple[int, ...], where: str) -> DesiredState:
    if isinstance(found, tuple) and len(found) == 3 and (not shape or np.ndim(found[0])):
        x, v, a = (_require(part, shape, where) for part in found)
        return DesiredState(x, v, a)
    return DesiredState(_require(found, shape, where), np.zeros(shape), np.zeros(shape))


def _require(found: object, shape: tuple[int, ...], where: str) -> np.ndarray:
    numbers = as_finite_array(found, where)
    if numbers.shape != shape:
        expected = "a number" if not shape else f"{shape[0]} numbers"
        raise InputError(f"{where}: got {short_repr(found)}. Expected {expected}, a profile, or a function of time.")
    return numbers


@documented_class
class ComputedTorque:
    """Computed-torque control: the torques that track a desired motion, one for each of `bodies`; continuous or sampled.

        τ = M(q) (q̈_d + kd ė + kp e) + c(q, q̇) + g(q) − loads,     e = q_d − q

    Coordinates without a desired motion stay at their initial values. Errors decay by ë + kd ė + kp e = 0 if the model matches
    the simulated one. The law uses the model at construction, so an actuator can be added to the same model later. For a
    constrained model, `actuated` names the actuated coordinates, as for `dl.inverse_dynamics`.

    Parameters
    ----------
    model : Model or Description
        The model of the law.
    motion : Profile or mapping of str to law
        The desired motion q_d(t), as for `feedforward`: a profile for all coordinates, or a formula of time, profile or function
        for each moving coordinate.
    kp : float, default 100.0
        Proportional gain, 1/s².
    kd : float, default 20.0
        Derivative gain, 1/s; 2 √kp damps the error critically.

    Attributes
    ----------
    bodies : tuple of str
        The bodies whose joints are actuated: the first argument of `model.actuator`.
    coordinates : tuple of str
        The actuated coordinates, in the order of `bodies`.

    Raises
    ------
    InputError
        If a coordinate is unknown, the model has quaternion joints, or an actuated coordinate is not the first motion of the
        first joint of a body.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("two-link-robot").copy().start([0, 0], [0, 0])
    >>> law = ComputedTorque(robot, {"q1": "0.1*t**2", "q2": "0.2*t**2"}, kp=100, kd=20)
    >>> run = dl.simulate(robot.actuator(law.bodies, law=law), 1.0, samples=11)
    >>> bool(abs(run.q[:, -1] - [0.1, 0.2]).max() < 1e-8)
    True
    """

    def __init__(
        self,
        model: Elements,
        motion: DesiredMotion,
        kp: float = 100.0,
        kd: float = 20.0,
        *,
        actuated: Sequence[str] | None = None,
    ) -> None:
        self.kp, self.kd = gain(kp, "ComputedTorque, kp"), gain(kd, "ComputedTorque, kd")
        self.coordinates, self.bodies = actuated_joints(model, actuated, "ComputedTorque")
        self._rows = [model.coordinate_names.index(name) for name in self.coordinates]
        self._actuated = None if actuated is None else self.coordinates
        self._dynamics = dynamics_in_rates(model, "ComputedTorque")
        self._desired, self._n = _compiled(model, laws_of(model, motion, model.duration)), len(model.coordinate_names)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The torques at a state."""
        q, qd, qdd = self._desired(np.array([t]), np.zeros(0)).reshape(3, self._n)
        acceleration = qdd + self.kd * (qd - state.qd) + self.kp * (q - state.q)
        tau = self._dynamics.inverse(state.q, state.qd, acceleration, float(t), friction=True, actuated=self._actuated)
        return tau[self._rows]


def _compiled(model: Elements, laws: dict[str, Profile]) -> CompiledFunction:
    """q, q̇ and q̈ of a desired motion as a function of time."""
    algebra, values = choose("graph"), model.parameter_values
    (t,) = algebra.symbols([TIME.name])
    lower = Lowering(algebra, {TIME.name: t})
    start = dict(zip(model.coordinate_names, model.initial[0].tolist(), strict=True))
    outputs: list[Scalar] = []
    for level in range(3):
        for name in model.coordinate_names:
            if name not in laws:
                outputs.append(0.0 if level else start[name])
                continue
            formula = laws[name].formulas[0].subs(values)
            for _ in range(level):
                formula = formula.diff(TIME)
            outputs.append(lower(formula))
    return compile_function(algebra, vector([t]), vector(outputs), vector([]), choose_engine(None))


@documented_class
class OperationalSpace:
    """Operational-space control: torques that move a point to a target, one for each of `bodies`; continuous or sampled.

        τ = Jᵀ Λ (a − J̇ q̇) + c + g − loads + (1 − Jᵀ Λ J M⁻¹) M (−damping q̇)
        Λ = (J M⁻¹ Jᵀ)⁺,     a = ẍ_d + kd (ẋ_d − ẋ) + kp (x_d − x)

    All joints are actuated. Directions in which the point cannot move are excluded.

    Parameters
    ----------
    model : Model or Description
        The model of the law.
    body : str
        The name of the controlled body.
    target : array_like, shape (3,), Profile or callable
        The desired position of the point in world axes: three numbers, a profile of three values, or a function of time that
        returns x or (x, ẋ, ẍ).
    kp : float, default 100.0
        Proportional gain, 1/s².
    kd : float, default 20.0
        Derivative gain, 1/s.
    damping : float, default 0.0
        Damping of the null-space motion, 1/s.

    Attributes
    ----------
    bodies : tuple of str
        The bodies whose joints are actuated: the first argument of `model.actuator`.
    coordinates : tuple of str
        The actuated coordinates, in the order of `bodies`.

    Raises
    ------
    InputError
        If the body is unknown, `target` does not have three components, or the model has quaternion joints.

    References
    ----------
    O. Khatib, A unified approach for motion and force control of robot manipulators: the operational space formulation, IEEE
    Journal on Robotics and Automation 3 (1987) 43–53.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("robot-2-link").copy().start([0.3, 1.0], [0, 0])
    >>> law = OperationalSpace(robot, "lower", (0.2, 0.4, 0.0), point=(0.25, 0, 0))
    >>> run = dl.simulate(robot.actuator(law.bodies, law=law), 2.0, samples=11)
    >>> run.path("lower", (0.25, 0, 0))[:2, -1].round(4).tolist()
    [0.2, 0.4]
    """

    def __init__(
        self,
        model: Elements,
        body: str,
        target: Sequence[float] | np.ndarray | Profile | Callable[[float], Any],
        kp: float = 100.0,
        kd: float = 20.0,
        *,
        point: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
        damping: float = 0.0,
    ) -> None:
        gains = {"kp": kp, "kd": kd, "damping": damping}
        self.kp, self.kd, self.damping = (gain(x, f"OperationalSpace, {name}") for name, x in gains.items())
        self.coordinates, self.bodies = actuated_joints(model, None, "OperationalSpace")
        self._body, self._point = body, as_finite_array(point, "OperationalSpace, point")
        self._target = target_of(target, (3,), "OperationalSpace, target")
        self._dynamics = dynamics_in_rates(model, "OperationalSpace")
        self._dynamics.kinematics.position(model.initial[0], body, self._point)  # raises for a wrong body or point

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The torques at a state."""
        dynamics, (q, qd), t = self._dynamics, (state.q, state.qd), float(t)
        kinematics, desired, rest = dynamics.kinematics, self._target(t), np.zeros(len(state.q))
        at = self._body, self._point, t
        x, v = kinematics.position(q, *at), kinematics.velocity(q, qd, *at).linear
        a = desired.acceleration + self.kd * (desired.rate - v) + self.kp * (desired.position - x)
        J, M = kinematics.jacobian(q, *at)[:3], dynamics.mass_matrix(q, t)
        by_mass = np.linalg.solve(M, J.T)  # M⁻¹ Jᵀ
        Lambda = np.linalg.pinv(J @ by_mass, rcond=_RANK, hermitian=True)
        F = Lambda @ (a - kinematics.acceleration(q, qd, rest, *at).linear)
        damping = -self.damping * qd
        tau = J.T @ F + M @ damping - J.T @ (Lambda @ (J @ damping))
        return tau + dynamics.inverse(q, qd, rest, t, friction=True)


@documented_class
class LQR:
    """Linear-quadratic regulator (LQR): u = u₀ − K (x − x₀) minimizes ∫ xᵀQx + uᵀRu dt; continuous or sampled.

        K = R⁻¹ Bᵀ P,   Aᵀ P + P A − P B R⁻¹ Bᵀ P + Q = 0

    `LQR.about(model, ...)` linearizes a model for A and B, with x = (q, q̇).

    Parameters
    ----------
    A : array_like, shape (n, n)
        State matrix of ẋ = A x + B u.
    B : array_like, shape (n, m)
        Input matrix.
    Q : array_like, shape (n, n), (n,) or ()
        Weights of the states, positive semidefinite: a matrix, its diagonal, or one number.
    R : array_like, shape (m, m), (m,) or ()
        Weights of the inputs, positive definite.
    x0 : array_like, shape (n,), optional
        The state x₀ at which the system is held; zero by default.
    u0 : array_like, shape (m,), optional
        The inputs u₀ at that state; zero by default.

    Attributes
    ----------
    K : ndarray, shape (m, n)
        Feedback gain; of a law from `LQR.about`, shape (m, 2n) by (q, q̇).
    bodies : tuple of str
        The bodies whose joints are actuated, if the law comes from `LQR.about`.

    Raises
    ------
    InputError
        If a shape is wrong, (A, B) is not stabilizable, or (A, Q) is not detectable.

    Examples
    --------
    >>> law = LQR([[0, 1], [0, 0]], [[0], [1]], Q=1.0, R=1.0)  # a double integrator
    >>> law.K.round(6).tolist()  # (1, √3)
    [[1.0, 1.732051]]
    """

    bodies: tuple[str, ...] = ()  # whose joints are actuated, if the law comes from a model

    def __init__(
        self,
        A: npt.ArrayLike,
        B: npt.ArrayLike,
        Q: npt.ArrayLike,
        R: npt.ArrayLike,
        *,
        x0: npt.ArrayLike | None = None,
        u0: npt.ArrayLike | None = None,
    ) -> None:
        self.A, self.B = as_finite_array(A, "LQR, A"), as_finite_array(B, "LQR, B")
        n = len(self.A)
        if self.A.shape != (n, n) or self.B.ndim != 2 or len(self.B) != n:
            raise InputError(f"LQR: A is {self.A.shape} and B {self.B.shape}. Expected (n, n) and (n, inputs).")
        m = self.B.shape[1]
        self.K = self._inner = _gain(self.A, self.B, _weights(Q, n, "Q"), _weights(R, m, "R"))
        self.x0 = np.zeros(n) if x0 is None else _vector(x0, n, "x0")
        self.u0 = np.zeros(m) if u0 is None else _vector(u0, m, "u0")

    @property
    def poles(self) -> npt.NDArray[np.float64] | npt.NDArray[np.complex128]:
        """The closed-loop poles: the eigenvalues of A − B K, all in the left half-plane."""
        return np.linalg.eigvals(self.A - self.B @ self._inner)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The efforts at a state."""
        return self.u0 - self.K @ (np.concatenate([state.q, state.qd]) - self.x0)

    @classmethod
    def about(
        cls,
        model: Elements,
        Q: npt.ArrayLike,
        R: npt.ArrayLike,
        *,
        q: npt.ArrayLike | None = None,
        actuated: Sequence[str] | None = None,
    ) -> Self:
        """The regulator of a model about an equilibrium, by default its initial position, with forces along `actuated`.

        A and B are those of `dl.linearize` without joint friction, on the constraints. The equilibrium forces are u₀.

        Parameters
        ----------
        model : Model or Description
            The model, which is not changed.
        Q : array_like, shape (2n, 2n), (2n,) or ()
            Weights of x = (q, q̇): a matrix, its diagonal, or one number.
        R : array_like, shape (m, m), (m,) or ()
            Weights of the efforts.
        q : array_like, shape (n,), optional
            The position; the initial position of the model by default.

        Returns
        -------
        LQR
            The law, for `model.actuator(law.bodies, law=law)`.

        Raises
        ------
        InputError
            If the position is not an equilibrium for any forces along `actuated`, or the model cannot be stabilized by them.

        Examples
        --------
        >>> import dalembert as dl, numpy as np
        >>> arm = dl.load("robot-2-link").copy().start([np.pi / 2, 0.0], [0, 0])  # upright
        >>> law = LQR.about(arm, Q=[1, 1, 0.1, 0.1], R=0.01, actuated=["q1"])
        >>> law.bodies, bool((law.poles.real < 0).all())
        (('upper',), True)
        """
        names, bodies = actuated_joints(model, actuated, "LQR")
        n = len(model.coordinate_names)
        position = model.initial[0] if q is None else _vector(q, n, "q")
        about = linearize(_undriven(model), at=position, inputs=names, any_state=True)
        _require_rest(about, names)
        weights = about.shapes.T @ _weights(Q, 2 * n, "Q") @ about.shapes
        law = cls(about.A, about.B, weights, R, u0=about.u0)
        law.K, law.x0, law.bodies = law.K @ about.onto, np.concatenate([about.q, about.qd]), bodies
        return law


def _undriven(model: Elements) -> Elements:
    """The model without joint friction and without loads that Python laws control."""
    controlled = {load for controller in model.controllers for load in controller.loads}
    loads = (load for load in model.loads if load.name not in controlled and not isinstance(load, JointFriction))
    return model.replaced(loads=tuple(loads), controllers=())


def _require_rest(about: Linearization, names: Sequence[str]) -> None:
    """Raise if a coordinate without an actuator would need a force."""
    if about.kind == "equilibrium" and not about.reason:
        return
    raise InputError(
        f"LQR: q = {about.q.tolist()} is not an equilibrium for any forces along {', '.join(names)}: {about.reason}. "
        "Expected a position that the actuated coordinates can hold. Find one with dl.equilibrium(model, fixed=[...])."
    )


def _gain(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """K of the algebraic Riccati equation."""
    from scipy.linalg import solve_continuous_are

    try:
        P = solve_continuous_are(A, B, Q, R)
        K = np.linalg.solve(R, B.T @ P)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise InputError(f"LQR: the Riccati equation has no solution ({error}). {_ADVICE}") from None
    if not (np.linalg.eigvals(A - B @ K).real < 0).all():
        raise InputError(f"LQR: the computed gain does not stabilize the model. {_ADVICE}")
    return K


_ADVICE = "Expected (A, B) stabilizable, (A, Q) detectable with Q ≥ 0, and R > 0."


def _weights(weights: npt.ArrayLike, n: int, name: str) -> np.ndarray:
    found = as_finite_array(weights, f"LQR, {name}")
    if found.ndim < 2 and found.shape in ((), (n,)):
        found = np.diag(np.broadcast_to(found, (n,)))
    if found.shape != (n, n):
        raise InputError(
            f"LQR, {name}: got shape {found.shape}. Expected {(n, n)}, its diagonal ({n},), or one number."
        )
    return found


def _vector(values: npt.ArrayLike, n: int, name: str) -> np.ndarray:
    found = as_finite_array(values, f"LQR, {name}")
    if found.shape != (n,):
        raise InputError(f"LQR, {name}: got shape {found.shape}. Expected ({n},).")
    return found
