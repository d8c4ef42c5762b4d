"""Contact of a sphere, or a point, with a box: a step, a block, a table.

In the axes of the box, with half edges h and the center of the sphere at x, let eᵢ = |xᵢ| − hᵢ. Outside the box the distance to
the nearest point is √Σ max(eᵢ, 0)², and the normal points from there to the center. A center inside the box is pushed out
through the nearest face, that of the largest eᵢ; so is a point, whose radius is 0.
"""

from __future__ import annotations

import numpy as np
import symengine as se

from dalembert.errors import Problem
from dalembert.model.evaluation import value
from dalembert.model.keys import constant_length, fixed_vector
from dalembert.model.loads.base import LoadKinematics, vector_of
from dalembert.model.loads.contact_base import ContactGeometry, ContactLoad
from dalembert.model.loads.contact_laws import NOTHING
from dalembert.model.loads.force_laws import measure
from dalembert.model.loads.sphere_on_plane import sized
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.model.values import ZERO, Vector3
from dalembert.symbolic.algebra_base import Array, Scalar, scaled, vector
from dalembert.symbolic.rotations import Frame
from dalembert.symbolic.symbols import Formula, absolute, piecewise, signum

_AXES = ("x", "y", "z")


@record
class SphereOnBox(ContactLoad):
    """Add contact of a sphere of a body (radius 0: a point) with a box of the ground; laws as in `sphere_on_plane`.

    `size` are the edges of the box; `position` is its center and `rotation` its roll, pitch and yaw, on the ground.

    >>> import dalembert as dl
    >>> model = dl.Model("step", gravity=(0, 0, -9.81)).coordinate("z", 0.5)
    >>> _ = model.body("foot", joint=model.prismatic((0, 0, 1), "z"), mass=1)
    >>> _ = model.sphere_on_box("foot", (0.4, 0.4, 0.2), stiffness=1e4, damping=100, name="step")
    >>> run = dl.simulate(model, 0.3, samples=2)
    >>> round(run.switchings[-1].t, 9)  # falls 0.4
    0.285568625
    """

    kind = "sphere_on_box"

    radius: Formula = argument(constant_length, 0, about="a constant: the radius of the sphere (0: a point)")
    center: Vector3 = argument(
        fixed_vector, ZERO, about="three constants: the center of the sphere, in axes of the body"
    )
    size: Vector3 = argument(fixed_vector, positional=True, about="three constants: the edges of the box")
    position: Vector3 = argument(
        fixed_vector, ZERO, about="three constants: the center of the box, in axes of the ground"
    )
    rotation: Vector3 = argument(
        fixed_vector, ZERO, about="three constants: roll, pitch and yaw of the box on the ground"
    )

    @property
    def fixed_points(self) -> list[tuple[str, Vector3]]:
        return [(self.body, self.center), (self.ground, self.position)]

    def problems(self, table: dict[str, float]) -> list[Problem]:
        found = super().problems(table) + sized(self.title, self.radius, table)
        edges = [value(edge, table) for edge in self.size]
        return found + [
            Problem(f"{self.title}, size[{i}]", f"the edge is {edge:g}.", "Expected a positive number.")
            for i, edge in enumerate(edges)
            if edge <= 0
        ]

    @property
    def laws(self) -> tuple[Formula, ...]:
        """Normal force and drag, the distance of the center from the box, and the normal in axes of the box."""
        return self.frozen_laws or (*super().laws, *self._nearest)

    @property
    def _nearest(self) -> tuple[Formula, ...]:
        x = [measure(name) for name in _AXES]
        e = [absolute(a) - edge / 2 for a, edge in zip(x, self.size, strict=True)]
        signs = [signum(a) for a in x]
        first, second = se.And(se.Le(e[1], e[0]), se.Le(e[2], e[0])), se.Le(e[2], e[1])
        face = piecewise(e[0], first, e[1], second, e[2])
        out = (
            piecewise(signs[0], first, NOTHING),
            piecewise(NOTHING, first, signs[1], second, NOTHING),
            piecewise(NOTHING, first, NOTHING, second, signs[2]),
        )
        if self.radius == 0:
            return (face, *out)
        beyond = [piecewise(a, se.Lt(0, a), NOTHING) for a in e]
        inside = se.And(*(se.Le(a, 0) for a in e))
        distance = se.sqrt(sum((a**2 for a in beyond), start=NOTHING))
        normal = [piecewise(a, inside, sign * b / distance) for a, sign, b in zip(out, signs, beyond, strict=True)]
        return (piecewise(face, inside, distance), *normal)

    def _box_frame(self, motion: LoadKinematics) -> tuple[Frame, Array, Array]:
        """The frame of the box, the center in world axes, and the center in axes of the box."""
        angles = list(vector_of(motion, self.rotation))
        box = motion.frame(self.ground).fixed_frame(motion.algebra, vector_of(motion, self.position), angles)
        center, _, _ = motion.frame(self.body).point(vector_of(motion, self.center))
        return box, center, box.R.T @ (center - box.p)

    def more(self, motion: LoadKinematics) -> dict[str, Scalar]:
        return dict(zip(_AXES, self._box_frame(motion)[2], strict=True))

    def geometry(self, motion: LoadKinematics) -> ContactGeometry:
        box, center, x = self._box_frame(motion)
        lower = motion.lower.with_values({measure(name).name: a for name, a in zip(_AXES, x, strict=True)})
        with np.errstate(all="ignore"):  # 0/0 inside the box, in a branch that is not taken
            distance, *normal = (lower(formula) for formula in self.laws[2:])
            n, radius = box.R @ vector(normal), motion.lower(self.radius)
        return ContactGeometry(radius - distance, n, center - scaled(radius, n))

    def reference_geometry(self, poses: ReferencePoses) -> tuple[Scalar, Array, Array]:
        """Outside: from the point of the box nearest to the center; inside: through the nearest face."""
        algebra, box = poses.algebra, poses.fixed_frame(self.ground, self.position, self.rotation)
        center, radius = poses.point(self.body, self.center), poses.lower(self.radius)
        x, half = box.R.T @ (center - box.p), [0.5 * poses.lower(edge) for edge in self.size]

        def smaller(a: Scalar, b: Scalar) -> Scalar:
            return algebra.select(algebra.less(a, b, or_equal=False), a, b)

        off = x - vector([smaller(-smaller(-a, h), h) for a, h in zip(x, half, strict=True)])
        depth, normal = half[0] - x[0], vector([1, 0, 0])
        for i, sign in ((0, -1), (1, 1), (1, -1), (2, 1), (2, -1)):
            other = half[i] - sign * x[i]
            less = algebra.less(other, depth, or_equal=False)
            side = [sign if k == i else 0 for k in range(3)]
            normal = vector([algebra.select(less, b, a) for a, b in zip(normal, side, strict=True)])
            depth = algebra.select(less, other, depth)
        with np.errstate(all="ignore"):
            away = algebra.sqrt(off @ off)
            outside = algebra.less(0, away, or_equal=False)
            n = box.R @ vector([algebra.select(outside, a / away, b) for a, b in zip(off, normal, strict=True)])
        return radius - algebra.select(outside, away, -depth), n, center - scaled(radius, n)
