"""Computed torque: inverse dynamics of the acceleration that lets errors die out.

τ = M(q) (q̈_d + kd ė + kp e) + c(q, q̇) + g(q) − loads,     e = q_d − q
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.analysis.controllers.pid import driven, dynamics_in_rates, gain, target_of
from dalembert.analysis.tracking import Designed, laws_of
from dalembert.arguments import numbers_given
from dalembert.codegen.function import Function, choose_engine, compile_function
from dalembert.model.description import Elements
from dalembert.model.motion_profile import Profile
from dalembert.model.python_laws import State
from dalembert.symbolic.algebra_base import Scalar, choose, vector
from dalembert.symbolic.lower import Lowering
from dalembert.symbolic.symbols import TIME

_RANK = 1e-9  # of the largest: directions in which the point cannot move have no Λ


class ComputedTorque:
    """The torques by which a model follows a designed motion, one for each of `bodies`; continuous or sampled.

    The motion is given as for `dl.feedforward`: a profile for all coordinates, or a law for each that moves; others rest where
    the model starts. Errors die out by ë + kd ė + kp e = 0 as far as the given model is that of the run. It is known as it is
    when the law is made, so an actuator may be added to the same model. Where constraints hold it, `actuated` names the
    coordinates that are driven, as for `dl.inverse_dynamics`.

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
        motion: Designed,
        kp: float = 100.0,
        kd: float = 20.0,
        *,
        actuated: Sequence[str] | None = None,
    ) -> None:
        self.kp, self.kd = gain(kp, "ComputedTorque, kp"), gain(kd, "ComputedTorque, kd")
        self.coordinates, self.bodies = driven(model, actuated, "ComputedTorque")
        self._rows = [model.coordinate_names.index(name) for name in self.coordinates]
        self._actuated = None if actuated is None else self.coordinates
        self._dynamics = dynamics_in_rates(model, "ComputedTorque")
        self._wanted, self._n = _compiled(model, laws_of(model, motion, model.duration)), len(model.coordinate_names)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The torques at a state."""
        q, qd, qdd = self._wanted(np.array([t]), np.zeros(0)).reshape(3, self._n)
        asked = qdd + self.kd * (qd - state.qd) + self.kp * (q - state.q)
        tau = self._dynamics.inverse(state.q, state.qd, asked, float(t), friction=True, actuated=self._actuated)
        return tau[self._rows]


def _compiled(model: Elements, laws: dict[str, Profile]) -> Function:
    """q, q̇ and q̈ of a designed motion as a function of time."""
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


class OperationalSpace:
    """The torques by which a point of a body goes to a target in space, one for each of `bodies`; continuous or sampled.

    The target is a point in world axes, a profile of three values, or a function of time that gives a point, or (x, ẋ, ẍ). All
    joints are driven. Directions in which the point cannot move are left out. `damping`, 1/s, calms what does not move the point.

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
        target: Sequence[float] | Profile | Callable[[float], Any],
        kp: float = 100.0,
        kd: float = 20.0,
        *,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        damping: float = 0.0,
    ) -> None:
        gains = {"kp": kp, "kd": kd, "damping": damping}
        self.kp, self.kd, self.damping = (gain(x, f"OperationalSpace, {name}") for name, x in gains.items())
        self.coordinates, self.bodies = driven(model, None, "OperationalSpace")
        self._body, self._point = body, numbers_given(point, "OperationalSpace, point")
        self._target = target_of(target, (3,), "OperationalSpace, target")
        self._dynamics = dynamics_in_rates(model, "OperationalSpace")
        self._dynamics.kinematics.position(model.initial[0], body, self._point)  # says what is wrong

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The torques at a state."""
        dynamics, (q, qd), t = self._dynamics, (state.q, state.qd), float(t)
        places, wanted, rest = dynamics.kinematics, self._target(t), np.zeros(len(state.q))
        at = self._body, self._point, t
        x, v = places.position(q, *at), places.velocity(q, qd, *at).linear
        a = wanted.acceleration + self.kd * (wanted.rate - v) + self.kp * (wanted.position - x)
        J, M = places.jacobian(q, *at)[:3], dynamics.mass_matrix(q, t)
        by_mass = np.linalg.solve(M, J.T)  # M⁻¹ Jᵀ
        Lambda = np.linalg.pinv(J @ by_mass, rcond=_RANK, hermitian=True)
        F = Lambda @ (a - places.acceleration(q, qd, rest, *at).linear)
        calm = -self.damping * qd
        tau = J.T @ F + M @ calm - J.T @ (Lambda @ (J @ calm))
        return tau + dynamics.inverse(q, qd, rest, t, friction=True)
