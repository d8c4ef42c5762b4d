"""The objects a user holds: equations, trajectories, kinematics and dynamics."""

from dalembert.handles.deriving import equations_by as equations_by
from dalembert.handles.deriving import equations_of as equations_of
from dalembert.handles.dynamics import Dynamics as Dynamics
from dalembert.handles.dynamics import dynamics_of as dynamics_of
from dalembert.handles.equations import Equations as Equations
from dalembert.handles.kinematics import Kinematics as Kinematics
from dalembert.handles.trajectory import Trajectory as Trajectory
from dalembert.handles.workspace import Workspace as Workspace
from dalembert.handles.workspace import setup as setup
from dalembert.handles.workspace import workspace_of as workspace_of
