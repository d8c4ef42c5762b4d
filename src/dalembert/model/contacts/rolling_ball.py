"""Ball that rolls on a plane without slipping."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.contacts.rolling import Rolling
from dalembert.model.keys import constant_length
from dalembert.model.loads.base import LoadKinematics
from dalembert.model.record import argument, record
from dalembert.model.reference_model import ReferencePoses
from dalembert.symbolic.algebra_base import Array, Scalar, scaled
from dalembert.symbolic.symbols import Formula


@record
class RollingBall(Rolling):
    """Add rolling without slipping of a ball on a plane of the world or of another body.

    `center` is the center of the ball, which need not be the mass center.

    The plane contains `point` of the ground and has the `normal`, both in its axes. With `contact` the ball is also held on
    the plane; omit it if the coordinates already satisfy that. On an incline its acceleration is 5/7 of that of a block that
    slides without friction:

    >>> import dalembert as dl
    >>> model = dl.Model("ball", gravity=(3.5, 0, -6)).coordinates("x", "y", "z", "a", "b", "c").start({"z": 0.1}, {})
    >>> joint = model.free(("x", "y", "z"), ("a", "b", "c"))
    >>> _ = model.body("ball", joint=joint, mass=2, inertia=["0.4*2*0.1**2"] * 3)
    >>> _ = model.rolling_ball("ball", 0.1)
    >>> dl.derive(model).accelerations(*model.initial).round(9) + 0.0
    array([ 2.5,  0. ,  0. ,  0. , 25. ,  0. ])
    """

    kind = "rolling_ball"

    radius: Formula = argument(constant_length, positional=True, about="a constant")

    @property
    def sizes(self) -> Sequence[tuple[str, Formula]]:
        return [("radius", self.radius)]

    def lowest(self, motion: LoadKinematics, up: Array) -> tuple[Array, Scalar]:
        radius = motion.lower(self.radius)
        return scaled(-radius, up), radius

    def down(self, poses: ReferencePoses, up: Array) -> Array:
        return scaled(-poses.lower(self.radius), up)
