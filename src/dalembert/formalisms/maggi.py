"""Maggi's equations: Lagrange's operators projected on the directions the constraints leave free, closed by A q̈ = β.

Source: papers/volterra, ref. [11], in the form its authors compute with; W from (4)(5).

| symbol | name | meaning |
|---|---|---|
| M q̈ − h | `M`, `h` | Lagrange's operators d/dt ∂L/∂q̇ − ∂L/∂q − Q |
| W | `W` | q̇ = W u + X; its columns span the free directions |
| A q̈ = β | `A`, `beta` | constraints at acceleration level |
"""

from __future__ import annotations

from dalembert.formalisms.shared.about import About, Velocities
from dalembert.formalisms.shared.common_quantities import show_bodies, shown_push, shown_rows, vanishing
from dalembert.formalisms.shared.free_motion import free_equations, unexplained_force
from dalembert.formalisms.shared.linear_form import LinearForm, Rows, in_velocities
from dalembert.formalisms.shared.linear_system import LinearSystem
from dalembert.formalisms.shared.quantities import SILENT, Show
from dalembert.mechanics.applied_forces import non_ideal_forces
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, stack, zeros

ABOUT = About(
    key="maggi",
    title="Maggi's equations",
    source="papers/volterra (4)(5) and ref. [11]",
    needs="energies",
    velocities=Velocities.RATES,
    count="n",
    lineage=("T", "V", "free motion"),
    nonlinear=True,
    servo=True,
    singular_mass=True,
    along_speeds=True,
    citation="""@article{maggi1901,
  author = {Maggi, Gian Antonio},
  title = {Di alcune nuove forme delle equazioni della dinamica applicabili ai sistemi anolonomi},
  journal = {Rendiconti della Regia Accademia dei Lincei},
  volume = {10},
  pages = {287--291},
  year = {1901}
}""",
)


def derive(system: System, show: Show = SILENT) -> LinearForm:
    """[WᵀM; A] q̈ = [Wᵀh; β]."""
    show_bodies(system, show)
    M, h = free_equations(system, show, ("(13)", "(17)"))
    W = show("W", "(5)", "∂q̇/∂u: its columns span the free directions", system.speeds.W)
    A, beta = shown_rows(system, show, "(17)")
    show.beside(lambda: _show_law(system, show, (M, h), W, (A, beta)))
    C = non_ideal_forces(system.motion)
    push = None if C is None else stack(W.T @ C, zeros(len(system.facts.rows)))
    linear = LinearSystem.without_rows(stack(W.T @ M, A), stack(W.T @ h, beta), push)
    return in_velocities("maggi", system, linear, Rows.NONE, order=system.facts.maggi_order)


def _show_law(system: System, show: Show, free: tuple[Array, Array], W: Array, rows: tuple[Array, Array]) -> None:
    """The d projected equations, and the constraints that close them."""
    (M, h), (A, beta), qdd, W = free, rows, system.qdd, show.named("W", W)
    push = shown_push(system, show, h)
    words = "Wᵀ(M q̈ − h) = 0" if push is h else "Wᵀ(M q̈ − h − C) = 0"
    show.law("ref. [11]", words, ("W", "M", "h"), lambda: vanishing(W.T @ (M @ qdd - push)))
    if len(beta):
        show.law("ref. [11]", "A q̈ = β", ("A", "beta"), lambda: (A @ qdd, beta))


reaction = unexplained_force  # M q̈ − h: what Lagrange's operators leave over
