"""Contact of two spheres on different bodies."""

from __future__ import annotations

import numpy as np

from dalembert.errors import Problem
from dalembert.model.keys import constant_length, fixed_vector
from dalembert.model.loads.base import LoadKinematics, vector_of
from dalembert.model.loads.contact_base import ContactGeometry, ContactLoad
from dalembert.model.loads.sphere_on_plane import sized
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import ZERO, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, scaled
from dalembert.symbolic.symbols import Formula


@record
class SphereOnSphere(ContactLoad):
    """Add contact of a sphere of a body with a sphere of another, or of the world; laws as in `sphere_on_plane`.

    The contact force acts in the middle of the overlap.

    >>> import dalembert as dl
    >>> model = dl.Model("billiards").coordinate("x", -1, 2.0).coordinate("y", 0)
    >>> for name, along in (("cue", "x"), ("ball", "y")):
    ...     _ = model.body(name, joint=model.prismatic((1, 0, 0), along), mass=0.2)
    >>> _ = model.sphere_on_sphere("cue", radius=0.03, ground="ball", ground_radius=0.03, stiffness=1e5)
    >>> dl.simulate(model, 1.0, samples=2).qd[:, -1].round(9) + 0.0
    array([0., 2.])
    """

    kind = "sphere_on_sphere"

    radius: Formula = argument(constant_length, 0, about="a constant: the radius of the sphere (0: a point)")
    center: Vector3 = argument(
        fixed_vector, ZERO, about="three constants: the center of the sphere, in axes of the body"
    )
    ground_radius: Formula = argument(constant_length, 0, about="a constant: the radius of the other sphere")
    ground_center: Vector3 = argument(
        fixed_vector, ZERO, about="three constants: the center of the other sphere, in axes of the ground"
    )

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [(self.body, self.center), (self.ground, self.ground_center)]

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found = super().problems(table) + sized(self.title, self.radius, table)
        return found + sized(f"{self.title}, ground", self.ground_radius, table)

    def geometry(self, motion: LoadKinematics) -> ContactGeometry:
        (c, _, _), (o, _, _) = (motion.frame(name).point(vector_of(motion, x)) for name, x in self.fixed_points)
        line, r, R = c - o, motion.lower(self.radius), motion.lower(self.ground_radius)
        distance = motion.algebra.sqrt(line @ line)
        with np.errstate(all="ignore"):  # no direction where the centers coincide
            n = scaled(1 / distance, line)
        depth = r + R - distance
        return ContactGeometry(depth, n, c - scaled(r - motion.algebra.half * depth, n))

    def reference_geometry(self, poses: ReferencePoses) -> tuple[Scalar, Array, Array]:
        """The midpoint of the two sphere points on the line through the centers."""
        c, o = (poses.point(name, x) for name, x in self.fixed_points)
        r, R, line = poses.lower(self.radius), poses.lower(self.ground_radius), c - o
        n = scaled(1 / poses.algebra.sqrt(line @ line), line)
        near, far = c - scaled(r, n), o + scaled(R, n)
        return n @ (far - near), n, scaled(0.5, near + far)
