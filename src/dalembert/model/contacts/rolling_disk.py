"""Thin disk that rolls on a plane without slipping: a wheel, a coin."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.contacts.rolling import Rolling
from dalembert.model.keys import constant_length, direction
from dalembert.model.loads.base import LoadKinematics
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.rotations import cross
from dalembert.symbolic.symbols import Formula


@record
class RollingDisk(Rolling):
    """Add rolling without slipping of a thin disk on a plane of the world or of another body.

    `center` and `axis` are those of the disk, in body axes; a disk that lies flat has no lowest point.

    The plane contains `point` of the ground and has the `normal`, both in its axes. With `contact` the disk is also held on
    the plane by a holonomic constraint; omit it if the coordinates already satisfy that. A hoop that rolls down an incline
    of 30 degrees has half the acceleration of a block that slides without friction:

    >>> import dalembert as dl
    >>> model = dl.Model("hoop", gravity=(0, 0, -9)).coordinates("x", "z", "turn").start({"z": "0.2/cos(pi/6)"}, {})
    >>> joints = [model.prismatic((1, 0, 0), "x"), model.prismatic((0, 0, 1), "z"), model.revolute((0, 1, 0), "turn")]
    >>> _ = model.body("hoop", joint=joints, mass=2, inertia=(0.04, 0.08, 0.04))
    >>> _ = model.rolling_disk("hoop", 0.2, normal=(0.5, 0, 0.75**0.5))
    >>> x, z, turn = dl.derive(model).accelerations(*model.initial)
    >>> print(round(0.75**0.5 * x - z / 2, 9), round(0.2 * turn, 9))
    2.25 2.25
    """

    kind = "rolling_disk"

    radius: Formula = argument(constant_length, positional=True, about="a constant")
    axis: UnitVector = argument(direction, (0, 1, 0), about="three numbers: its symmetry axis, in body axes")

    @property
    def sizes(self) -> Sequence[tuple[str, Formula]]:
        return [("radius", self.radius)]

    def lowest(self, motion: LoadKinematics, up: Array) -> tuple[Array, Scalar]:
        """Opposite to the projection of the normal onto the disk; r sin(angle of axis and normal) below the center."""
        axis = vector(list(self.axis))
        cosine, radius = up @ axis, motion.lower(self.radius)
        sine = motion.algebra.sqrt(1 - cosine * cosine)
        return scaled(-radius / sine, up - scaled(cosine, axis)), radius * sine

    def down(self, poses: ReferencePoses, up: Array) -> Array:
        """Perpendicular to the axis and to the intersection of the disk's plane with the ground."""
        axis = poses.frames[self.body].along(self.axis)
        level = cross(up, axis)
        return scaled(poses.lower(self.radius) / poses.algebra.sqrt(level @ level), cross(level, axis))
