"""A simulation of `simulators.py`, and how dalembert, MuJoCo, Exudyn, Drake, and SymPy with SciPy run one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as dl

STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13)
EXACT = 1e-13
G = 9.81
TIGHT = 'solimp="0.9999 0.9999 0.001"'  # MuJoCo's constraints carry 0.9999 of the force
PEERS = ("mujoco", "exudyn", "drake", "sympy")
Cases = dict[str, Callable[[], "Case"]]


@dataclass(frozen=True)
class Case:
    """A simulation by one program: `run` maps a setting to the final coordinates, `exact` are those of the reference."""

    run: Callable[[float], np.ndarray]
    exact: np.ndarray
    settings: Sequence[float]


def by_tolerance(model: Any, duration: float, formalism: str | None = None) -> Callable[[float], np.ndarray]:
    """Ours: the final coordinates with dop853 by tolerance."""
    equations = dl.derive(model, formalism) if formalism else dl.derive(model)
    options = {"integrator": "dop853", "samples": 2}
    equations.simulate(min(duration, 0.01), rtol=1e-5, atol=1e-5, **options)  # compiles
    return lambda tolerance: equations.simulate(duration, rtol=tolerance, atol=tolerance, **options).q[:, -1]


def ours(model: Any, duration: float, formalism: str | None = None) -> Case:
    run = by_tolerance(model, duration, formalism)
    return Case(run, run(EXACT), TOLERANCES)


def mujoco_steps(
    model: Any, data: Any, state: tuple[np.ndarray, np.ndarray], duration: float
) -> Callable[[float], Any]:
    """The final positions of MuJoCo with fixed steps; constraints are the stiffest springs that RK4 can integrate."""
    import mujoco

    def run(step: float) -> np.ndarray:
        count = round(duration / step)
        mujoco.mj_resetData(model, data)
        model.opt.timestep = h = duration / count
        model.eq_solref[:] = -1 / h**2, -2 / h  # stiffness and damping per unit of mass, critically damped
        data.qpos[:], data.qvel[:] = state
        mujoco.mj_step(model, data, count)
        return data.qpos.copy()

    return run


def mujoco_case(text: str, model: Any, duration: float) -> Case:
    """MuJoCo's RK4 with the same coordinates as ours."""
    import mujoco

    theirs = mujoco.MjModel.from_xml_string(text)
    run = mujoco_steps(theirs, mujoco.MjData(theirs), model.initial, duration)
    return Case(run, by_tolerance(model, duration)(EXACT), STEPS)


def mjcf(bodies: str, more: str = "", flags: str = 'contact="disable" constraint="disable"') -> str:
    head = '<compiler angle="radian" boundmass="0" boundinertia="0"/>'
    tight = 'integrator="RK4" tolerance="1e-15" iterations="200" cone="elliptic"'
    option = f'<option gravity="0 -{G} 0" {tight}><flag {flags}/></option>'
    return f"<mujoco>{head}{option}<worldbody>{bodies}</worldbody>{more}</mujoco>"


def drake_case(
    plant: Any, state: tuple[np.ndarray, np.ndarray], exact: np.ndarray, duration: float, diagram: Any = None
) -> Case:
    """Drake's integrator of fifth order by accuracy."""
    from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator  # pyright: ignore[reportMissingImports]

    def run(accuracy: float) -> np.ndarray:
        simulator = Simulator(diagram or plant)
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetPositionsAndVelocities(context, np.concatenate(state))
        integrator = ResetIntegratorFromFlags(simulator, "runge_kutta5", 0.1)
        integrator.set_target_accuracy(accuracy)
        simulator.AdvanceTo(duration)
        return plant.GetPositions(context).copy()

    return Case(run, exact, TOLERANCES)


def exudyn_settings(exu: Any, duration: float) -> Any:
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime, settings.timeIntegration.verboseMode = duration, 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.displayComputationTime = False
    return settings


def alpha_method(settings: Any, duration: float, step: float) -> None:
    """Exudyn's generalized-alpha method without damping: the trapezoidal rule with constraints on velocities."""
    settings.timeIntegration.numberOfSteps = round(duration / step)
    method = settings.timeIntegration.generalizedAlpha
    method.spectralRadius, method.useIndex2Constraints, method.useNewmark = 1.0, True, True
    method.computeInitialAccelerations = True


def sympy_case(
    both: list[Any], q: list[Any], u: list[Any], start: np.ndarray, exact: np.ndarray, duration: float
) -> Case:
    """M and forcing through lambdify and NumPy, SciPy's DOP853 by tolerance; ours are the differences of their angles."""
    import sympy as sm
    import sympy.physics.mechanics as me
    from scipy.integrate import solve_ivp

    n = len(q)
    plain = [sm.Dummy() for _ in range(2 * n)]
    table = dict(zip([*u, *q], plain, strict=True))  # derivatives are replaced before their arguments
    pieces = sm.lambdify([plain[n:], plain[:n]], [me.msubs(part, table) for part in both], modules="numpy", cse=True)

    def derivative(t: float, y: np.ndarray) -> np.ndarray:
        M, forcing = pieces(y[:n].tolist(), y[n:].tolist())
        return np.concatenate([y[n:], np.linalg.solve(M, forcing)[:n, 0]])

    def run(tolerance: float) -> np.ndarray:
        options = {"method": "DOP853", "rtol": max(tolerance, 3e-14), "atol": tolerance}
        return np.diff(solve_ivp(derivative, (0, duration), start, **options).y[:n, -1], prepend=0.0)

    return Case(run, exact, TOLERANCES)
