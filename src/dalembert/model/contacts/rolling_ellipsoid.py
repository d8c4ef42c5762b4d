"""Ellipsoid that rolls on a plane without slipping: a rattleback, an egg."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.attitude import rotation_of
from dalembert.model.contacts.rolling import Rolling
from dalembert.model.keys import fixed_vector
from dalembert.model.loads.base import LoadKinematics
from dalembert.model.loads.ellipsoid_on_plane import below, lowest
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import ZERO, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar
from dalembert.symbolic.symbols import Formula


@record
class RollingEllipsoid(Rolling):
    """Add rolling without slipping of an ellipsoid on a plane of the world or of another body.

    `center` and `rotation` are its center and the orientation of its axes on the body. The plane contains `point` of the
    ground and has the `normal`, both in its axes. With `contact` the ellipsoid is also held on the plane. A rocking egg at a
    tilt of 45 degrees:

    >>> import dalembert as dl
    >>> model = dl.Model("egg", gravity=(0, 0, -10)).coordinates("x", "z", "tilt")
    >>> joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "tilt")]
    >>> _ = model.body("egg", joint=joints, mass=1, inertia=(0.4, 1, 1)).start({"z": "sqrt(5/2)", "tilt": "pi/4"}, {})
    >>> _ = model.rolling_ellipsoid("egg", (2, 1, 1), name="table")
    >>> print(dl.derive(model).accelerations(*model.initial)[2].round(6))  # −m g h′/(I + m (h² + h′²)) for the height h(tilt)
    -2.156098
    """

    kind = "rolling_ellipsoid"

    semi_axes: Vector3 = argument(fixed_vector, positional=True, about="three constants: the semi-axes")
    rotation: Vector3 = argument(
        rotation_of, ZERO, about="the orientation of its axes on the body, a [rotation](#rotations)"
    )

    @property
    def sizes(self) -> Sequence[tuple[str, Formula]]:
        return [(f"semi_axes[{i}]", size) for i, size in enumerate(self.semi_axes)]

    def lowest(self, motion: LoadKinematics, up: Array) -> tuple[Array, Scalar]:
        """x = −A² m/√(m·A² m)."""
        return lowest(motion, self.semi_axes, self.rotation, up)

    def down(self, poses: ReferencePoses, up: Array) -> Array:
        """By three conjugate semi-diameters."""
        return below(poses, self.body, self.semi_axes, self.rotation, up)
