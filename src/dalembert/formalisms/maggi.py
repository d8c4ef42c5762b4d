"""Maggi's equations: Lagrange's operators projected on the directions that the constraints admit, completed by A q̈ = β.

Source: papers/volterra, ref. [11], in the form that its authors use; W from (4)(5).

| symbol | name | meaning |
|---|---|---|
| M q̈ − h | `M`, `h` | Lagrange's operators d/dt ∂L/∂q̇ − ∂L/∂q − Q |
| W | `W` | q̇ = W u + X; its columns span the admissible directions |
| A q̈ = β | `A`, `beta` | constraints at acceleration level |
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import (
    define_bodies,
    define_push,
    define_rows,
    free_equations,
    reaction_residual,
    vanishing,
)
from dalembert.formalisms.shared.linear_form import AccelerationRows, LinearSystem, in_velocities
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import stack, zeros

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


def derive(system: System) -> Derived:
    """[WᵀM; A] q̈ = [Wᵀh; β]; reactions are the residual of Lagrange's operators, M q̈ − h."""
    define, qdd = Definitions(system), system.qdd
    define_bodies(define, system)
    M, h = free_equations(system, define, ("(13)", "(17)"))
    W = define("W", system.speeds.W, "∂q̇/∂u: its columns span the admissible directions", "(5)")
    A, beta = define_rows(define, system, "(17)")

    def laws() -> None:
        free, push = define.symbols("W", W), define_push(define, system, h)
        words = "Wᵀ(M q̈ − h) = 0" if push is h else "Wᵀ(M q̈ − h − C) = 0"
        define.law(words, ("W", "M", "h"), lambda: vanishing(free.T @ (M @ qdd - push)), "ref. [11]")
        if len(beta):
            define.law("A q̈ = β", ("A", "beta"), lambda: (A @ qdd, beta), "ref. [11]")

    define.later(laws)
    C = non_ideal_forces(system.motion)
    push = None if C is None else stack(W.T @ C, zeros(len(system.facts.rows)))
    linear = LinearSystem.without_rows(stack(W.T @ M, A), stack(W.T @ h, beta), push)
    order = system.facts.maggi_order
    return define.derived(
        in_velocities("maggi", system, linear, AccelerationRows.NONE, order=order, reaction=reaction_residual)
    )
