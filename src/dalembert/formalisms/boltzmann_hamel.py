"""The Boltzmann–Hamel equations: Lagrange's equations in n quasi-velocities, with Hamel's coefficients as correction.

Source: papers/volterra, refs. [12, 29, 30]; quasi-velocities from its (3)–(5), Table 1 for the count.

| symbol | name | meaning |
|---|---|---|
| w = (u, a q̇ + b) | `w` | all n quasi-velocities; the last ones vanish on the constraints |
| w = Y q̇ + Z, q̇ = W w + X | `Y`, `Z`, `W`, `X` | the square velocity maps |
| T*(q, w, t) | `T` | kinetic energy in quasi-velocities |
| γⁱ_jl | `gamma` | Hamel's coefficients, antisymmetric in j and l |
| ∂/∂π_j = Σ W_kj ∂/∂q_k | | derivative with respect to a quasi-coordinate |

    d/dt ∂T*/∂w_j − ∂T*/∂π_j + Σ_i ∂T*/∂w_i (Σ_l γⁱ_jl w_l + γⁱ_j) = U_j − ∂V/∂π_j,   j = 1 … d

The constrained w are set to zero only after every differentiation.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.formalisms.shared.common_quantities import (
    along_speeds,
    define_bodies,
    hamel_coefficients,
    hamel_terms,
    rates,
    speeds_and_constraints,
    vanishing,
)
from dalembert.formalisms.shared.linear_form import in_speeds
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import generalized_forces, kinetic, potential
from dalembert.mechanics.generalized_speeds import Speeds
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array

ABOUT = About(
    key="boltzmann_hamel",
    title="The Boltzmann–Hamel equations",
    source="papers/volterra (3)–(5), Table 1 and refs. [12, 29, 30]",
    needs="energies",
    velocities=Velocities.SPEEDS,
    count="d",
    lineage=("T", "V"),
    singular_mass=True,
    compiles="large open",
    citation="""@article{hamel1904,
  author = {Hamel, Georg},
  title = {Die {L}agrange-{E}ulerschen {G}leichungen der {M}echanik},
  journal = {Zeitschrift f{\\"u}r Mathematik und Physik},
  volume = {50},
  pages = {1--57},
  year = {1904}
}""",
)


def derive(system: System) -> Derived:
    """M u̇ = f for the d free quasi-velocities."""
    define, algebra, d = Definitions(system), system.algebra, len(system.speeds.u)
    define_bodies(define, system)
    full = speeds_and_constraints(system)
    W = define("W", full.W, "∂q̇/∂w: columns of the speeds, then of the constraints", "(5)")
    X = define("X", full.X, "q̇ at w = 0", "(5)")
    full = replace(full, W=W, X=X)
    M, f = _operators(define, system, full, d)
    # set the constrained quasi-velocities to zero after all differentiation
    zero = {str(w): 0 for w in full.u[d:]}
    M, f = algebra.substitute(M[:, :d], zero), algebra.substitute(f, zero)
    (push, plus), ud = along_speeds(system, system.speeds), rates(system, system.speeds.u)
    words, uses = f"d/dt ∂T*/∂u − ∂T*/∂π + Σ ∂T*/∂w (γ w) = U − ∂V/∂π{plus}", ("T_star", "gamma", "U")
    define.law(words, uses, lambda: vanishing(M @ ud - f - push), "refs. [12, 29, 30]")
    define.law("q̇ = W u + X", ("W", "X"), lambda: (system.qd, algebra.substitute(full.qd, zero)), "(4)")
    return define.derived(in_speeds("boltzmann_hamel", system, system.speeds, M, f, reaction=reaction))


def _operators(define: Definitions, system: System, full: Speeds, count: int) -> tuple[Array, Array]:
    """M and f of the first `count` equations, M ẇ = f with all n quasi-velocities free."""
    algebra, j, source = system.algebra, slice(count), "refs. [12, 29, 30]"
    T = define("T_star", kinetic(system.motion, full.qd), "kinetic energy in all quasi-velocities", source)
    words = "Hamel's coefficients γⁱ_jl, one matrix for each quasi-velocity i"
    define("gamma", lambda: hamel_coefficients(system, full)[0], words, source, [str(w) for w in full.u])
    T_w = algebra.gradient(T, full.u)  # ∂T*/∂w, all n
    by_pi = full.W.T @ algebra.gradient(T - potential(system.motion), system.q)  # ∂L/∂π at constant w
    U = full.W.T @ system.at_rates(generalized_forces(system.motion), full.qd)
    U = define("U", U, "applied forces without potential along the quasi-velocities", "(9)")
    correction = hamel_terms(system, full, T_w)
    return algebra.jacobian(T_w[j], full.u), U[j] + by_pi[j] - correction[j] - system.rate_of(T_w[j], full)


def reaction(system: System) -> Array:
    """Yᵀ (M ẇ − f) of all n equations: the constraint reaction is the residual of the constrained w."""
    full = speeds_and_constraints(system)
    M, f = _operators(Definitions(system), system, full, len(system.q))
    w = full.Y @ system.qd + full.Z
    at_state = {str(x): value for x, value in zip(full.u, w, strict=True)}
    return full.Y.T @ (M @ system.derivative(w) - system.algebra.substitute(f, at_state))
