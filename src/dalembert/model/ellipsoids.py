"""The lowest point of an ellipsoid, for what rolls on a plane and for what presses on it.

In the axes of the ellipsoid, with semi-axes A = diag(a, b, c) and the upward direction m, the surface x·A⁻² x = 1 has its normal
along A⁻² x. It is −m at the lowest point, so that there

    x = −A² m / √(m·A² m),     √(m·A² m) below the centre.
"""

from __future__ import annotations

from dalembert.errors import Problem
from dalembert.model.attitude import turn
from dalembert.model.checks.check_values import Table, value
from dalembert.model.file_form import ORIGIN
from dalembert.model.keys import Key, Keys, fixed_vector
from dalembert.model.loads.base import Motion, vector_of
from dalembert.model.reference_model import Places
from dalembert.model.vectors import Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.rotations import roll_pitch_yaw

ELLIPSOID: Keys = {
    "semi_axes": Key(fixed_vector, required=True),
    "center": Key(fixed_vector, usual=ORIGIN),
    "rotation": Key(turn, usual=ORIGIN),
}


def lowest(motion: Motion, semi_axes: Vector3, rotation: Vector3, up: Array) -> tuple[Array, Scalar]:
    """The way from the centre to the lowest point for a unit vector upwards, both in body axes, and how deep that is."""
    turned = roll_pitch_yaw(motion.algebra, list(vector_of(motion, rotation)))
    m = turned.T @ up
    grown = vector([a * a * x for a, x in zip(vector_of(motion, semi_axes), m, strict=True)])
    depth = motion.algebra.sqrt(m @ grown)
    return turned @ scaled(-1 / depth, grown), depth


def below(places: Places, body: str, semi_axes: Vector3, rotation: Vector3, up: Array) -> Array:
    """For the evidence, in world axes: of all Σ yᵢ fᵢ with |y| = 1 for the half diameters fᵢ the lowest has y along −(up·fᵢ)."""
    axes = places.placed(body, ORIGIN, rotation).R
    f = [scaled(places.lower(a), axes[:, i]) for i, a in enumerate(semi_axes)]
    y = vector([up @ each for each in f])
    far = 1 / places.algebra.sqrt(y @ y)
    return sum((scaled(-far * each, way) for each, way in zip(y, f, strict=True)), start=scaled(0.0, up))


def misshapen(title: str, semi_axes: Vector3, table: Table) -> list[Problem]:
    """The problems of semi-axes that are not positive."""
    return [
        Problem(f"{title}, semi_axes[{i}]", f"the length is {value(a, table):g}.", "Expected a positive number.")
        for i, a in enumerate(semi_axes)
        if not 0 < value(a, table) < float("inf")
    ]
