"""Do the constraints restrict the motion, and does the initial state fulfil them?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dalembert.errors import Problem
from dalembert.expressions import TIME, coordinate, momentum, rate
from dalembert.expressions.formula import Formula
from dalembert.model.checks.values import Table, at_start, size, slope, value

if TYPE_CHECKING:
    from dalembert.model.description import Elements

_CLOSE = 1e-8


def problems(model: Elements) -> list[Problem]:
    """Constraints that say nothing about the motion, or that the initial state violates."""
    q = {coordinate(name) for name in model.coordinate_names}
    qd = {rate(name) for name in model.coordinate_names}
    table, guess = at_start(model), model.assemble_start
    found = []
    for constraint in model.holonomic_list:
        path = f"holonomic '{constraint.name}'"
        if constraint.phi.free_symbols & q:
            if not (constraint.feedback or guess):
                found += _position(path, constraint.phi, q, table) + _rate(path, constraint.phi, q, table)
        else:
            found.append(_idle(path, "no coordinate", "Remove it, or use the coordinates it ties together."))
    found += _quaternions(model, table)
    for constraint in model.nonholonomic_list:
        path = f"nonholonomic '{constraint.name}'"
        if constraint.psi.free_symbols & qd:
            if not (constraint.feedback or guess):
                found += _velocity(path, constraint.psi, qd, table)
        elif constraint.psi.free_symbols & q:
            found.append(_idle(path, "no velocity", "It restricts positions: declare it as holonomic."))
        else:
            advice = "Remove it, or use the velocities it ties together."
            found.append(_idle(path, "neither coordinates nor velocities", advice))
    return found + _canonical(model)


def _quaternions(model: Elements, table: Table) -> list[Problem]:
    """Quaternions that are no rotation at the start: none is of length 0, and a guess may have any other length."""
    found = []
    for body in model.bodies:
        for joint in (joint for joint in body.joints if joint.quaternion):
            parts = [value(part, table) for part in joint.values[-4:]]
            length = math.hypot(*parts)
            if length == 0 or (abs(length - 1) > _CLOSE and not model.assemble_start):
                shown = ", ".join(f"{part:.10g}" for part in parts)
                fact = f"its quaternion is ({shown}) at the start, of length {length:.10g}."
                advice = "Start it at (1, 0, 0, 0), or at another quaternion (w, x, y, z) of length 1."
                found.append(Problem(f"body '{body.name}'", fact, advice, blocking=False))
    return found


def _canonical(model: Elements) -> list[Problem]:
    """Canonical constraints without momenta; whether the start fulfils the others is asked where momenta are known."""
    p = {momentum(name) for name in model.coordinate_names}
    advice = "It restricts positions: declare it as holonomic."
    return [
        _idle(f"canonical '{c.name}'", "no momentum", advice)
        for c in model.canonical_list
        if not c.phi.free_symbols & p
    ]


def _idle(path: str, lacks: str, advice: str) -> Problem:
    return Problem(path, f"it contains {lacks}.", advice)


def _position(path: str, phi: Formula, q: set[Formula], table: Table) -> list[Problem]:
    """φ = 0 at the start."""
    amount, terms = value(phi, table), size(phi, table)
    if not abs(amount) > _CLOSE * terms:
        return []
    return [_violation(path, "φ", amount, terms, f"Change the initial positions{_solution(phi, q, table)}.")]


def _rate(path: str, phi: Formula, q: set[Formula], table: Table) -> list[Problem]:
    """φ̇ = ∂φ/∂t + (∂φ/∂q) q̇ = 0 at the start."""
    slopes = {x.name: slope(phi, table, x.name) for x in sorted(phi.free_symbols & q, key=str)}
    parts = [slopes[name] * table[rate(name).name] for name in slopes] + [slope(phi, table, TIME.name)]
    amount, terms = sum(parts), sum(map(abs, parts))
    if not abs(amount) > _CLOSE * terms:
        return []
    name = max(slopes, key=lambda name: abs(slopes[name]))
    hint = ""
    if slopes[name]:
        old = table[rate(name).name]
        hint = _instead(rate(name).name, old - amount / slopes[name], old)
    return [_violation(path, "dφ/dt", amount, terms, f"Change the initial rates{hint}.")]


def _velocity(path: str, psi: Formula, qd: set[Formula], table: Table) -> list[Problem]:
    """ψ = 0 at the start."""
    amount, terms = value(psi, table), size(psi, table)
    if not abs(amount) > _CLOSE * terms:
        return []
    return [_violation(path, "ψ", amount, terms, f"Change the initial rates{_solution(psi, qd, table)}.")]


def _violation(path: str, letter: str, amount: float, terms: float, advice: str) -> Problem:
    shown = f"{letter} = {amount:.6g}, expected 0 (its terms are of size {terms:.3g})"
    return Problem(path, f"the initial state violates it: {shown}.", advice, blocking=False)


def _solution(formula: Formula, unknowns: set[Formula], table: Table) -> str:
    """One start value that would fulfil the constraint, all others left as they are, by Newton's method."""
    names = sorted(x.name for x in formula.free_symbols & unknowns)
    steepness = {name: abs(slope(formula, table, name)) for name in names}
    name = max(names, key=lambda name: -1.0 if math.isnan(steepness[name]) else steepness[name])
    trial = dict(table)
    for _ in range(30):
        amount, steep = value(formula, trial), slope(formula, trial, name)
        if amount == 0 or not abs(steep) > 0:
            break
        trial[name] -= amount / steep
    solved = abs(value(formula, trial)) <= _CLOSE * size(formula, trial)
    return _instead(name, trial[name], table[name]) if solved else ""


def _instead(name: str, new: float, old: float) -> str:
    return f"; with {name} = {new:.10g} instead of {old:.10g} it would hold"
