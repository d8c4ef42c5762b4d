"""The form all formalisms share: equations linear in the accelerations."""

from dalembert.equations.about import About as About
from dalembert.equations.linear_form import LinearForm as LinearForm
from dalembert.equations.linear_form import in_speeds as in_speeds
from dalembert.equations.linear_form import in_velocities as in_velocities
from dalembert.equations.solver import Solver as Solver
