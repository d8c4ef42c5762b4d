"""Gauss's principle of least constraint: the acceleration is the admissible one nearest to the free acceleration.

Source: papers/poincare (3.36), (3.37), with s = q̇.

| symbol | name | meaning |
|---|---|---|
| q̈₀ = M⁻¹ h | `qdd_free` | acceleration without constraints |
| G(q̈) | `gaussian` | (q̈ − q̈₀)ᵀ M (q̈ − q̈₀), (3.36) |
| A q̈ = β | | the admissible accelerations |

G is minimized numerically by equality-constrained least squares with orthogonal factors, and in the expression graph by the
condition that the gradient of G is a linear combination of the rows of A.
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import (
    constrained_form,
    define_bodies,
    define_push,
    define_rows,
    free_equations,
    multipliers,
    vanishing,
)
from dalembert.formalisms.shared.linear_form import Numeric, Solver
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.formalisms.shared.solvers import inverse_mass, symmetric_symbols
from dalembert.mechanics.system import System

ABOUT = About(
    key="gauss",
    title="Gauss's principle of least constraint",
    source="papers/poincare (3.36)(3.37)",
    needs="energies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    dependent_rows="takes",
    compiles="large",
    citation="""@article{gauss1829,
  author = {Gauss, Carl Friedrich},
  title = {{\\"U}ber ein neues allgemeines {G}rundgesetz der {M}echanik},
  journal = {Journal f{\\"u}r die reine und angewandte Mathematik},
  volume = {4},
  pages = {232--235},
  year = {1829}
}""",
)


def derive(system: System) -> Derived:
    """M and h of the Gaussian, and the rows A q̈ = β of the admissible accelerations; reactions are half of ∂G/∂q̈."""
    define = Definitions(system)
    define_bodies(define, system, ("(2.11)", "(2.11)"))
    M, h = free_equations(system, define, ("(2.12)", "(2.15)"))

    def least_constraint() -> None:
        M_inv = inverse_mass(define, system.algebra, M, "(2.12)")
        qdd_free = M_inv @ define_push(define, system, define.symbols("h", h))
        qdd_free = define.named("qdd_free", qdd_free, "acceleration without constraints, M⁻¹ h", "(3.22)")
        gap = system.qdd - qdd_free
        G, words = gap @ symmetric_symbols(define, "M", M) @ gap, "minimal among all admissible q̈"
        define("gaussian", G, f"(q̈ − q̈₀)ᵀ M (q̈ − q̈₀), {words}", "(3.36)")
        A, beta = define_rows(define, system, "(3.5)", ("(3.1)", "(3.2)"))
        if not len(beta):
            return define.law("G(q̈) → min: ½ ∂G/∂q̈ = 0", ("gaussian",), lambda: vanishing(M @ gap), "(3.36)")
        sides = lambda: (M @ gap, A.T @ multipliers(system, len(beta)))  # noqa: E731
        define.law("G(q̈) → min: ½ ∂G/∂q̈ = Aᵀλ", ("gaussian", "A"), sides, "(3.36)")
        return define.law("A q̈ = β", ("A", "beta"), lambda: (A @ system.qdd, beta), "(3.5)")

    define.later(least_constraint)
    return define.derived(constrained_form("gauss", system, (M, h), Solver(numeric=Numeric.LEAST_SQUARES)))
