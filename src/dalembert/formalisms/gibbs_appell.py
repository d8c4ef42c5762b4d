"""The Gibbs–Appell equations: derivatives of the energy of acceleration with respect to the quasi-accelerations.

Source: papers/volterra (4)–(6), (9) and refs. [9, 28]; ∂S/∂u̇ = U with S = Σ ½ m a·a + ½ α·I α + α·(ω × I ω).

| symbol | name | meaning |
|---|---|---|
| S | `S` | energy of acceleration |
| u̇ | `ud` | quasi-accelerations |
| a, α | `a`, `alpha` | accelerations of the mass center (world axes) and of the rotation (body axes) |
| U | `U` | generalized active forces |
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import along_speeds, define_bodies, define_speeds, rates
from dalembert.formalisms.shared.linear_form import in_speeds
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import active_forces
from dalembert.mechanics.motion import velocities
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, Scalar, identity
from dalembert.symbolic.rotations import cross

ABOUT = About(
    key="gibbs_appell",
    title="The Gibbs–Appell equations",
    source="papers/volterra (4)–(6), (9) and refs. [9, 28]",
    needs="bodies",
    velocities=Velocities.SPEEDS,
    count="d",
    lineage=("bodies", "active forces"),
    singular_mass=True,
    compiles="large open",
    citation="""@article{appell1899,
  author = {Appell, Paul},
  title = {Sur les mouvements de roulement; \\'equations du mouvement analogues \\`a celles de Lagrange},
  journal = {Comptes Rendus},
  volume = {129},
  pages = {317--320},
  year = {1899}
}""",
)


def derive(system: System) -> Derived:
    """∂S/∂u̇ = U, which is linear in u̇: M u̇ = U − (∂S/∂u̇ at u̇ = 0)."""
    define, algebra = Definitions(system), system.algebra
    define_bodies(define, system)
    speeds = define_speeds(define, system, system.speeds)
    ud = rates(system, speeds.u)
    S = _energy_of_acceleration(system, speeds.qd, (system.q, speeds.qd), *speeds.named, (speeds.u, ud))
    S = define("S", S, "energy of acceleration, Σ ½ m a·a + ½ α·I α + α·(ω × I ω)", "ref. [9]")
    U = define("U", active_forces(system.motion, speeds.W), "applied forces along the speeds", "(9)")
    S_ud = algebra.gradient(S, ud)  # ∂S/∂u̇
    M, rest = algebra.jacobian(S_ud, ud), algebra.substitute(S_ud, {str(x): 0 for x in ud})
    push, plus = along_speeds(system, speeds)
    define.law(f"∂S/∂u̇ = U{plus}", ("S", "U"), lambda: (S_ud, U + push), "ref. [9]")
    define.law("q̇ = W u + X", ("W", "X"), lambda: (system.qd, speeds.qd), "(4)")
    return define.derived(in_speeds("gibbs_appell", system, speeds, M, U - rest, reaction=reaction))


def reaction(system: System) -> Array:
    """∂S/∂q̈ − Q with all n accelerations free: the constraint reactions."""
    S = _energy_of_acceleration(system, system.qd, (system.q, system.qd), (system.qd, system.qdd))
    return system.algebra.gradient(S, system.qdd) - active_forces(system.motion, identity(len(system.q)))


def _energy_of_acceleration(system: System, qd: Array, *along: tuple[Array, Array]) -> Scalar:
    """S = Σ ½ m a·a + ½ α·I α + α·(ω × I ω) for velocities q̇ with the rates in `along`."""
    S: Scalar = 0
    for body, velocity in velocities(system.motion, qd):
        V, w = velocity.V, velocity.w  # (6)
        a = V.rate(lambda f: system.algebra.total_derivative(f, *along, system.clock))
        alpha = system.algebra.total_derivative(w, *along, system.clock)
        half = system.algebra.half
        rotation = alpha @ (half * (body.inertia @ alpha) + cross(w, body.inertia @ w))
        S = S + half * body.mass * a.dot(a) + rotation
    return S
