"""The family of joints: one file each, which states all facts of its joint.

A new joint is a file here, a line in `JOINTS`, and its maker among the bases of `JointMakers`.
"""

from dalembert.model.joints.base import Joint
from dalembert.model.joints.cylindrical import Cylindrical, CylindricalMaker
from dalembert.model.joints.fixed import Fixed, FixedMaker
from dalembert.model.joints.free import Free, FreeMaker
from dalembert.model.joints.planar import Planar, PlanarMaker
from dalembert.model.joints.prismatic import Prismatic, PrismaticMaker
from dalembert.model.joints.revolute import Revolute, RevoluteMaker
from dalembert.model.joints.screw import Screw, ScrewMaker
from dalembert.model.joints.spherical import SEQUENCES as SEQUENCES
from dalembert.model.joints.spherical import Quaternion, Spherical
from dalembert.model.joints.universal import Universal, UniversalMaker

JOINTS: tuple[type[Joint], ...] = (
    Fixed,
    Revolute,
    Prismatic,
    Screw,
    Cylindrical,
    Universal,
    Planar,
    Spherical,
    Quaternion,
    Free,
)


class JointMakers(
    FixedMaker,
    RevoluteMaker,
    PrismaticMaker,
    ScrewMaker,
    CylindricalMaker,
    UniversalMaker,
    PlanarMaker,
    FreeMaker,  # and of spherical joints
):
    """The joints a body can hang on. Every motion is a formula of coordinates and time, and free where none is given."""
