"""The classical Runge–Kutta method of order 4."""

from __future__ import annotations

import numpy as np

from dalembert.simulation.integrators.explicit import FixedStepper
from dalembert.simulation.integrators.explicit_steps import Scheme

_C = np.array([0, 1 / 2, 1 / 2, 1, 1])
_A = np.array(
    [
        [0, 0, 0, 0, 0],
        [1 / 2, 0, 0, 0, 0],
        [0, 1 / 2, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [1 / 6, 1 / 3, 1 / 3, 1 / 6, 0],  # the solution
    ]
)
# dense output: cubic Hermite interpolation
_FIRST, _LAST, _MEAN = np.eye(5)[0], np.eye(5)[4], _A[4]
_P = np.stack([_FIRST, 3 * _MEAN - 2 * _FIRST - _LAST, _FIRST + _LAST - 2 * _MEAN], axis=1)


class RungeKutta4(FixedStepper):
    """RK4 with cubic Hermite dense output."""

    name = "rk4"

    @classmethod
    def scheme(cls) -> Scheme:
        """Kutta's coefficients."""
        return Scheme(_C, _A, _P, np.zeros((2, 5)), 4)
