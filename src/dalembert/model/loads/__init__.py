"""The family of loads: one file each, which states all facts of its load.

A new load is a file here, a line in `LOADS`, and its maker among the bases of `LoadMakers`.
"""

from dalembert.model.loads.backlash import Backlash, BacklashMaker
from dalembert.model.loads.base import InJoint as InJoint
from dalembert.model.loads.base import Load
from dalembert.model.loads.bushing import Bushing, BushingMaker
from dalembert.model.loads.damper import Damper, DamperMaker
from dalembert.model.loads.disk_on_plane import DiskOnPlane, DiskOnPlaneMaker
from dalembert.model.loads.drag import Drag, DragMaker
from dalembert.model.loads.force import Force, ForceMaker
from dalembert.model.loads.joint_friction import JointFriction, JointFrictionMaker
from dalembert.model.loads.joint_spring import JointSpring, JointSpringMaker
from dalembert.model.loads.joint_stop import JointStop, JointStopMaker
from dalembert.model.loads.joint_strut import JointStrut, JointStrutMaker
from dalembert.model.loads.joint_torque import JointTorque, JointTorqueMaker
from dalembert.model.loads.motor import DcMotor, Motor, MotorMaker
from dalembert.model.loads.point_gravity import PointGravity, PointGravityMaker
from dalembert.model.loads.sphere_on_box import SphereOnBox, SphereOnBoxMaker
from dalembert.model.loads.sphere_on_plane import SphereOnPlane, SphereOnPlaneMaker
from dalembert.model.loads.sphere_on_sphere import SphereOnSphere, SphereOnSphereMaker
from dalembert.model.loads.spring import Spring, SpringMaker
from dalembert.model.loads.strut import Strut, StrutMaker
from dalembert.model.loads.torque import Torque, TorqueMaker
from dalembert.model.loads.tyre import Tyre, TyreMaker

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
    Tyre,
    SphereOnPlane,
    SphereOnSphere,
    SphereOnBox,
    DiskOnPlane,
)


class LoadMakers(
    ForceMaker,
    TorqueMaker,
    JointTorqueMaker,
    MotorMaker,
    JointSpringMaker,
    JointStrutMaker,
    JointFrictionMaker,
    JointStopMaker,
    BacklashMaker,
    SpringMaker,
    DamperMaker,
    StrutMaker,
    BushingMaker,
    DragMaker,
    PointGravityMaker,
    TyreMaker,
    SphereOnPlaneMaker,
    SphereOnSphereMaker,
    SphereOnBoxMaker,
    DiskOnPlaneMaker,
):
    """What pushes and pulls on a model."""
