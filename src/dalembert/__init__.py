"""dalembert: one mechanical model, every classical road to its equations of motion, and the evidence that they agree.

>>> import dalembert as dl
>>> model = dl.load("cart-pendulum")
>>> eom = dl.derive(model, "volterra_reduced")
>>> eom.n_dynamic, eom.n_states
(1, 4)
"""

from dalembert.analysis.controllers.computed_torque import ComputedTorque as ComputedTorque
from dalembert.analysis.controllers.lqr import LQR as LQR
from dalembert.analysis.controllers.operational_space import OperationalSpace as OperationalSpace
from dalembert.analysis.controllers.pid import PD as PD
from dalembert.analysis.controllers.pid import PID as PID
from dalembert.analysis.equilibrium import Equilibria as Equilibria
from dalembert.analysis.equilibrium import Equilibrium as Equilibrium
from dalembert.analysis.fit_result import Fit as Fit
from dalembert.analysis.floquet import Floquet as Floquet
from dalembert.analysis.linearization import Linearization as Linearization
from dalembert.analysis.modes import Modes as Modes
from dalembert.analysis.root_locus import Locus as Locus
from dalembert.analysis.sensitivity_run import Sensitivity as Sensitivity
from dalembert.analysis.task_targets import Target as Target
from dalembert.api.dynamics import Dynamics as Dynamics
from dalembert.api.equations import Equations as Equations
from dalembert.api.functions import acceleration as acceleration
from dalembert.api.functions import animate as animate
from dalembert.api.functions import assemble as assemble
from dalembert.api.functions import assembled as assembled
from dalembert.api.functions import branches as branches
from dalembert.api.functions import center_of_mass as center_of_mass
from dalembert.api.functions import circle as circle
from dalembert.api.functions import compare as compare
from dalembert.api.functions import computed_torque as computed_torque
from dalembert.api.functions import derive as derive
from dalembert.api.functions import dh_frames as dh_frames
from dalembert.api.functions import dh_table as dh_table
from dalembert.api.functions import dynamics as dynamics
from dalembert.api.functions import ellipsoid as ellipsoid
from dalembert.api.functions import equilibrium as equilibrium
from dalembert.api.functions import export as export
from dalembert.api.functions import feedforward as feedforward
from dalembert.api.functions import fit as fit
from dalembert.api.functions import floquet as floquet
from dalembert.api.functions import forward_dynamics as forward_dynamics
from dalembert.api.functions import gradient as gradient
from dalembert.api.functions import hybrid_dynamics as hybrid_dynamics
from dalembert.api.functions import inverse_dynamics as inverse_dynamics
from dalembert.api.functions import inverse_kinematics as inverse_kinematics
from dalembert.api.functions import jacobian as jacobian
from dalembert.api.functions import jacobian_rate as jacobian_rate
from dalembert.api.functions import kinematics as kinematics
from dalembert.api.functions import linearize as linearize
from dalembert.api.functions import mass_matrix as mass_matrix
from dalembert.api.functions import mobility as mobility
from dalembert.api.functions import plot_sweep as plot_sweep
from dalembert.api.functions import pose as pose
from dalembert.api.functions import position as position
from dalembert.api.functions import prove as prove
from dalembert.api.functions import recut as recut
from dalembert.api.functions import regressor as regressor
from dalembert.api.functions import report as report
from dalembert.api.functions import root_locus as root_locus
from dalembert.api.functions import sensitivity as sensitivity
from dalembert.api.functions import simulate as simulate
from dalembert.api.functions import straight_line as straight_line
from dalembert.api.functions import subsystem_dynamics as subsystem_dynamics
from dalembert.api.functions import sweep as sweep
from dalembert.api.functions import sweep_summary as sweep_summary
from dalembert.api.functions import velocity as velocity
from dalembert.api.functions import verify as verify
from dalembert.api.kinematics import Kinematics as Kinematics
from dalembert.api.load import load as load
from dalembert.errors import CacheWarning as CacheWarning
from dalembert.errors import DalembertError as DalembertError
from dalembert.errors import EngineError as EngineError
from dalembert.errors import FormulaError as FormulaError
from dalembert.errors import InconsistentStateError as InconsistentStateError
from dalembert.errors import InputError as InputError
from dalembert.errors import ModelError as ModelError
from dalembert.errors import ModelFileError as ModelFileError
from dalembert.errors import NotApplicableError as NotApplicableError
from dalembert.errors import Problem as Problem
from dalembert.errors import SimulationError as SimulationError
from dalembert.errors import SingularError as SingularError
from dalembert.formalisms.catalogue import citation as citation
from dalembert.io import gallery as gallery
from dalembert.model.description import Description as Description
from dalembert.model.model import Model as Model
from dalembert.model.motion_profile import Profile as Profile
from dalembert.model.profiles import cycloidal as cycloidal
from dalembert.model.profiles import quintic as quintic
from dalembert.model.profiles import trapezoidal as trapezoidal
from dalembert.model.splines import sampled as sampled
from dalembert.model.splines import spline as spline
from dalembert.papers import paper as paper
from dalembert.papers.printed_values import Paper as Paper
from dalembert.recursive.dynamics import speed_names as speed_names
from dalembert.simulation.saved_runs import load_run as load_run
from dalembert.simulation.trajectory import Trajectory as Trajectory

__version__ = "0.1.0"
