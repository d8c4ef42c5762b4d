"""The family of joints: one file each, which states all facts of its joint.

A new joint is a file here, a line in `JOINTS`, and its maker among the bases of `JointMakers`.
"""

from dalembert.model.joints.attitude import AttitudeMaker
from dalembert.model.joints.base import Joint as Joint
from dalembert.model.joints.cylindrical import Cylindrical as Cylindrical
from dalembert.model.joints.cylindrical import CylindricalMaker
from dalembert.model.joints.fixed import Fixed as Fixed
from dalembert.model.joints.fixed import FixedMaker
from dalembert.model.joints.free import Free as Free
from dalembert.model.joints.free import FreeMaker
from dalembert.model.joints.planar import Planar as Planar
from dalembert.model.joints.planar import PlanarMaker
from dalembert.model.joints.prismatic import Prismatic as Prismatic
from dalembert.model.joints.prismatic import PrismaticMaker
from dalembert.model.joints.quaternion import Quaternion as Quaternion
from dalembert.model.joints.revolute import Revolute as Revolute
from dalembert.model.joints.revolute import RevoluteMaker
from dalembert.model.joints.screw import Screw as Screw
from dalembert.model.joints.screw import ScrewMaker
from dalembert.model.joints.spherical import SEQUENCES as SEQUENCES
from dalembert.model.joints.spherical import Spherical as Spherical
from dalembert.model.joints.universal import Universal as Universal
from dalembert.model.joints.universal import UniversalMaker

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
    FreeMaker,
    AttitudeMaker,
):
    """The joints a body can hang on. Every motion is a formula of coordinates and time, and free where none is given."""
