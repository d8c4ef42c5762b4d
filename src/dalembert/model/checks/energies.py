"""Is an analytic description one of a mechanical system?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.expressions import rate
from dalembert.model.checks.values import at_start, is_quadratic

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def problems(model: Elements) -> list[Problem]:
    """A kinetic energy that misses a velocity, or is not T = ½ q̇ᵀM q̇ + q̇ᵀN + T₀."""
    if model.energies is None:
        return []
    found = _joined(model)
    T, start = model.energies.kinetic, at_start(model)
    velocities = {rate(name) for name in model.coordinate_names}
    for name in model.coordinate_names:
        if rate(name) not in T.free_symbols:
            advice = f"Every coordinate needs mass: add a term with dot({name})**2, or remove '{name}'."
            found.append(Problem("kinetic energy", f"the velocity dot({name}) does not appear in it.", advice))
    if not is_quadratic(T, velocities, start):
        advice = "Expected terms with at most two velocities as factors, such as m*dot(x)**2/2."
        found.append(Problem("kinetic energy", "it is not quadratic in the velocities.", advice))
    return found


def _joined(model: Elements) -> list[Problem]:
    """Loops and rotors, which need bodies."""
    if model.bodies:  # another check tells that there are two descriptions
        return []
    named = [(f"loop '{loop.name}'", "it joins bodies", "a holonomic formula") for loop in model.loops]
    named += [
        (f"rotor '{rotor.name}'", "it turns with a body", "a term of the kinetic energy") for rotor in model.rotors
    ]
    why = "but the system is described by energies."
    return [Problem(path, f"{fact}, {why}", f"Write it as {instead}.") for path, fact, instead in named]
