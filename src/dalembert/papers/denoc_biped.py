"""The biped's step of papers/denoc, section 3.5: as it is designed, with the slips of ReDySim's example, and as it comes out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import dalembert as dl
from dalembert.analysis.tracking import designed
from dalembert.io import gallery

T, h, d, s, f, g = 0.5, 0.92, 0.15, 0.06, 0.05, 9.81  # as the model file names them
GAINS = (225.0, 40.0)  # of ReDySim's controller
Torques = Callable[[float, np.ndarray, np.ndarray], np.ndarray]  # of (t, q, q̇)


def hip(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x and y of the hip at the height h, and the rate and acceleration of y: an inverted pendulum, Figure 12."""
    w = math.sqrt(g / h)
    x, sway = d * np.sinh(w * (t - T / 2)) / math.sinh(w * T / 2), s * np.cosh(w * (t - T / 2)) / math.cosh(w * T / 2)
    return x, s - sway, -s * w * np.sinh(w * (t - T / 2)) / math.cosh(w * T / 2), -w * w * sway


def lift(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The height of the swinging ankle, its rate and acceleration."""
    turn = 2 * math.pi / T
    return f * (1 - np.cos(turn * t)), f * turn * np.sin(turn * t), f * turn**2 * np.cos(turn * t)


class Step:
    """The designed step at many times, and runs of the model along it.

    >>> Step().q.shape
    (12, 2001)
    """

    def __init__(self) -> None:
        self.model = dl.load("biped")
        self.dynamics = dl.dynamics(self.model)
        self.t = np.linspace(0, T, 2001)
        self.q, self.qd, self.qdd = designed(self.model, gallery.expected("biped")["motion"], self.t)

    @cached_property
    def slipped(self) -> tuple[np.ndarray, np.ndarray]:
        """q̇ and q̈ as the trajectory of ReDySim's example has them, for the roll a of a leg: tan a = y/z from ankle to hip.

        ȧ = (ẏ − ż tan a) cos²a/z and ä = ((ÿ − z̈ tan a) cos²a − 2 ż ȧ)/z − 2 ȧ² tan a. ReDySim has ẏ + ż tan a in ȧ, and
        −((ÿ + z̈ tan a) cos²a + 2 ż ȧ)/z ± 2 ȧ tan a in ä: the sign of its main term is turned.
        """
        _, y, yd, ydd = hip(self.t)
        rise, fall, pull = lift(self.t)
        qd, qdd = self.qd.copy(), self.qdd.copy()
        for (up, down), side, z, zd, zdd in (((1, 4), 1, h, 0, 0), ((7, 10), -1, h - rise, -fall, -pull)):
            a = np.arctan2(y, z)
            rate = (yd + zd * np.tan(a)) * np.cos(a) ** 2 / z
            slip = -((ydd + zdd * np.tan(a)) * np.cos(a) ** 2 + 2 * zd * rate) / z + 2 * side * rate * np.tan(a)
            qd[up], qd[down], qdd[up], qdd[down] = rate, -rate, slip, -slip
        return qd, qdd

    @cached_property
    def torques(self) -> np.ndarray:
        """Figure 14: what the design takes."""
        return self.dynamics.inverse(self.q, self.qd, self.qdd)

    @cached_property
    def slipped_torques(self) -> np.ndarray:
        """What it takes with the slips."""
        return self.dynamics.inverse(self.q, *self.slipped)

    def open_loop(self, torques: np.ndarray, times: np.ndarray) -> np.ndarray:
        """q (12, k) under torques given in time: nothing corrects an error, Figure 15."""
        table = CubicSpline(self.t, torques.T)
        return self._run(lambda t, q, qd: table(t), times)[:12]

    def controlled(self, times: np.ndarray) -> np.ndarray:
        """q and q̇ (24, k) under ReDySim's controller, which follows the design with the slips."""
        goal = CubicSpline(self.t, np.concatenate([self.q, *self.slipped]).T)

        def torques(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            aim, rate, pull = goal(t).reshape(3, 12)
            return self.dynamics.inverse(q, rate, pull + GAINS[0] * (aim - q) + GAINS[1] * (rate - qd))

        return self._run(torques, times)

    def leaving(self, torques: np.ndarray, distance: float) -> float:
        """The time when a run without a controller is further from the design than this."""
        found = self.open_loop(torques, self.t[:1201])  # the first 0.3 s
        off = np.abs(found - self.q[:, :1201]).max(axis=0)
        return float(self.t[np.argmax(off > distance)])

    def _run(self, torques: Torques, times: np.ndarray) -> np.ndarray:
        """The run from the start of the step, by the method and tolerances of ReDySim's example."""

        def rates(t: float, state: np.ndarray) -> np.ndarray:
            q, qd = state[:12], state[12:]
            return np.concatenate([qd, self.dynamics.forward(q, qd, torques(t, q, qd))])

        start = np.concatenate([self.q[:, 0], self.qd[:, 0]])
        return solve_ivp(rates, (0, times[-1]), start, t_eval=times, rtol=1e-4, atol=1e-6).y
