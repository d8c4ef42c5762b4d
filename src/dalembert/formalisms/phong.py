"""Phong's equations: reactions of ideal constraints are orthogonal to D, and D comes from Gram–Schmidt in two steps.

Source: papers/phong (2.1)–(2.10) and the two-step algorithm of section 2.

| symbol | name | meaning |
|---|---|---|
| G | `G` | Jacobian of the constraints (2.6) |
| b_i | `b` | step 1: the rows of G made orthogonal; a row that vanishes is redundant |
| x_i | `x` | trial vectors: unit vectors chosen at sample states, or the user's |
| D | `D` | step 2: columns orthogonal to every b and to each other, G D = 0 (2.6) |
| r | `reaction` | generalized reactions, r = M q̈ − h afterwards (2.4) |

    Dᵀ(M q̈ − h) = 0 (2.7)   with   G q̈ = β

Deviates: (2.7) is closed by G q̈ = β, the constraints on acceleration level, where the paper takes g(q, t) = 0
itself; the integrator `collocation` does as the paper does. The columns are not normalized, since (2.6) does not ask for it
and square roots only make D longer; our h has the opposite sign. Example 2 prints ℓ/√… as the first entry of B where 1/√… is
meant. Constraints on velocities enter by their rows A in the same way. In the compiled equations of models with up to six
coordinates the last column of D has no factor that its trial vector brings in: it is the cross product of the rows of G and the
columns before it, which Gram–Schmidt multiplies by a factor that vanishes where the trial vector lies in their span. So D of a
mechanism with one degree of freedom vanishes nowhere; where other columns would, a run continues with other trial vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import (
    held_rows,
    show_bodies,
    show_constraints,
    shown_push,
    vanishing,
)
from dalembert.formalisms.shared.free_motion import free_equations, held_form, unexplained_force
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.linear_system import LinearSystem, Numeric, Solver
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Algebra, Array, identity, stack, zeros
from dalembert.symbolic.linear_algebra import CROSSED, PivotOrder, cross_product, lu_solve

ABOUT = About(
    key="phong",
    title="Phong's equations",
    source="papers/phong (2.4)–(2.10)",
    needs="energies",
    velocities=Velocities.RATES,
    count="d",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    redundant="takes",
    citation="""@article{phong1999,
  author = {Dinh Van Phong},
  title = {An algorithm for deriving equations of motion of constrained mechanical system},
  journal = {Vietnam Journal of Mechanics},
  volume = {21},
  number = {1},
  pages = {36--44},
  year = {1999}
}""",
)


def derive(system: System, show: Show = SILENT, trials: Sequence[Sequence[float]] | None = None) -> LinearForm:
    """Dᵀ M q̈ = Dᵀ h, d equations, closed by the constraints themselves; `trials` are the x_i of step 2."""
    x = trial_vectors(system, trials)
    show_bodies(system, show, ("(2.3)", "(2.3)"))
    M, h = free_equations(system, show, ("(2.3)", "(2.3)"))
    show.beside(lambda: _show_projection(system, show, M, h, x))
    if trials is None:
        x = _fewest_entries_first(system, x)
    units = cross_units(system, x)
    needed = x if units is None else x[:, :-1]
    failing = needed.T if needed.size and len(system.facts.rows) else None
    solver = Solver(partial(graph, x=x, units=units), Numeric.GRAM_SCHMIDT, trials=failing)
    form = held_form("phong", system, (M, h), solver, system.facts.d)
    if any(system.facts.levels.servo):  # feedback brings them to zero only in time
        return form
    return replace(form, unreduced=lambda: unreduced(system, M, form.linear.push, x))


def unreduced(system: System, M: Array, push: Array, x: Array) -> tuple[Array, Array, Array]:
    """Dᵀ(M q̈ − h) of (2.7), and g(q, t) of (2.1) as it stands; constraints on velocities stand beside it."""
    D = compiled_directions(system.algebra, system.A, x, cross_units(system, x))
    return D.T @ (M @ system.qdd - push), *held_rows(system)


reaction = unexplained_force  # r = M q̈ − h: (2.4)


def trial_vectors(system: System, given: Sequence[Sequence[float]] | None = None) -> Array:
    """The x_i as columns (n×m): the user's, or unit vectors of the coordinates that the constraints are not solved for."""
    if given is None:
        return identity(len(system.q))[:, [i for i in range(len(system.q)) if i not in system.facts.dependent]]
    whole = [[int(entry) if float(entry).is_integer() else entry for entry in x] for x in given]
    return np.array(whole, dtype=object).reshape(len(whole), len(system.q)).T


def _fewest_entries_first(system: System, x: Array) -> Array:
    """Trial vectors of coordinates that stand in few constraints first: they fail nowhere, and a cross product comes last."""
    zero = system.algebra.is_zero
    entries = [sum(not zero(row[i]) for row in system.A for i in np.flatnonzero(v)) for v in x.T]
    return x[:, sorted(range(x.shape[1]), key=lambda j: entries[j])]


def _show_projection(system: System, show: Show, M: Array, h: Array, x: Array) -> None:
    """The two steps, the equations of motion with the constraints that close them, and the reactions after."""
    held, G = len(system.facts.rows) > 0, system.A
    if held:
        show_constraints(system, show, ("(2.1b)", "(2.1b)"))
        G = show.named("G", show("G", "(2.6)", "Jacobian of the constraints", G))
    D = directions(system.algebra, G, x, show)
    push, D = shown_push(system, show, h), show.named("D", D)
    if held:
        show("r", "(2.4)", "generalized reactions M q̈ − h, once q̈ is known", M @ system.qdd - h)
    words = "Dᵀ(M q̈ − h) = 0" if push is h else "Dᵀ(M q̈ − h − C) = 0"
    show.law("(2.7)", words, ("D", "M", "h"), lambda: vanishing(D.T @ (M @ system.qdd - push)))
    if held and any(system.facts.levels.servo):  # feedback brings them to zero only in time
        show.law("(2.1b)", "G q̈ = β", ("G",), lambda: (system.A @ system.qdd, system.beta))
    elif held:
        show.law("(2.1b)", "g(q, t) = 0", (), lambda: vanishing(stack(*held_rows(system))))


def directions(algebra: Algebra, G: Array, x: Array, show: Show = SILENT) -> Array:
    """D (n×m) by the two-step Gram–Schmidt, over any algebra; the columns of `x` (n×m) are the trial vectors."""
    n = G.shape[1]
    basis = _orthogonalized(algebra, list(G), [], show, "b")  # step 1
    if basis:
        show("b", "Step 1", "the rows of G made orthogonal, one column each", _columns(basis, n))
    show("x", "Step 2", "trial vectors, one column each: none lies in what the constraints and those before it take", x)
    found = _orthogonalized(algebra, list(x.T), list(show.named("b", _columns(basis, n)).T), show, "D")  # step 2
    meaning = "directions that the constraints admit, G D = 0; their lengths are free"
    return show("D", "(2.6)", meaning, _columns(found, n))


def cross_units(system: System, x: Array) -> Array | None:
    """How large the rows of G are, as powers of two, where a cross product is the last column of D; None where it is not.

    It is one where there are few coordinates, and the rows and trial vectors are as many as these.
    """
    known, r = system.facts, len(system.facts.rows)
    if not (0 < r < len(system.q) <= CROSSED and x.shape[1] + r == len(system.q)):
        return None
    sizes = np.ones(r) if known.mix is not None else np.array(known.sizes)[list(known.rows)]
    return np.exp2(np.round(np.log2(sizes / known.scales.positions.min()))).astype(object)


def compiled_directions(algebra: Algebra, G: Array, x: Array, units: Array | None) -> Array:
    """D (n×m) by Gram–Schmidt; with `units` the last column is the cross product of the rows of G and of the others."""
    if units is None:
        return directions(algebra, G, x)
    D = directions(algebra, G, x[:, :-1])
    rows = [row if unit == 1 else row / unit for row, unit in zip(G, units, strict=True)]
    return np.column_stack([D, cross_product(algebra, np.array([*rows, *D.T], dtype=object))])


def _orthogonalized(algebra: Algebra, given: list[Array], basis: list[Array], show: Show, key: str) -> list[Array]:
    """The vectors, each less its parts along the basis and along those before it."""
    found: list[Array] = []
    for x in given:
        known = list(show.named(key, _columns(found, len(x))).T)
        found.append(show.direction(_orthogonal(algebra, x, [*basis, *known], as_printed=show.by_names)))
    return found


def _columns(vectors: list[Array], n: int) -> Array:
    return np.array(vectors, dtype=object).reshape(len(vectors), n).T


def _orthogonal(algebra: Algebra, x: Array, basis: list[Array], *, as_printed: bool) -> Array:
    """x less its parts along the basis: xᵀb_j b_j as the paper prints it, or with what is left of x, which rounds less."""
    out = x
    for b in basis:
        along = (x if as_printed else out) @ b
        if not algebra.is_zero(along):
            out = out - along / (b @ b) * b
    return out


def graph(algebra: Algebra, linear: LinearSystem, x: Array, units: Array | None) -> tuple[Array, Array]:
    """[DᵀM; G] q̈ = [Dᵀh; β]."""
    M, h, G, beta = linear.M, linear.push, linear.A, linear.beta
    n = len(h)
    D = compiled_directions(algebra, G, x, units)
    everywhere = PivotOrder(tuple(range(n)), tuple(range(n)), 0, 1.0)
    return lu_solve(algebra, stack(D.T @ M, G), stack(D.T @ h, beta), everywhere), zeros(len(beta))  # (2.7)
