"""Describe a mechanical system once. Derive its equations of motion with 18 classical formulations, prove that they agree,
and run them fast.

>>> import dalembert as dl
>>> model = dl.load("cart-pendulum")
>>> eom = dl.derive(model, "volterra_reduced")
>>> eom.n_dynamic, eom.n_states
(1, 4)
"""

from importlib import import_module

__version__ = "0.2.0"  # the only definition; pyproject.toml and CITATION.cff follow it

# the modules that define the public names, each imported when one of its names is first used (PEP 562)
_PUBLIC = {
    "analysis.adjoint": ("gradient",),
    "analysis.cartesian_paths": ("circle", "straight_line"),
    "analysis.controllers": (
        "ComputedTorque",
        "LQR",
        "OperationalSpace",
        "PD",
        "PID",
        "computed_torque",
        "feedforward",
    ),
    "analysis.dh_table": ("dh_frames", "dh_table"),
    "analysis.energy_ellipsoid": ("ellipsoid",),
    "analysis.equilibrium": ("Equilibria", "Equilibrium", "equilibrium"),
    "analysis.fit": ("Fit", "fit"),
    "analysis.inverse_kinematics": ("inverse_kinematics",),
    "analysis.linearization": ("Linearization", "Modes"),
    "analysis.linearize": ("linearize",),
    "analysis.loop_cut": ("recut",),
    "analysis.model_summary": ("mobility",),
    "analysis.regressor": ("regressor",),
    "analysis.sensitivity": ("Sensitivity", "sensitivity"),
    "analysis.stability": ("Floquet", "Locus", "floquet", "root_locus"),
    "analysis.subsystems": ("subsystem_dynamics",),
    "analysis.sweep": ("sweep", "sweep_summary"),
    "analysis.task_kinematics": ("Target",),
    "api.animate": ("animate",),
    "api.derive": ("derive", "simulate"),
    "api.dynamics": ("Dynamics", "dynamics", "forward_dynamics", "hybrid_dynamics", "inverse_dynamics", "mass_matrix"),
    "api.equations": ("Equations",),
    "api.export": ("export",),
    "api.kinematics": (
        "Kinematics",
        "acceleration",
        "center_of_mass",
        "jacobian",
        "jacobian_rate",
        "kinematics",
        "pose",
        "position",
        "velocity",
    ),
    "api.load": ("assemble_model", "assemble_state", "branches", "load"),
    "api.trajectory": ("Trajectory", "load_run"),
    "display.plots.plot": ("plot_sweep",),
    "errors": (
        "CacheWarning",
        "DalembertError",
        "EngineError",
        "FormulaError",
        "InconsistentStateError",
        "InputError",
        "ModelError",
        "ModelFileError",
        "NotApplicableError",
        "Problem",
        "SimulationError",
        "SingularError",
    ),
    "evidence.comparison": ("compare",),
    "evidence.proof": ("prove",),
    "evidence.report": ("report",),
    "evidence.symmetries": ("Symmetries", "symmetries"),
    "evidence.verification": ("verify",),
    "formalisms.catalog": ("citation",),
    "model.description": ("Description",),
    "model.model": ("Model",),
    "model.profiles": ("Profile", "cycloidal", "quintic", "spline", "spline_from_function", "trapezoidal"),
    "papers": ("paper",),
    "papers.printed_values": ("Paper",),
    "recursive.tree_dynamics": ("speed_names",),
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = sorted([*_MODULE_OF, "gallery"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name == "gallery":
        return import_module("dalembert.io.gallery")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dalembert' has no attribute '{name}'")
    value = getattr(import_module(f"dalembert.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
