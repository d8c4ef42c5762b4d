"""The page of contents: every stage from a description to evidence, in order.

load ──► check ──► derive ──► simulate ──► prove, verify, compare

Every stage takes a model, its description, the name of a gallery example or the path of a model file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from dalembert.analysis import adjoint, cartesian_paths, loop_cut, subsystems, tracking
from dalembert.analysis import dh_table as dh
from dalembert.analysis import energy_ellipsoid as ellipsoids
from dalembert.analysis import fit as fitting
from dalembert.analysis import inverse_kinematics as postures
from dalembert.analysis import mobility as mobilities
from dalembert.analysis import regressor as inertial
from dalembert.analysis import sensitivity as solving
from dalembert.analysis.equilibrium import equilibrium as resting
from dalembert.analysis.floquet import floquet as over_a_period
from dalembert.analysis.linearize import linearize as linearized
from dalembert.analysis.root_locus import root_locus as locus
from dalembert.analysis.sweeps import sweep as making
from dalembert.analysis.sweeps import sweep_result
from dalembert.api import export as exporting
from dalembert.api import kinematics as places
from dalembert.api import load as sources
from dalembert.api.derive import equations_of
from dalembert.api.dynamics import dynamics_of
from dalembert.api.equations import Equations
from dalembert.api.load import Source
from dalembert.api.trial_vectors import Trial
from dalembert.arguments import checked
from dalembert.display import animation
from dalembert.display.plots import sweep_plot
from dalembert.evidence import comparison, proof, verification
from dalembert.evidence.report.report import report_of
from dalembert.mechanics import assembly
from dalembert.model.description import Elements
from dalembert.recursive import dynamics as walk
from dalembert.simulation.trajectory import Trajectory

P = ParamSpec("P")
R = TypeVar("R")


def stage(work: Callable[Concatenate[Elements, P], R]) -> Callable[Concatenate[Source, P], R]:
    """The work of a room on a model that may be given by name."""

    work = checked(work)

    @wraps(work)
    def staged(model: Source, *arguments: P.args, **options: P.kwargs) -> R:
        return work(sources.described(model), *arguments, **options)

    return staged


# the state and the structure
assemble = stage(assembly.assemble)
assembled = stage(assembly.assembled)
branches = stage(assembly.branches)
recut = stage(loop_cut.recut)
mobility = stage(mobilities.mobility_of)
ellipsoid = stage(ellipsoids.ellipsoid_of)
inverse_kinematics = stage(postures.inverse_kinematics)
dh_table = stage(dh.dh_table)
dh_frames = stage(dh.dh_frames)


# the equations and the motion
@checked
def derive(
    model: Source,
    formalism: str = "lagrange",
    *,
    engine: str | None = None,
    mode: str | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
    trials: Sequence[Trial] | None = None,
) -> Equations:
    """The equations of motion of a model by one formalism.

    `engine` is native or python. `mode` is fused (the whole right-hand side is one graph) or assembled (a rank-revealing
    solve in numbers at every step, for constraints whose rank changes along the way); by default the program chooses.
    `modules` are for denoc: kinematic modules by name, each a serial chain of bodies, which its blocks and steps then go through.
    `trials` are for phong: the trial vectors of its second step, names of coordinates or n numbers each. All that serve give the
    same motion; D is longer or shorter, and may vanish at other places.

    >>> derive("cart-pendulum", "gibbs_appell").n_states
    5
    """
    return equations_of(sources.described(model), formalism, engine=engine, mode=mode, modules=modules, trials=trials)


def simulate(
    model: Source, duration: float | None = None, *, formalism: str = "lagrange", **options: Any
) -> Trajectory:
    """The motion of a model from its initial state; options as in `Equations.simulate`."""
    return derive(model, formalism).simulate(duration, **options)


# many motions
sweep = stage(making.sweep_of)
sweep_summary = checked(sweep_result.summary_of)
plot_sweep = checked(sweep_plot.sweep_figure)

sensitivity = stage(solving.sensitivity)
gradient = stage(adjoint.gradient)
fit = stage(fitting.fit)

# where bodies are and how they move
kinematics = stage(places.kinematics_of)
pose = stage(places.pose)
position = stage(places.position)
velocity = stage(places.velocity)
acceleration = stage(places.acceleration)
jacobian = stage(places.jacobian)
jacobian_rate = stage(places.jacobian_rate)
center_of_mass = stage(places.center_of_mass)

# the recursion from body to body, and motions that are designed
dynamics = stage(dynamics_of)
mass_matrix = stage(walk.mass_matrix)
inverse_dynamics = stage(walk.inverse_dynamics)
forward_dynamics = stage(walk.forward_dynamics)
hybrid_dynamics = stage(walk.hybrid_dynamics)
subsystem_dynamics = stage(subsystems.subsystem_dynamics)
regressor = stage(inertial.regressor_of)
straight_line = stage(cartesian_paths.straight_line)
circle = stage(cartesian_paths.circle)
feedforward = stage(tracking.feedforward)
computed_torque = stage(tracking.computed_torque)

# where it rests, and how it moves there
equilibrium = stage(resting)
linearize = stage(linearized)
floquet = stage(over_a_period)
root_locus = stage(locus)

# pictures
animate = stage(animation.animation_of)
report = checked(report_of)

# code of one's own
export = checked(exporting.export)

# the evidence
prove = stage(proof.prove)
verify = stage(verification.verify)
compare = stage(comparison.compare)
