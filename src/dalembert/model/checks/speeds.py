"""Are the quasi-velocities what their name says: first-degree functions of the velocities, and not too many?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.expressions import rate
from dalembert.model.checks.values import at_start, is_affine

if TYPE_CHECKING:
    from dalembert.model.description import Elements


def problems(model: Elements) -> list[Problem]:
    """Speeds that are not u = Y(q, t) q̇ + Z(q, t), or more of them than coordinates."""
    found = []
    start = at_start(model)
    velocities = {rate(name) for name in model.coordinate_names}
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
