"""The form all formalisms share: equations linear in the accelerations."""

from dalembert.equations.about import About as About
from dalembert.equations.about import Velocities as Velocities
from dalembert.equations.linear_form import Accelerations as Accelerations
from dalembert.equations.linear_form import Constants as Constants
from dalembert.equations.linear_form import LinearForm as LinearForm
from dalembert.equations.linear_form import Multipliers as Multipliers
from dalembert.equations.linear_form import Rows as Rows
from dalembert.equations.linear_form import VelocityMap as VelocityMap
from dalembert.equations.linear_form import constrained as constrained
from dalembert.equations.linear_form import in_speeds as in_speeds
from dalembert.equations.linear_form import in_velocities as in_velocities
from dalembert.equations.linear_system import LinearSystem as LinearSystem
from dalembert.equations.linear_system import Numeric as Numeric
from dalembert.equations.linear_system import Solver as Solver
