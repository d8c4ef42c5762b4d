"""Contact of a sphere, or a point, with a plane."""

from __future__ import annotations

from dalembert.errors import Problem
from dalembert.model import keys
from dalembert.model.evaluation import value
from dalembert.model.keys import constant_length, direction, fixed_vector
from dalembert.model.loads.base import LoadKinematics, vector_of
from dalembert.model.loads.contact_base import ContactGeometry, ContactLoad
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import WORLD, ZERO, UnitVector, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.symbols import Formula

ORIGIN = keys.ORIGIN


@record
class OnPlane(ContactLoad):
    """Base class of contacts with a plane of the ground through `point`; `normal` points out of the ground."""

    radius: Formula = argument(constant_length, 0, about="a constant: the radius of the sphere (0: a point)")
    center: Vector3 = argument(fixed_vector, ZERO, about="three constants: the center, in axes of the body")
    point: Vector3 = argument(fixed_vector, ZERO, about="three constants: a point of the plane, in axes of the ground")
    normal: UnitVector = argument(direction, (0, 0, 1), about="three numbers: the outward normal of the ground")

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [(self.body, self.center), (self.ground, self.point)]

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found = super().problems(table) + sized(self.title, self.radius, table)
        return found + beside_normal(self, self.normal)


@record
class SphereOnPlane(OnPlane):
    """Add contact of a sphere of a body (radius 0: a point) with a plane of the world or of another body.

    The plane contains `point` of the ground, and `normal` points out of the ground. At a penetration depth δ > 0 the normal
    force is N = stiffness × δ^exponent (1 + dissipation × δ̇) + damping × δ̇, or `push`, a formula of `depth` and `rate`, but
    never attractive. Friction is `friction` × N opposite to the slip s: smoothed as s/√(s² + smoothing²), or viscous below
    the Coulomb limit, min(viscous |s|, friction N). In a planar motion with the normal `planar` (world axes) slip has a
    single direction, and friction is exact, with sticking.

    >>> import dalembert as dl
    >>> model = dl.Model("ball", gravity=(0, 0, -9.81)).coordinate("z", 1.0)
    >>> _ = model.body("ball", joint=model.prismatic((0, 0, 1), "z"), mass=0.5)
    >>> _ = model.sphere_on_plane("ball", radius=0.1, stiffness=2e4, damping=3, name="floor")
    >>> run = dl.simulate(model, 1.0, samples=11)
    >>> [round(event.t, 6) for event in run.switchings][:1]  # falls 0.9
    [0.428353]
    """

    kind = "sphere_on_plane"

    def geometry(self, motion: LoadKinematics) -> ContactGeometry:
        ground = motion.frame(self.ground)
        center, _, _ = motion.frame(self.body).point(vector_of(motion, self.center))
        n, radius = ground.R @ vector(list(self.normal)), motion.lower(self.radius)
        height = n @ (center - ground.p - ground.R @ vector_of(motion, self.point))
        return ContactGeometry(radius - height, n, center - scaled(radius, n))

    def reference_geometry(self, poses: ReferencePoses) -> tuple[Scalar, Array, Array]:
        """The lowest point in the frame of the ground, and its depth below the plane."""
        frame, n = poses.frames[self.ground], vector(list(self.normal))
        center = frame.R.T @ (poses.point(self.body, self.center) - frame.p)
        deepest = center - scaled(poses.lower(self.radius), n)
        foot = vector([poses.lower(x) for x in self.point])
        return n @ foot - n @ deepest, frame.along(self.normal), frame.point(deepest)


def sized(title: str, radius: Formula, table: dict[str, float]) -> list[Problem]:
    """The problem of a negative radius."""
    r = value(radius, table)
    if r >= 0:
        return []
    return [Problem(f"{title}, radius", f"the radius is {r:g}.", "Expected a positive number, or 0 for a point.")]


def beside_normal(touch: ContactLoad, normal: UnitVector) -> list[Problem]:
    """The problem of a plane of motion that does not contain the normal of the ground."""
    if touch.planar is None:
        return []
    out = float(sum(float(a) * float(b) for a, b in zip(touch.planar, normal, strict=True)))
    if abs(out) < 1e-9 or touch.ground != WORLD:
        return []
    fact = f"the normal of the ground is not in the plane of motion: its product with `planar` is {out:g}, expected 0."
    return [Problem(f"{touch.title}, planar", fact, "Set `planar` to the normal of the planar motion.")]
