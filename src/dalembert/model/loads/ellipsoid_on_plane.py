"""Contact of an ellipsoid with a plane: a rattleback or an egg that may slip and lift off.

In the axes of the ellipsoid, with semi-axes A = diag(a, b, c) and the upward direction m, the normal of the surface
x·A⁻² x = 1 is along A⁻² x. It is −m at the lowest point, so that there

    x = −A² m / √(m·A² m),     √(m·A² m) below the center.
"""

from __future__ import annotations

from dalembert.errors import Problem
from dalembert.model.attitude import rotation_of
from dalembert.model.evaluation import Table, value
from dalembert.model.keys import ORIGIN, direction, fixed_vector
from dalembert.model.loads.base import LoadKinematics, vector_of
from dalembert.model.loads.contact_base import ContactGeometry, ContactLoad
from dalembert.model.loads.sphere_on_plane import beside_normal
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import ZERO, UnitVector, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.rotations import roll_pitch_yaw
from dalembert.symbolic.symbols import Formula


def lowest(motion: LoadKinematics, semi_axes: Vector3, rotation: Vector3, up: Array) -> tuple[Array, Scalar]:
    """The vector from the center to the lowest point and its depth, for the unit normal `up`, in body axes."""
    R = roll_pitch_yaw(motion.algebra, list(vector_of(motion, rotation)))
    m = R.T @ up
    A2_m = vector([a * a * x for a, x in zip(vector_of(motion, semi_axes), m, strict=True)])
    depth = motion.algebra.sqrt(m @ A2_m)
    return R @ scaled(-1 / depth, A2_m), depth


def below(poses: ReferencePoses, body: str, semi_axes: Vector3, rotation: Vector3, up: Array) -> Array:
    """For verification, in world axes: the lowest point Σ yᵢ fᵢ with |y| = 1 and semi-diameters fᵢ has y along −(up·fᵢ)."""
    axes = poses.fixed_frame(body, ORIGIN, rotation).R
    f = [scaled(poses.lower(a), axes[:, i]) for i, a in enumerate(semi_axes)]
    y = vector([up @ each for each in f])
    far = 1 / poses.algebra.sqrt(y @ y)
    return sum((scaled(-far * each, axis) for each, axis in zip(y, f, strict=True)), start=scaled(0.0, up))


def misshapen(title: str, semi_axes: Vector3, table: Table) -> list[Problem]:
    """The problems of semi-axes that are not positive."""
    return [
        Problem(f"{title}, semi_axes[{i}]", f"the length is {value(a, table):g}.", "Expected a positive number.")
        for i, a in enumerate(semi_axes)
        if not 0 < value(a, table) < float("inf")
    ]


@record
class EllipsoidOnPlane(ContactLoad):
    """Add contact of an ellipsoid with a plane of the world or of another body; laws as in `sphere_on_plane`.

    `center` and `rotation` are its center and the orientation of its axes on the body. An egg on its tip:

    >>> import dalembert as dl
    >>> model = dl.Model("egg", gravity=(0, 0, -10)).coordinates("x", "y", "z", "a", "b", "c").start({"z": 0.299}, {})
    >>> _ = model.body("egg", joint=model.free(("x", "y", "z"), ("a", "b", "c")), mass=1, inertia=(0.02, 0.02, 0.01))
    >>> _ = model.ellipsoid_on_plane("egg", (0.2, 0.2, 0.3), stiffness=1e4, damping=10, friction=0.4)
    >>> dl.derive(model).accelerations(*model.initial).round(9) + 0.0
    array([0., 0., 0., 0., 0., 0.])
    """

    kind = "ellipsoid_on_plane"

    semi_axes: Vector3 = argument(fixed_vector, positional=True, about="three constants: the semi-axes")
    center: Vector3 = argument(fixed_vector, ZERO, about="three constants: the center, in axes of the body")
    rotation: Vector3 = argument(
        rotation_of, ZERO, about="the orientation of its axes on the body, a [rotation](#rotations)"
    )
    point: Vector3 = argument(fixed_vector, ZERO, about="three constants: a point of the plane, in axes of the ground")
    normal: UnitVector = argument(direction, (0, 0, 1), about="three numbers: the outward normal of the ground")

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [(self.body, self.center), (self.ground, self.point)]

    @property
    def characteristic_length(self) -> Formula:
        return self.semi_axes[0]

    def problems(self, table: dict[str, float]) -> list[Problem]:
        return super().problems(table) + misshapen(self.title, self.semi_axes, table) + beside_normal(self, self.normal)

    def geometry(self, motion: LoadKinematics) -> ContactGeometry:
        frame, ground = motion.frame(self.body), motion.frame(self.ground)
        n, center = ground.R @ vector(list(self.normal)), vector_of(motion, self.center)
        arm, depth = lowest(motion, self.semi_axes, self.rotation, frame.R.T @ n)
        middle = frame.p + frame.R @ center
        height = n @ (middle - ground.p - ground.R @ vector_of(motion, self.point))
        return ContactGeometry(depth - height, n, middle + frame.R @ arm)

    def reference_geometry(self, poses: ReferencePoses) -> tuple[Scalar, Array, Array]:
        """By three conjugate semi-diameters."""
        n = poses.frames[self.ground].along(self.normal)
        point = poses.point(self.body, self.center) + below(poses, self.body, self.semi_axes, self.rotation, n)
        return n @ (poses.point(self.ground, self.point) - point), n, point
