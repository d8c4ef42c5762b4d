"""Equations solved in units of equal energy, so that metres beside radians cost no digits."""

from __future__ import annotations

import numpy as np

from dalembert.equations import LinearForm
from dalembert.kernels.solve import assembled
from dalembert.structure.rank import inertia_scale


def solve_evenly(
    form: LinearForm,
    M: np.ndarray,
    f: np.ndarray,
    A: np.ndarray,
    beta: np.ndarray,
    C: np.ndarray,
    J: np.ndarray,
    W: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """v̇ and λ as `assembled` gives them, with v measured in M_ii^(−1/2) where a formalism solves by its own way.

    Roots of M and orthogonal factors mix the velocities: with lengths in micrometres M has entries from 1e-12 to 1, and what
    is small drowns in the rounding of what is large. In units of equal energy the diagonal of M is 1.
    """
    if form.solver is None or form.extra:
        return assembled(form, M, f, A, beta, C, J, W)
    u = inertia_scale(M, A)
    even = M * u[:, :, None] * u[:, None, :]
    column, weak = u[:, None, :], C * u if C.shape[1] else C
    vd, lam = assembled(form, even, f * u, A * column, beta, weak, J * column, W * column)
    return vd * u, lam
