"""Ready laws for `model.actuator(..., law=...)`: one file each, readable beside its equations."""

from dalembert.controllers.computed_torque import ComputedTorque as ComputedTorque
from dalembert.controllers.lqr import LQR as LQR
from dalembert.controllers.operational_space import OperationalSpace as OperationalSpace
from dalembert.controllers.pid import PD as PD
from dalembert.controllers.pid import PID as PID
