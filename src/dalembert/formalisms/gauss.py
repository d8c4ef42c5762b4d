"""Gauss's principle of least constraint: of all admitted accelerations nature takes the one nearest to the free one.

Source: papers/poincare (3.36), (3.37), with s = q̇.

| symbol | name | meaning |
|---|---|---|
| q̈₀ = M⁻¹ h | `qdd_free` | acceleration without constraints |
| G(q̈) | `gaussian` | (q̈ − q̈₀)ᵀ M (q̈ − q̈₀), (3.36) |
| A q̈ = β | | the admitted accelerations |

The minimisation itself is done: in numbers by least squares under linear equations, with orthogonal factors, in the graph by the
condition that the gradient of G is a combination of the rows of A.
"""

from __future__ import annotations

import numpy as np

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import multipliers, show_bodies, shown_push, shown_rows, vanishing
from dalembert.formalisms.shared.free_motion import free_equations, held_form, unexplained_force
from dalembert.formalisms.shared.inverses import inverse_mass, with_symmetric_names
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.linear_system import Numeric, Solver
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array

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
    redundant="takes",
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


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """M and h of the Gaussian, and the rows A q̈ = β of the admitted accelerations."""
    show_bodies(system, show, ("(2.11)", "(2.11)"))
    M, h = free_equations(system, show, ("(2.12)", "(2.15)"))
    show.beside(lambda: _show_gaussian(system, show, M, h))
    return held_form("gauss", system, (M, h), Solver(numeric=Numeric.LEAST_SQUARES))


def _show_gaussian(system: System, show: Show, M: Array, h: Array) -> None:
    """What is made smallest, under which condition, and where its gradient is a combination of the rows of A."""
    qdd_free = inverse_mass(system.algebra, show, M, "(2.12)") @ shown_push(system, show, show.named("h", h))
    qdd_free = show.named("qdd_free", show("qdd_free", "(3.22)", "acceleration without constraints, M⁻¹ h", qdd_free))
    gap = system.qdd - qdd_free
    named = with_symmetric_names(show, "M", M)
    show("gaussian", "(3.36)", "(q̈ − q̈₀)ᵀ M (q̈ − q̈₀), least among all q̈ that are admitted", gap @ named @ gap)
    A, beta = shown_rows(system, show, "(3.5)", ("(3.1)", "(3.2)"))
    lam = multipliers(system, len(beta))
    if len(beta):
        show.law("(3.36)", "G(q̈) → min: ½ ∂G/∂q̈ = Aᵀλ", ("gaussian", "A"), lambda: (M @ gap, A.T @ lam))
        show.law("(3.5)", "A q̈ = β", ("A", "beta"), lambda: (A @ system.qdd, beta))
    else:
        show.law("(3.36)", "G(q̈) → min: ½ ∂G/∂q̈ = 0", ("gaussian",), lambda: vanishing(M @ gap))


reaction = unexplained_force  # M (q̈ − q̈₀): half the gradient of the Gaussian


def gaussian(M: np.ndarray, h: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(q̈ − q̈₀)ᵀ M (q̈ − q̈₀) of (3.36), batch on the first axis."""
    gap = qdd - np.linalg.solve(M, h[..., None])[..., 0]
    return np.einsum("kn,knm,km->k", gap, M, gap)
