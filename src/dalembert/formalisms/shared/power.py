"""The power that enters a system, by what puts it in: what the energy balance (80) of papers/volterra is checked against.

Each load, force and constraint that can do work is a channel with a name of its own. Loads work on the velocities of the bodies;
what moves bodies by a formula of time delivers the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np

from dalembert.formalisms.shared.common_quantities import unexplained_force
from dalembert.mechanics.applied_forces import non_ideal_forces, working_forces
from dalembert.mechanics.energies import kinetic, potential
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, Scalar, matrix, stack, vector, zeros
from dalembert.symbolic.elimination import ldl_solve

MOVING = "prescribed motion"  # of what moves explicitly with time
CONSTRAINTS = "constraints"  # those that work, where their multipliers are not unique


def jacobi(system: System) -> Scalar:
    """q̇·∂L/∂q̇ − L: equal to T + V unless bodies move explicitly with time."""
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    return system.algebra.gradient(T, system.qd) @ system.qd - T + V


def carried_along(system: System) -> Scalar:
    """T + V less the Jacobi function, 2T₀ + T₁: of T the parts of degree 0 and 1 in q̇, zero unless bodies move with time."""
    T, rest = kinetic(system.motion, system.qd), zeros(len(system.qd))
    parts = system.at_rates(stack(system.algebra.gradient(T, system.qd), vector([T])), rest)
    return parts[:-1] @ system.qd + 2 * parts[-1]


def power_into(system: System) -> Scalar:
    """The rate of the Jacobi function: Q·q̇ − ∂L/∂t, and Aᵀλ·q̇ where constraints move with time.

    A function of (q, q̇, q̈, t); for applied forces alone it is the integrand Qᵀq̇ of (80).
    """
    return sum(powers_into(system)[1], start=0)


def powers_into(system: System) -> tuple[tuple[str, ...], Array]:
    """The same by what puts it in: names and powers. What never does work is left out.

    Loads have the power F·(J q̇ + c) of their forces. −∂L/∂t less the parts F·c is that of `MOVING`, as the rate of the Jacobi
    function has it: T + V takes the rate of `carried_along` besides.
    """
    T, V = kinetic(system.motion, system.qd), potential(system.motion)
    (explicit,) = system.algebra.gradient(V - T, vector([system.t]))
    working = list(working_forces(system.motion))
    loads = [(each.name, each.Q @ system.qd + each.drift) for each in working]
    drift = sum((each.drift for each in working), start=0)
    found = [*loads, (MOVING, explicit - drift), *_reactions(system)]
    names, powers = channels_of(system, [(name, vector([power])) for name, power in found])
    return names, powers.reshape(len(names))


def channels_of(system: System, rows: Iterable[tuple[str, Array]]) -> tuple[tuple[str, ...], Array]:
    """The rows that are not zero, each under a name of its own, as a matrix."""
    out: dict[str, Array] = {}
    for name, row in rows:
        if not all(map(system.algebra.is_zero, row)):
            others = (f"{name} ({i})" for i in count(2))
            out[name if name not in out else next(other for other in others if other not in out)] = row
    return tuple(out), matrix([list(row) for row in out.values()]) if out else zeros(0, 0)


def working_rows(system: System) -> list[int]:
    """The constraints whose ideal reactions can have power: a q̇ = 0 does not hold for them."""
    levels, is_zero = system.facts.levels, system.algebra.is_zero
    b = system.constraints.b
    return [i for i in range(len(b)) if levels.servo[i] or not (levels.linear[i] and is_zero(b[i]))]


def told_apart(system: System) -> bool:
    """True when every constraint has a multiplier of its own, wherever the system is."""
    return not system.facts.dropped and not system.facts.nearly_dependent


def _reactions(system: System) -> Iterator[tuple[str, Scalar]]:
    """λᵢ (aᵢ q̇) of every constraint that works."""
    rows, names = working_rows(system), system.facts.levels.names
    if not rows:
        return
    C, reaction = non_ideal_forces(system.motion), unexplained_force(system)
    reaction = reaction if C is None else reaction - C
    if len(rows) == 1 or not told_apart(system):
        yield names[rows[0]] if len(rows) == 1 else CONSTRAINTS, reaction @ system.qd
        return
    lam, moving = _multipliers(system, reaction), system.constraints.A @ system.qd
    yield from ((names[i], lam[i] * moving[i]) for i in rows)


def _multipliers(system: System, reaction: Array) -> Array:
    """λ of Aᵀλ = reaction: A U² Aᵀ λ = A U² reaction, with U the scales of the coordinates as powers of two."""
    A, unit = system.constraints.A, np.exp2(2 * np.round(np.log2(system.facts.scales.positions))).tolist()
    weighted = A * np.array(unit, dtype=object)
    return ldl_solve(system.algebra, weighted @ A.T, weighted @ reaction)
