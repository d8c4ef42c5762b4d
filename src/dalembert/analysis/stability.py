"""Whether an equilibrium or a steady motion is stable, and what says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.analysis.linear.independent_states import followers_in, reduced, state_units
from dalembert.analysis.linear.residuals import Solved
from dalembert.mechanics import rank

_ZERO = 1e-9  # of the largest eigenvalue
_SYMMETRIC = 1e-9


@dataclass(frozen=True)
class Stability:
    """`stable`, `unstable`, `marginal` (all that moves lies on the imaginary axis) or `undecided`; and the reason."""

    verdict: str
    reason: str


def by_hessian(found: Solved, locked: tuple[int, ...]) -> Stability | None:
    """By the second variation of the potential on the constraints, at rest; None where forces have no potential.

    With K positive definite and forces that take energy out, or none, the equilibrium is stable (Lagrange, Dirichlet, Kelvin);
    with a negative direction it is not.
    """
    from scipy import linalg

    r, N = found.by_row["dynamics"], found.split[1]
    if locked:
        N = N @ rank.split(N[list(locked)])[1]
    if not N.shape[1]:
        return Stability("stable", "nothing can move")
    M, K, D = (N.T @ each @ N for each in (found.M, r.q, r.qd))
    size = np.abs(K).max(initial=0.0)
    if np.abs(K - K.T).max() > _SYMMETRIC * size:
        return None
    taken = linalg.eigvalsh((D + D.T) / 2, M)
    if taken[0] < -_ZERO * max(np.abs(taken).max(), np.sqrt(size / np.abs(M).max())):
        return None
    squares = linalg.eigvalsh((K + K.T) / 2, M)
    least, most = squares[0], np.abs(squares).max()
    said = "of the Hessian of the potential on the constraints, by the masses, is"
    if least > _ZERO * most:
        return Stability("stable", f"the smallest eigenvalue {said} {least:.6g}")
    if least < -_ZERO * most:
        return Stability("unstable", f"the smallest eigenvalue {said} {least:.6g}")
    return Stability("undecided", "the Hessian of the potential on the constraints is zero along some direction")


def by_spectrum(found: Solved) -> Stability:
    """By the eigenvalues of the linear equations; those of followers are none."""
    from scipy import linalg

    linear = reduced(found)
    followers = followers_in(linear.A, state_units(found, linear.chosen), len(linear.chosen))
    rest = [i for i in range(len(linear.A)) if i not in followers]
    values = linalg.eigvals(linear.A[np.ix_(rest, rest)])
    size = np.abs(values).max(initial=0.0)
    # a double zero is known to half of the digits only
    moving = values[np.abs(values) > np.sqrt(_ZERO) * 1e-2 * size] if size else values[:0]
    still = len(values) - len(moving)
    largest = float(np.real(moving).max(initial=-np.inf))
    beside = f", besides {still} zero" if still else ""
    said = f"the largest real part of the spectrum{beside} is"
    if not len(moving):
        return Stability("undecided", "all eigenvalues are zero")
    if largest > _ZERO * size:
        return Stability("unstable", f"{said} {largest:.6g}")
    if largest < -_ZERO * size:
        return Stability("stable", f"{said} {largest:.6g}")
    return Stability("marginal", f"the spectrum{beside} has its largest real part on the imaginary axis")
