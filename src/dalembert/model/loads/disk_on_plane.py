"""Contact of the edge of a thin disk with a plane: a wheel, a coin."""

from __future__ import annotations

import numpy as np

from dalembert.model.keys import constant_length, direction
from dalembert.model.loads.base import LoadKinematics, vector_of
from dalembert.model.loads.contact_base import ContactGeometry
from dalembert.model.loads.sphere_on_plane import OnPlane
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import UnitVector
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.rotations import cross
from dalembert.symbolic.symbols import Formula


@record
class DiskOnPlane(OnPlane):
    """Add contact of the edge of a thin disk with a plane of the world or of another body; laws as in `sphere_on_plane`.

    `center` and `axis` are those of the disk, in axes of its body. A disk that lies flat on the plane has no lowest point,
    and a simulation that reaches this state ends.

    >>> from dalembert.model.model import Model
    >>> model = Model("coin", gravity=(0, 0, -9.81)).coordinates("x", "y", "z", "a", "b", "c")
    >>> _ = model.body("coin", joint=model.free(("x", "y", "z"), ("a", "b", "c")), mass=0.01, inertia=(1e-6, 2e-6, 1e-6))
    >>> model.disk_on_plane("coin", 0.01, stiffness=1e3, damping=2, friction=1).loads[0].law()
    ('disk on plane', 'stiffness 1000, damping 2, friction 1')
    """

    kind = "disk_on_plane"

    radius: Formula = argument(constant_length, positional=True, about="a constant: the radius of the disk")
    axis: UnitVector = argument(direction, (0, 1, 0), about="three numbers: the axis of the disk, in axes of the body")

    def geometry(self, motion: LoadKinematics) -> ContactGeometry:
        """From the center downward in the disk: u = ((n·a) a − n)/√(1 − (n·a)²) for its axis a."""
        frame, ground = motion.frame(self.body), motion.frame(self.ground)
        center, _, _ = frame.point(vector_of(motion, self.center))
        n, a = ground.R @ vector(list(self.normal)), frame.R @ vector(list(self.axis))
        cosine, radius = n @ a, motion.lower(self.radius)
        sine = motion.algebra.sqrt(1 - cosine * cosine)
        with np.errstate(all="ignore"):  # no lowest point where it lies flat
            arm = scaled(radius / sine, scaled(cosine, a) - n)
        height = n @ (center - ground.p - ground.R @ vector_of(motion, self.point))
        return ContactGeometry(radius * sine - height, n, center + arm)

    def reference_geometry(self, poses: ReferencePoses) -> tuple[Scalar, Array, Array]:
        """The downward direction is perpendicular to the axis and to the intersection of disk and plane."""
        a, n = poses.frames[self.body].along(self.axis), poses.frames[self.ground].along(self.normal)
        level = cross(n, a)
        down = scaled(poses.lower(self.radius) / poses.algebra.sqrt(level @ level), cross(level, a))
        lowest = poses.point(self.body, self.center) + down
        return n @ (poses.point(self.ground, self.point) - lowest), n, lowest
