"""The objects a user holds: equations and trajectories."""

from dalembert.handles.equations import Equations as Equations
from dalembert.handles.trajectory import Trajectory as Trajectory
from dalembert.handles.workspace import Workspace as Workspace
