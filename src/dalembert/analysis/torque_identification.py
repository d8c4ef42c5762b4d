"""Base parameters from measured torques: weighted linear least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.analysis.base_parameters import BaseParameters
from dalembert.analysis.fit_result import Estimate
from dalembert.errors import InputError
from dalembert.mechanics.rank import TOLERANCE
from dalembert.model.frozen import Value
from dalembert.tables import Table, Tabular, short

_ROUNDS = 3  # in which the noise of every joint is found, and found again with it


@dataclass(frozen=True, repr=False)
class Identified(Value, Tabular):
    """Base parameters with uncertainties."""

    base: BaseParameters
    x: np.ndarray  # in the order of the base parameters
    covariance: np.ndarray
    sigma: np.ndarray  # the noise of every joint, as it is left over
    condition: float  # of the weighted regressor with columns of length 1: near 1 for a motion that excites everything

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The values with their standard deviations, by the names of the combinations."""
        size = np.sqrt(np.diag(self.covariance))
        return {name: Estimate(float(x), float(s)) for name, x, s in zip(self.base.names, self.x, size, strict=True)}

    def tables(self) -> tuple[Table, ...]:
        """The combinations, as found and as the model has them."""
        rows = [
            (name, f"{found.value:.6g}", f"{found.sigma:.2g}", short(float(known)))
            for (name, found), known in zip(self.estimates.items(), self.base.values, strict=True)
        ]
        joints = ", ".join(f"{x:.3g}" for x in self.sigma)
        noise = f"Noise of the joints: {joints}. Condition of the motion: {self.condition:.3g}."
        return (Table(("combination", "value", "± σ", "in the model"), tuple(rows), "", (noise,)),)

    def __repr__(self) -> str:
        return f"<Identified: {self.base.rank} base parameters>"


def identified(Y: np.ndarray, tau: np.ndarray, base: BaseParameters) -> Identified:
    """The base parameters behind torques (joints, samples), with Y (joints, rank, samples); joints are weighed by their noise."""
    joints, rank, samples = Y.shape
    if joints * samples <= rank:
        raise InputError(
            f"identify: {joints * samples} torques do not tell {rank} base parameters. Measure more samples."
        )
    weights = np.ones(joints)
    for _ in range(_ROUNDS):
        x, *_ = _solved(Y, tau, weights, base)
        left = tau - np.einsum("jrs,r->js", Y, x)
        noise = np.sqrt((left**2).sum(axis=1) / max(samples - rank / joints, 1.0))
        weights = 1.0 / np.maximum(noise, 1e-14 * max(float(np.abs(tau).max()), 1e-300))
    x, covariance, condition = _solved(Y, tau, weights, base)
    return Identified(base, x, covariance, 1.0 / weights, condition)


def _solved(
    Y: np.ndarray, tau: np.ndarray, weights: np.ndarray, base: BaseParameters
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weighted least squares: the solution, its covariance, and the condition."""
    A = np.moveaxis(Y * weights[:, None, None], 1, 2).reshape(-1, Y.shape[1])
    size = np.linalg.norm(A, axis=0)
    if not (size > 0).all():
        raise InputError(
            f"identify: the motion does not excite {base.names[int(np.argmin(size))]}. Measure another one."
        )
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    if s[-1] <= TOLERANCE * s[0]:
        raise InputError(
            "identify: the motion does not excite all base parameters: their regressor is singular. Measure a richer one."
        )
    parts = (Vt.T / s) / size[:, None]
    return parts @ (U.T @ (tau * weights[:, None]).ravel()), parts @ parts.T, float(s[0] / s[-1])
