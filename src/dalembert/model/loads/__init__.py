"""Loads, one file for each kind.

To add a load, add a file here and a line in `LOADS`.
"""

from dalembert.model.loads.backlash import Backlash
from dalembert.model.loads.base import InJoint as InJoint
from dalembert.model.loads.base import Load
from dalembert.model.loads.bushing import Bushing
from dalembert.model.loads.damper import Damper
from dalembert.model.loads.disk_on_plane import DiskOnPlane
from dalembert.model.loads.drag import Drag
from dalembert.model.loads.ellipsoid_on_plane import EllipsoidOnPlane
from dalembert.model.loads.force import Force
from dalembert.model.loads.joint_friction import JointFriction
from dalembert.model.loads.joint_spring import JointSpring
from dalembert.model.loads.joint_stop import JointStop
from dalembert.model.loads.joint_strut import JointStrut
from dalembert.model.loads.joint_torque import JointTorque
from dalembert.model.loads.motor import DcMotor, Motor
from dalembert.model.loads.point_gravity import PointGravity
from dalembert.model.loads.sphere_on_box import SphereOnBox
from dalembert.model.loads.sphere_on_plane import SphereOnPlane
from dalembert.model.loads.sphere_on_sphere import SphereOnSphere
from dalembert.model.loads.spring import Spring
from dalembert.model.loads.strut import Strut
from dalembert.model.loads.tire import Tire
from dalembert.model.loads.torque import Torque

# in the order in which a file is read
LOADS: tuple[type[Load], ...] = (
    Force,
    Torque,
    JointTorque,
    Motor,
    DcMotor,
    JointSpring,
    JointStrut,
    JointFriction,
    JointStop,
    Backlash,
    Spring,
    Damper,
    Strut,
    Bushing,
    Drag,
    PointGravity,
    Tire,
    SphereOnPlane,
    SphereOnSphere,
    SphereOnBox,
    DiskOnPlane,
    EllipsoidOnPlane,
)
