"""Control of a point in space, Khatib (1987), A unified approach for motion and force control of robot manipulators.

    τ = Jᵀ Λ (a − J̇ q̇) + c + g − loads + (1 − Jᵀ Λ J M⁻¹) M (−damping q̇)
    Λ = (J M⁻¹ Jᵀ)⁺,     a = ẍ_d + kd (ẋ_d − ẋ) + kp (x_d − x)

The last term calms what does not move the point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.analysis.controllers.controlled_joints import driven, dynamics_in_rates, gain, target_of
from dalembert.arguments import numbers_given
from dalembert.model.description import Elements
from dalembert.model.profiles import Profile
from dalembert.model.python_laws import State

_RANK = 1e-9  # of the largest: directions in which the point cannot move have no Λ


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
