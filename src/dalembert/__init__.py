"""dalembert: one mechanical model, every classical road to its equations of motion, and the evidence that they agree.

>>> import dalembert as dl
>>> model = dl.load("cart-pendulum")
>>> eom = dl.derive(model, "volterra_reduced")
>>> eom.n_dynamic, eom.n_states
(1, 4)
"""

from dalembert import gallery as gallery
from dalembert.analysis.dynamics import speed_names as speed_names
from dalembert.analysis.targets import Target as Target
from dalembert.controllers import LQR as LQR
from dalembert.controllers import PD as PD
from dalembert.controllers import PID as PID
from dalembert.controllers import ComputedTorque as ComputedTorque
from dalembert.controllers import OperationalSpace as OperationalSpace
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
from dalembert.handles import Dynamics as Dynamics
from dalembert.handles import Equations as Equations
from dalembert.handles import Kinematics as Kinematics
from dalembert.handles import Trajectory as Trajectory
from dalembert.handles.equilibria import Equilibria as Equilibria
from dalembert.handles.equilibria import Equilibrium as Equilibrium
from dalembert.handles.linearized import Linearization as Linearization
from dalembert.handles.loci import Locus as Locus
from dalembert.handles.modes import Modes as Modes
from dalembert.handles.periodic import Floquet as Floquet
from dalembert.identification.fits import Fit as Fit
from dalembert.model import Description as Description
from dalembert.model import Model as Model
from dalembert.papers import Paper as Paper
from dalembert.papers import paper as paper
from dalembert.pipeline import acceleration as acceleration
from dalembert.pipeline import animate as animate
from dalembert.pipeline import assemble as assemble
from dalembert.pipeline import assembled as assembled
from dalembert.pipeline import branches as branches
from dalembert.pipeline import center_of_mass as center_of_mass
from dalembert.pipeline import circle as circle
from dalembert.pipeline import citation as citation
from dalembert.pipeline import compare as compare
from dalembert.pipeline import computed_torque as computed_torque
from dalembert.pipeline import derive as derive
from dalembert.pipeline import dh_frames as dh_frames
from dalembert.pipeline import dh_table as dh_table
from dalembert.pipeline import dynamics as dynamics
from dalembert.pipeline import ellipsoid as ellipsoid
from dalembert.pipeline import equilibrium as equilibrium
from dalembert.pipeline import export as export
from dalembert.pipeline import feedforward as feedforward
from dalembert.pipeline import fit as fit
from dalembert.pipeline import floquet as floquet
from dalembert.pipeline import forward_dynamics as forward_dynamics
from dalembert.pipeline import gradient as gradient
from dalembert.pipeline import hybrid_dynamics as hybrid_dynamics
from dalembert.pipeline import inverse_dynamics as inverse_dynamics
from dalembert.pipeline import inverse_kinematics as inverse_kinematics
from dalembert.pipeline import jacobian as jacobian
from dalembert.pipeline import jacobian_rate as jacobian_rate
from dalembert.pipeline import kinematics as kinematics
from dalembert.pipeline import linearize as linearize
from dalembert.pipeline import load as load
from dalembert.pipeline import load_run as load_run
from dalembert.pipeline import mass_matrix as mass_matrix
from dalembert.pipeline import mobility as mobility
from dalembert.pipeline import plot_sweep as plot_sweep
from dalembert.pipeline import pose as pose
from dalembert.pipeline import position as position
from dalembert.pipeline import prove as prove
from dalembert.pipeline import recut as recut
from dalembert.pipeline import regressor as regressor
from dalembert.pipeline import report as report
from dalembert.pipeline import root_locus as root_locus
from dalembert.pipeline import sensitivity as sensitivity
from dalembert.pipeline import simulate as simulate
from dalembert.pipeline import straight_line as straight_line
from dalembert.pipeline import subsystem_dynamics as subsystem_dynamics
from dalembert.pipeline import sweep as sweep
from dalembert.pipeline import sweep_summary as sweep_summary
from dalembert.pipeline import velocity as velocity
from dalembert.pipeline import verify as verify
from dalembert.profiles import Profile as Profile
from dalembert.profiles import cycloidal as cycloidal
from dalembert.profiles import quintic as quintic
from dalembert.profiles import sampled as sampled
from dalembert.profiles import spline as spline
from dalembert.profiles import trapezoidal as trapezoidal
from dalembert.variations.runs import Sensitivity as Sensitivity

__version__ = "0.1.0"
