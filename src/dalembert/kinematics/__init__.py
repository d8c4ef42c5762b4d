"""What every formalism shares: positions, velocities, Jacobians, constraint levels, energies."""

from dalembert.kinematics.applied import active_forces as active_forces
from dalembert.kinematics.applied import applied_forces as applied_forces
from dalembert.kinematics.applied import generalized_forces as generalized_forces
from dalembert.kinematics.applied import non_ideal_forces as non_ideal_forces
from dalembert.kinematics.applied import working_forces as working_forces
from dalembert.kinematics.constraints import Constraints as Constraints
from dalembert.kinematics.constraints import levels as levels
from dalembert.kinematics.energies import kinetic as kinetic
from dalembert.kinematics.energies import mass_matrix as mass_matrix
from dalembert.kinematics.energies import potential as potential
from dalembert.kinematics.motion import Motion as Motion
from dalembert.kinematics.motion import MovingBody as MovingBody
from dalembert.kinematics.motion import move as move
from dalembert.kinematics.resolved import Resolved as Resolved
from dalembert.kinematics.resolved import velocities as velocities
from dalembert.kinematics.speeds import Speeds as Speeds
