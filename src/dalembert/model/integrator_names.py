"""Names and settings of the integrators, known without importing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem, suggest_name

if TYPE_CHECKING:
    from dalembert.model.description import Elements

_ADAPTIVE = frozenset({"rtol", "atol", "max_step"})
AUTO = "auto"  # chosen by the model; see `simulation/main_loop`
METHODS: dict[str, frozenset[str]] = {
    AUTO: _ADAPTIVE,
    "taylor": frozenset({"rtol", "max_step"}),
    **dict.fromkeys(("rk45", "dop853", "radau", "ida", "collocation"), _ADAPTIVE),
    **dict.fromkeys(("rk4", "algorithm3", "algorithm4", "algorithm5"), frozenset({"step", "max_step"})),
}
FIXED = tuple(name for name, settings in METHODS.items() if "step" in settings)


def require_method(name: str, *, step: float | None = None) -> None:
    """Raise if the integrator does not exist, or if a step is set and it is not a fixed-step method.

    >>> require_method("rk4", step=0.01)
    """
    if name not in METHODS:
        raise InputError(f"there is no integrator '{name}'. {suggest_name(name, METHODS)}")
    if step is not None and name not in FIXED:
        raise InputError(
            f"step is {step:g}, but the integrator {name} has adaptive steps. "
            f"Use one of {', '.join(FIXED)}, or give rtol or max_step instead of step."
        )


def problems(model: Elements) -> list[Problem]:
    """Problems of the simulation settings: an unknown integrator, or a step that is not used."""
    try:
        if model.integrator is not None:
            require_method(model.integrator, step=model.step)
    except InputError as error:
        return [Problem("simulation", str(error), blocking=False)]
    if model.step is not None and model.integrator is None:
        advice = f"Set `integrator` to a fixed-step method ({', '.join(FIXED)}), or omit the step."
        return [Problem("simulation", f"step is {model.step:g}, but no integrator is set.", advice, blocking=False)]
    if model.step is not None and not model.step > 0:
        return [
            Problem("simulation", f"step is {model.step:g}.", "Expected a positive number of seconds.", blocking=False)
        ]
    return []
