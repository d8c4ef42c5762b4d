"""Phong's equations: ideal reactions are orthogonal to D, which a two-step Gram–Schmidt process computes.

Source: papers/phong (2.1)–(2.10) and the two-step algorithm of section 2.

| symbol | name | meaning |
|---|---|---|
| G | `G` | Jacobian of the constraints (2.6) |
| b_i | `b` | step 1: orthogonalized rows of G; a row that vanishes is redundant |
| x_i | `x` | trial vectors: unit vectors chosen at sample states, or the user's |
| D | `D` | step 2: columns orthogonal to every b and to each other, G D = 0 (2.6) |
| r | `reaction` | generalized reactions, r = M q̈ − h afterward (2.4) |

    Dᵀ(M q̈ − h) = 0 (2.7)   with   G q̈ = β

Deviates: (2.7) is completed by G q̈ = β, the constraints on acceleration level, where the paper uses g(q, t) = 0;
the integrator `collocation` follows the paper. The columns are not normalized, since (2.6) does not require it
and square roots would make D longer; our h has the opposite sign. Example 2 prints ℓ/√… as the first entry of B where 1/√… is
meant. Constraints on velocities enter by their rows A likewise. In the compiled equations of models with up to six
coordinates the last column of D is independent of its trial vector: it is the cross product of the rows of G and the other
columns. Gram–Schmidt multiplies this product by a factor that vanishes if the trial vector lies in their span. So D of a
mechanism with one degree of freedom never vanishes; if other columns nearly do, a run continues with other trial vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from dalembert.formalisms.shared.common_quantities import (
    constrained_form,
    constraint_levels,
    define_bodies,
    define_constraints,
    define_push,
    free_equations,
    vanishing,
)
from dalembert.formalisms.shared.linear_form import Numeric, Solver
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import (
    columns,
    compiled_directions,
    cross_units,
    fewest_entries_first,
    gram_schmidt,
    solve_along_directions,
    trial_vectors,
)
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, stack

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
    dependent_rows="takes",
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


def derive(system: System, trials: Sequence[Sequence[float]] | None = None) -> Derived:
    """Dᵀ M q̈ = Dᵀ h, d equations, completed by the constraints; `trials` are the x_i of step 2."""
    define, algebra, x = Definitions(system), system.algebra, trial_vectors(system, trials)
    define_bodies(define, system, ("(2.3)", "(2.3)"))
    M, h = free_equations(system, define, ("(2.3)", "(2.3)"))
    if trials is None:
        x = fewest_entries_first(system, x)
    define.later(lambda: _projection(define, system, M, h, x))
    units = cross_units(system, x)
    needed = x if units is None else x[:, :-1]
    failing = needed.T if needed.size and len(system.facts.rows) else None
    solver = Solver(partial(solve_along_directions, x=x, units=units), Numeric.GRAM_SCHMIDT, trials=failing)
    form = constrained_form("phong", system, (M, h), solver, system.facts.d)  # r = M q̈ − h, (2.4)

    def unreduced() -> tuple[Array, Array, Array]:
        D = compiled_directions(algebra, system.A, x, units)
        return D.T @ (M @ system.qdd - form.linear.push), *constraint_levels(system)  # (2.7), (2.1)

    # constraints with feedback are satisfied only asymptotically
    return define.derived(form if any(system.facts.levels.servo) else replace(form, unreduced=unreduced))


def _projection(define: Definitions, system: System, M: Array, h: Array, x: Array) -> None:
    """Define the two steps, the equations of motion with the constraints, and the reactions."""
    algebra, n, constrained, G = system.algebra, len(system.q), len(system.facts.rows) > 0, system.A
    if constrained:
        define_constraints(define, system, ("(2.1b)", "(2.1b)"))
        G = define.named("G", G, "Jacobian of the constraints", "(2.6)")
    b = columns(gram_schmidt(algebra, list(G), [], define, "b"), n)
    if b.size:
        define("b", b, "orthogonalized rows of G, one column each", "Step 1")
    meaning = "trial vectors, one column each: linearly independent of the rows of G and of each other"
    define("x", x, meaning, "Step 2")
    D = columns(gram_schmidt(algebra, list(x.T), list(define.symbols("b", b).T), define, "D"), n)
    D = define("D", D, "admissible directions, G D = 0; their lengths are arbitrary", "(2.6)")
    push, D = define_push(define, system, h), define.symbols("D", D)
    if constrained:
        define("r", M @ system.qdd - h, "generalized reactions M q̈ − h, once q̈ is known", "(2.4)")
    words = "Dᵀ(M q̈ − h) = 0" if push is h else "Dᵀ(M q̈ − h − C) = 0"
    define.law(words, ("D", "M", "h"), lambda: vanishing(D.T @ (M @ system.qdd - push)), "(2.7)")
    if constrained and any(system.facts.levels.servo):  # satisfied only asymptotically
        define.law("G q̈ = β", ("G",), lambda: (system.A @ system.qdd, system.beta), "(2.1b)")
    elif constrained:
        define.law("g(q, t) = 0", (), lambda: vanishing(stack(*constraint_levels(system))), "(2.1b)")
