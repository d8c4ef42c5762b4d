"""Reproduction of papers/phong: the matrices of its two examples by its two-step method, from our models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import dalembert as dl
from dalembert.mechanics import state_batch
from dalembert.papers.page import pose_bodies, relative_difference
from dalembert.papers.printed_values import (
    ClaimResult,
    Computed,
    MechanismSnapshot,
    Recipe,
    Stroke,
    keyed_rows,
    text_label,
)

if TYPE_CHECKING:
    from sympy import Basic, Matrix

EXAMPLES = {"Example 1": "phong-disk", "Example 2": "phong-pendulum"}
TRIALS = {"Example 1": (1, 1, 1), "Example 2": (0, 1, 0)}  # the vectors x of the paper


def recipe() -> Recipe:
    """Return the functions that compute the examples and draw the figures."""
    return Recipe(
        {"Counts": _counts, **{number: partial(_example, number) for number in EXAMPLES}},
        {"1": _disk, "2": _pendulum},
        {"fewest-differential-equations": _fewest, "reactions": _reactions},
    )


def _fewest() -> ClaimResult:
    """Compare the number of differential equations (2.7) with the degrees of freedom, and with that with multipliers."""
    differences, holds = [], True
    for model in EXAMPLES.values():
        equations, freedoms = dl.derive(model, "phong"), dl.mobility(model).degrees_of_freedom
        s, n = equations.constraint_matrix.shape
        holds = holds and equations.n_dynamic == freedoms == n - s
        differences.append(
            f"{model}: {equations.n_dynamic} differential equations and {s} constraints, {n + s} with multipliers"
        )
    return ClaimResult(holds, "; ".join(differences) + ".")


def _reactions() -> ClaimResult:
    """Compare r by (2.4) with Aᵀλ of Lagrange's equations at random states."""
    gaps = {}
    for name in EXAMPLES.values():
        phong, lagrange = (dl.derive(name, key) for key in ("phong", "lagrange"))
        at = state_batch.consistent_states(phong.model, 20)
        found, known = (each.reactions(at.q, at.qd, at.t) for each in (phong, lagrange))
        gaps[name] = relative_difference(found, known)
    differences = ", ".join(f"{name} {gap:.0e}" for name, gap in gaps.items())
    return ClaimResult(
        max(gaps.values()) < 1e-9, f"largest relative difference from Aᵀλ at 20 random states: {differences}."
    )


def _counts() -> Computed:
    """Count coordinates n, constraints s, degrees of freedom m, and differential equations (2.7)."""
    found = [dl.derive(model, "phong") for model in EXAMPLES.values()]
    sizes = [equations.constraint_matrix.shape for equations in found]
    return {
        "coordinates n": [n for _, n in sizes],
        "constraints s": [s for s, _ in sizes],
        "degrees of freedom m": [dl.mobility(model).degrees_of_freedom for model in EXAMPLES.values()],
        "differential equations (2.7)": [equations.n_dynamic for equations in found],
    }


def _example(number: str) -> Computed:
    """Compute G, r, the vectors of both steps and the terms of (2.7)."""
    import sympy as sp

    equations = dl.derive(EXAMPLES[number], "phong")
    names = equations.model.coordinate_names
    symbols = {sp.Function(name)(sp.Symbol("t")): sp.Symbol(name, real=True) for name in names}
    symbols |= {sp.Symbol(name): sp.Symbol(name, positive=True) for name in equations.model.parameter_values}
    G, M, h = (each.subs(symbols) for each in (equations.constraint_matrix, equations.mass_matrix, equations.forcing))
    r = M * sp.Matrix([sp.Symbol(f"{name}_ddot") for name in names]) - h  # (2.4), with h of the other sign
    r = r.replace(sp.cos, lambda _: sp.Symbol("f") / sp.Symbol("F", positive=True)) if number == "Example 1" else r
    basis = orthonormal([G.row(i).T for i in range(G.rows)])  # step 1
    d = orthogonal(sp.Matrix(TRIALS[number]), basis)  # step 2
    D = sp.simplify(d / d[-1]) * (-1 if number == "Example 1" else 1)  # any scale: the paper has ∓1 last
    terms = [D[i] * r[i] for i in range(len(names))]  # (2.7) is their sum
    rows = [*(G.row(i) for i in range(G.rows)), r, *basis, d, D, terms]
    return keyed_rows("phong", number, ([str(entry) for entry in row] for row in rows))


def orthonormal(vectors: Sequence[Matrix]) -> list[Matrix]:
    """Step 1: orthonormalize the vectors by Gram–Schmidt."""
    import sympy as sp

    basis: list[Matrix] = []
    for g in vectors:
        b = orthogonal(g, basis)
        basis.append((b / sp.sqrt(_short(b.dot(b)))).applyfunc(_short))
    return basis


def orthogonal(x: Matrix, basis: Sequence[Matrix]) -> Matrix:
    """Return x minus its projections on unit vectors."""
    import sympy as sp

    rest = x - sum((x.dot(b) * b for b in basis), sp.zeros(len(x), 1))
    return rest.applyfunc(_short)


def _short(value: Basic) -> Basic:
    """Return the shortest of several forms."""
    import sympy as sp

    form = sp.factor(value)
    return min((form, sp.trigsimp(form, method="matching")), key=sp.count_ops) if form.has(sp.cos) else form


# Figures 1 and 2


def _disk() -> list[MechanismSnapshot]:
    """Draw the disk on its track, rolled by an angle of −1."""
    model, angle = dl.load("phong-disk"), -1.0
    radius = model.parameter_values["r"]
    at = pose_bodies(model, (-radius * angle, radius, angle))
    turn = np.linspace(0, 2 * np.pi, 61)
    rim = at.points("disk", np.stack([radius * np.cos(turn), radius * np.sin(turn), 0 * turn], axis=1))[:, :2]
    center = at.center("disk")[:2]
    foot, start = np.array([center[0], 0.0]), np.array([0.0, center[1]])
    strokes = (
        Stroke(np.array([(-1.2 * radius, 0), (2.6 * radius, 0)]), thin=True),
        Stroke(rim, closed=True),
        Stroke(np.array([(0, -0.1 * radius), (0, 1.3 * radius)]), thin=True),
        *_named(start, center, "s"),
        *_named(foot, center, "u"),
        Stroke(np.array([center, rim[0]]), color=1),
        *_arc(center, 0.4 * radius, 0.0, angle),
    )
    return [MechanismSnapshot("", strokes)]


def _pendulum() -> list[MechanismSnapshot]:
    """Draw the pendulum in its initial configuration."""
    model = dl.load("phong-pendulum")
    length, q = model.parameter_values["l"], model.initial[0]
    at = pose_bodies(model, q)
    rod = at.points("pendulum", [(0, length, 0), (0, -length, 0)])[:, :2]
    center, pivot = at.center("pendulum")[:2], np.zeros(2)
    strokes = (
        Stroke(np.array([pivot, (0, -1.6 * length)]), thin=True),
        Stroke(rod),
        Stroke(np.array([pivot, center]), joint=True),
        *_named(np.array([0.0, center[1]]), center, "x"),
        *_named(np.array([center[0], 0.0]), center, "y"),
        *_arc(pivot, 0.5 * length, -np.pi / 2, float(q[2]) - np.pi / 2),
    )
    return [MechanismSnapshot("", strokes)]


def _named(start: np.ndarray, end: np.ndarray, name: str) -> tuple[Stroke, Stroke]:
    """Draw a dimension line with its name."""
    return Stroke(np.array([start, end]), thin=True), text_label((start + end) / 2, name)


def _arc(center: np.ndarray, radius: float, start: float, end: float) -> tuple[Stroke, Stroke]:
    """Draw the angle φ."""
    turn = np.linspace(start, end, 21)
    points = center + radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return Stroke(points, thin=True), text_label(points[10], "φ")
