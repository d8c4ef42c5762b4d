"""Can the simulation that a model asks for be run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import InputError, Problem
from dalembert.model.methods import FIXED, require_method

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def problems(model: Elements) -> list[Problem]:
    """An integrator that does not exist, and a step that nothing uses."""
    try:
        if model.integrator is not None:
            require_method(model.integrator, step=model.step)
    except InputError as error:
        return [Problem("simulation", str(error), blocking=False)]
    if model.step is not None and model.integrator is None:
        advice = f"Give `integrator` one with fixed steps ({', '.join(FIXED)}), or leave the step out."
        return [Problem("simulation", f"step is {model.step:g}, but no integrator is named.", advice, blocking=False)]
    if model.step is not None and not model.step > 0:
        return [Problem("simulation", f"step is {model.step:g}.", "Give it a positive time.", blocking=False)]
    return []
