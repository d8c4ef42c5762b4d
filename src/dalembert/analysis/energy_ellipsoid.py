"""The kinetic energy ellipsoid: all angular velocities at which a body has the same rotational energy.

Source: papers/desapio (5.187)–(5.195). In body axes it does not depend on the motion; in the base frame, as in (5.188),
it rotates with the body: ᴼI = R I Rᵀ.

| symbol | name | meaning |
|---|---|---|
| λ | `moments` | principal moments of inertia, the eigenvalues of the inertia tensor (5.191) |
| v | `directions` | principal axes, the eigenvectors, as columns (5.189) |
| a | `semiaxes` | a_i = √(2T/λ_i) (5.194) |

Deviates: (5.195) prints the tensor of a cone about its center of mass, without M in its last entry. With M = 1, h = 1 and
R = 0.75 it has the eigenvalues 0.122, 0.122 and 0.169. The values of the text, 0.684, 0.684 and 0.169, and the semiaxes
1.71, 1.71 and 3.443 belong to the apex: 3/20 M R² + 3/5 M h² twice, and 3/10 M R².
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dalembert.api.load import accepts_source
from dalembert.errors import InputError, suggest_name
from dalembert.mechanics.motion import move
from dalembert.model.description import Elements
from dalembert.model.evaluation import Start, at_start, start_state, value
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Ellipsoid:
    """Semiaxes (3,), their directions as columns (3, 3) and the principal moments (3,); the longest semiaxis is first."""

    semiaxes: np.ndarray
    directions: np.ndarray  # in the axes of `frame`
    moments: np.ndarray
    frame: str = "body"  # or world

    def angular_velocities(self, along: npt.ArrayLike) -> np.ndarray:
        """Points ω of the ellipsoid (3, K) in the axes of `frame`, for unit vectors (3, K) along its principal axes: (5.193).

        >>> found = kinetic_energy_ellipsoid(np.diag([2.0, 8.0, 8.0]), 1.0)
        >>> np.abs(found.angular_velocities([[0.6], [0.8], [0.0]])).round(12).tolist()
        [[0.6], [0.4], [0.0]]
        """
        units = np.array(along, dtype=float)
        if units.shape[:1] != (3,) or not np.allclose(np.sum(units**2, axis=0), 1.0):
            raise InputError(f"angular_velocities: got shape {units.shape}. Expected unit vectors, (3,) or (3, K).")
        return self.directions @ (units.T * self.semiaxes).T


def kinetic_energy_ellipsoid(inertia: npt.ArrayLike, energy: float) -> Ellipsoid:
    """The ellipsoid ½ ωᵀ I ω = T of an inertia (3, 3) and an energy T; a semiaxis is infinite if its moment is 0.

    >>> kinetic_energy_ellipsoid(np.diag([2.0, 8.0, 8.0]), 1.0).semiaxes.tolist()
    [1.0, 0.5, 0.5]
    """
    matrix = np.array(inertia, dtype=float)
    _require(matrix, energy)
    moments, directions = np.linalg.eigh(matrix)  # (5.190)
    moments = np.where(moments > _TOLERANCE * moments[-1], moments, 0.0)
    directions[:, 2] *= np.sign(np.linalg.det(directions))  # a right-handed frame
    with np.errstate(divide="ignore"):
        return Ellipsoid(np.sqrt(2 * energy / moments), directions, moments)  # (5.194)


@accepts_source
def ellipsoid(
    model: Elements,
    body: str,
    energy: float = 1.0,
    *,
    point: npt.ArrayLike | None = None,
    frame: str = "body",
    q: Start = None,
    t: float = 0.0,
) -> Ellipsoid:
    """The kinetic energy ellipsoid of a body about its center of mass, or about another point.

    Parameters
    ----------
    energy : float, default 1.0
        Kinetic energy of the angular velocities on the ellipsoid.
    point : array_like, shape (3,), optional
        The reference point in body axes; the center of mass if None.
    frame : {'body', 'world'}
        Axes of the result; 'world' is the base frame of (5.188) in papers/desapio.
    q : array_like, shape (n,), or mapping of str to float, optional
        Coordinates that define the orientation of the body; the initial ones if None.
    t : float, default 0.0
        Time.

    Returns
    -------
    Ellipsoid
        Semiaxes in rad per unit of time, and their directions.

    Raises
    ------
    InputError
        If there is no such body or frame, the inertia is zero, or the energy is not positive.

    Examples
    --------
    >>> import dalembert as dl
    >>> ellipsoid(dl.load("gyroscope"), "rotor").semiaxes.round(3).tolist()
    [2.449, 2.449, 2.0]
    """
    bodies = {b.name: b for b in model.bodies}
    if body not in bodies:
        raise InputError(f"ellipsoid: there is no body '{body}'. {suggest_name(body, bodies)}")
    if frame not in ("body", "world"):
        raise InputError(f"ellipsoid: there is no frame '{frame}'. Expected 'body' or 'world'.")
    chosen, table = bodies[body], at_start(model)
    inertia = np.array([[value(entry, table) for entry in row] for row in chosen.inertia])
    if point is not None:
        # parallel-axis theorem: I + M (d·d 1 − d dᵀ)
        d = np.array([value(entry, table) for entry in chosen.center]) - np.array(point, dtype=float)
        inertia = inertia + value(chosen.mass, table) * (d @ d * np.eye(3) - np.outer(d, d))
    if frame == "body":
        return kinetic_energy_ellipsoid(inertia, energy)
    R = _rotation(model, body, start_state(model, q, None, "ellipsoid", ("q", "qd"))[0], t)
    found = kinetic_energy_ellipsoid(R @ inertia @ R.T, energy)  # (5.188)
    return replace(found, frame="world")


def _rotation(model: Elements, body: str, q: np.ndarray, t: float) -> np.ndarray:
    """R_WB: from body axes to those of the base."""
    qd = vector([0.0] * len(q))
    motion = move(model, FLOATS, t, vector(list(q)), qd, model.parameter_values)
    return np.array(next(b.R_WB for b in motion.bodies if b.name == body), dtype=float)


def _require(matrix: np.ndarray, energy: float) -> None:
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise InputError(f"ellipsoid: the inertia has shape {matrix.shape}. Expected finite numbers, shape (3, 3).")
    size = float(np.abs(matrix).max())
    if np.abs(matrix - matrix.T).max() > _TOLERANCE * size:
        raise InputError("ellipsoid: the inertia is not symmetric. Make entries [i][j] and [j][i] equal.")
    moments = np.linalg.eigvalsh(matrix)
    if size == 0 or moments[0] < -_TOLERANCE * size:
        values = ", ".join(f"{m:g}" for m in moments)
        raise InputError(f"ellipsoid: the principal moments are {values}. Expected values >= 0, not all 0.")
    if not (np.isfinite(energy) and energy > 0):
        raise InputError(f"ellipsoid: the energy is {energy}. Expected a positive number.")
