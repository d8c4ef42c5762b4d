"""Do formulas of velocities have the degree they need: two in a kinetic energy, one in a quasi-velocity?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.expressions import rate
from dalembert.expressions.formula import Formula
from dalembert.model.checks.values import at_start, is_affine, is_quadratic

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def problems(model: Elements) -> list[Problem]:
    """What is wrong with the energies and the speeds."""
    velocities = {rate(name) for name in model.coordinate_names}
    return _energies(model, velocities) + _speeds(model, velocities)


def _energies(model: Elements, velocities: set[Formula]) -> list[Problem]:
    """A kinetic energy that misses a velocity, or is not T = ½ q̇ᵀM q̇ + q̇ᵀN + T₀."""
    if model.energies is None:
        return []
    found = []
    T, start = model.energies.kinetic, at_start(model)
    for name in model.coordinate_names:
        if rate(name) not in T.free_symbols:
            advice = f"Every coordinate needs mass: add a term with dot({name})**2, or remove '{name}'."
            found.append(Problem("kinetic energy", f"the velocity dot({name}) does not appear in it.", advice))
    if not is_quadratic(T, velocities, start):
        advice = "Expected terms with at most two velocities as factors, such as m*dot(x)**2/2."
        found.append(Problem("kinetic energy", "it is not quadratic in the velocities.", advice))
    return found


def _speeds(model: Elements, velocities: set[Formula]) -> list[Problem]:
    """Speeds that are not u = Y(q, t) q̇ + Z(q, t), or more of them than coordinates."""
    found = []
    start = at_start(model)
    for speed in model.speed_list:
        path = f"speed '{speed.name}'"
        if not speed.value.free_symbols & velocities:
            found.append(Problem(path, "it contains no velocity.", "Use dot(...) of at least one coordinate."))
        elif not is_affine(speed.value, velocities, start):
            advice = "Expected a sum of velocities with factors of coordinates and time, such as cos(x)*dot(y)."
            found.append(Problem(path, "it is not linear in the velocities.", advice))
    count, n = len(model.speed_list), len(model.coordinate_list)
    if count > n:
        fact = f"there are {count} speeds for {n} coordinates."
        found.append(Problem("speeds", fact, "Expected one for each degree of freedom; remove some."))
    return found
