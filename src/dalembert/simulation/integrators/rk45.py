"""Dormand and Prince's pair of orders 5 and 4 with the step control of MATLAB's ode45, for comparison with the papers.

Default tolerances are 1e-3 (relative) and 1e-6 (absolute); dense output by the quartic interpolant of the pair. As in
MATLAB the absolute tolerance has the units of the states: set `atol` if their magnitudes are far from 1.
"""

from __future__ import annotations

import numpy as np

from dalembert.simulation.integrators.base import InitialValueProblem, Settings
from dalembert.simulation.integrators.explicit import Explicit
from dalembert.simulation.integrators.explicit_steps import ODE45, Control, Scheme

# Dormand & Prince (1980): nodes, stage weights, the fifth-order solution (last stage) and the error weights
_C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
_A = np.array(
    [
        [0, 0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
    ]
)
_E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
# the quartic interpolant: y(t + s h) = y + h K (P [s, s², s³, s⁴])
_P = np.array(
    [
        [1, -183 / 64, 37 / 12, -145 / 128],
        [0, 0, 0, 0],
        [0, 1500 / 371, -1000 / 159, 1000 / 371],
        [0, -125 / 32, 125 / 12, -375 / 64],
        [0, 9477 / 3392, -729 / 106, 25515 / 6784],
        [0, -11 / 7, 11 / 3, -55 / 28],
        [0, 3 / 2, -4, 5 / 2],
    ]
)


class RungeKutta45(Explicit):
    """ode45."""

    name = "rk45"
    kind = ODE45

    @classmethod
    def scheme(cls) -> Scheme:
        """The coefficients of Dormand and Prince."""
        return Scheme(_C, _A, _P, np.stack([_E, _E]), 6)

    def rule(self, problem: InitialValueProblem, settings: Settings, end: float) -> tuple[float, Control]:
        """The first step follows from the derivative at the start."""
        rtol, span = settings.rtol or 1e-3, end - problem.t0
        floor = (settings.atol or 1e-6) / rtol
        largest = settings.max_step or span / 10
        h = min(largest, span)
        pace = np.max(np.abs(self.first_slope()) / np.maximum(np.abs(problem.y0), floor)) / (0.8 * rtol**0.2)
        h = max(1 / pace if h * pace > 1 else h, 16 * np.spacing(abs(problem.t0)))
        return h, Control(np.full(len(problem.y0), floor), rtol, largest)
