"""The kinetic energy ellipsoid: all angular velocities at which a body has the same rotational energy.

Source: papers/desapio (5.187)–(5.195).

| symbol | name | meaning |
|---|---|---|
| λ | `moments` | principal moments of inertia, the eigenvalues of the inertia tensor (5.191) |
| v | `directions` | principal axes, the eigenvectors, as columns (5.189) |
| a | `semiaxes` | a_i = √(2T/λ_i) (5.194) |

Deviates: (5.195) prints the tensor of a cone about its mass centre, without M in its last entry. With M = 1, h = 1 and
R = 0.75 it has the eigenvalues 0.122, 0.122 and 0.169. The values of the text, 0.684, 0.684 and 0.169, and the semiaxes
1.71, 1.71 and 3.443 belong to the apex: 3/20 M R² + 3/5 M h² twice, and 3/10 M R².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalembert.errors import InputError, nearest
from dalembert.model import Elements
from dalembert.model.checks.values import at_start, value

_CLOSE = 1e-9


@dataclass(frozen=True)
class Ellipsoid:
    """Semiaxes (3,), their directions as columns (3, 3) and the principal moments (3,); the longest semiaxis comes first."""

    semiaxes: np.ndarray
    directions: np.ndarray
    moments: np.ndarray


def kinetic_energy_ellipsoid(inertia: npt.ArrayLike, energy: float) -> Ellipsoid:
    """The ellipsoid ½ ωᵀ I ω = T of an inertia (3, 3) and an energy T; a semiaxis is infinite where the moment is 0.

    >>> kinetic_energy_ellipsoid(np.diag([2.0, 8.0, 8.0]), 1.0).semiaxes.tolist()
    [1.0, 0.5, 0.5]
    """
    matrix = np.array(inertia, dtype=float)
    _require(matrix, energy)
    moments, directions = np.linalg.eigh(matrix)  # (5.190)
    moments = np.where(moments > _CLOSE * moments[-1], moments, 0.0)
    directions[:, 2] *= np.sign(np.linalg.det(directions))  # a right-handed frame
    with np.errstate(divide="ignore"):
        return Ellipsoid(np.sqrt(2 * energy / moments), directions, moments)  # (5.194)


def of_body(model: Elements, body: str, energy: float, point: npt.ArrayLike | None = None) -> Ellipsoid:
    """The ellipsoid of a body of a model, in body axes: about its mass centre, or about a point given in body axes.

    >>> import dalembert as dl
    >>> of_body(dl.load("gyroscope"), "rotor", 1.0).semiaxes.round(3).tolist()
    [2.449, 2.449, 2.0]
    """
    bodies = {b.name: b for b in model.bodies}
    if body not in bodies:
        raise InputError(f"ellipsoid: there is no body '{body}'. {nearest(body, bodies)}")
    chosen, table = bodies[body], at_start(model)
    inertia = np.array([[value(entry, table) for entry in row] for row in chosen.inertia])
    if point is not None:
        # Steiner: I + M (d·d 1 − d dᵀ)
        d = np.array([value(entry, table) for entry in chosen.center]) - np.array(point, dtype=float)
        inertia = inertia + value(chosen.mass, table) * (d @ d * np.eye(3) - np.outer(d, d))
    return kinetic_energy_ellipsoid(inertia, energy)


def _require(matrix: np.ndarray, energy: float) -> None:
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise InputError(f"ellipsoid: the inertia has shape {matrix.shape}. Expected 3×3 finite numbers.")
    size = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > _CLOSE * size:
        raise InputError("ellipsoid: the inertia is not symmetric. Make entries [i][j] and [j][i] equal.")
    moments = np.linalg.eigvalsh(matrix)
    if size == 0 or moments[0] < -_CLOSE * size:
        shown = ", ".join(f"{m:g}" for m in moments)
        raise InputError(f"ellipsoid: the principal moments are {shown}. Expected none negative and not all 0.")
    if not (np.isfinite(energy) and energy > 0):
        raise InputError(f"ellipsoid: the energy is {energy}. Expected a positive number.")
