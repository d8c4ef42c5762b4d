"""The family of joints: one file each."""

from dalembert.model.joints.base import Joint as Joint
from dalembert.model.joints.fixed import Fixed as Fixed
from dalembert.model.joints.prismatic import Prismatic as Prismatic
from dalembert.model.joints.revolute import Revolute as Revolute

JOINTS: tuple[type[Joint], ...] = (Fixed, Revolute, Prismatic)
