"""The family of joints: one file each."""

from dalembert.model.joints.base import Joint as Joint
from dalembert.model.joints.cylindrical import Cylindrical as Cylindrical
from dalembert.model.joints.fixed import Fixed as Fixed
from dalembert.model.joints.free import Free as Free
from dalembert.model.joints.planar import Planar as Planar
from dalembert.model.joints.prismatic import Prismatic as Prismatic
from dalembert.model.joints.quaternion import Quaternion as Quaternion
from dalembert.model.joints.revolute import Revolute as Revolute
from dalembert.model.joints.screw import Screw as Screw
from dalembert.model.joints.spherical import SEQUENCES as SEQUENCES
from dalembert.model.joints.spherical import Spherical as Spherical
from dalembert.model.joints.universal import Universal as Universal

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
