"""Joints, one file for each kind.

To add a joint, add a file here and a line in `JOINTS`.
"""

from dalembert.model.joints.base import Joint
from dalembert.model.joints.cylindrical import Cylindrical
from dalembert.model.joints.fixed import Fixed
from dalembert.model.joints.free import Free
from dalembert.model.joints.planar import Planar
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.revolute import Revolute
from dalembert.model.joints.screw import Screw
from dalembert.model.joints.spherical import SEQUENCES as SEQUENCES
from dalembert.model.joints.spherical import Quaternion, Spherical
from dalembert.model.joints.universal import Universal

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
