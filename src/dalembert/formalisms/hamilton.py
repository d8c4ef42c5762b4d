"""Hamilton's canonical equations: momenta instead of velocities, with multipliers for the constraints.

Source: papers/desapio (5.270)–(5.286).

| symbol | name | meaning |
|---|---|---|
| p = ∂L/∂q̇ | `p` | generalized momenta (5.270) |
| H(q, p, t) = p·q̇ − L | `H` | the Hamiltonian (5.275), q̇ expressed by p |
| H_p, H_q, H_pp | | its derivatives |
| Φ | `Phi` | constraint matrix |

    q̇ = H_p (5.279),   ṗ = τ − H_q + Φᵀλ (5.283)

Deviates: (5.286) is singular as a linear system in (q̇, ṗ, λ), because q̇ = H_p already determines q̇. The constraint is
differentiated once more: Φ H_pp ṗ = β − Φ (H_pq q̇ + H_pt), so that Φ H_pp Φᵀ λ = β − Φ (H_pq q̇ + H_pt) − Φ H_pp (τ − H_q).
With a gain α of first order, φ̇ + α φ = 0 (5.285) gives β the term −α Φ q̇; with a pair (α, β) it is Baumgarte's.
"""

from __future__ import annotations

from dalembert.formalisms.shared.common_quantities import define_bodies, multipliers, rates
from dalembert.formalisms.shared.linear_form import AccelerationRows, LinearForm, LinearSystem, VelocityMap
from dalembert.formalisms.shared.phase_space import CanonicalQuantities, canonical_of, define_hamiltonian
from dalembert.formalisms.shared.quantities import About, Definitions, Derived, Velocities
from dalembert.mechanics.energies import generalized_forces, non_ideal_forces
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import identity, zeros
from dalembert.symbolic.elimination import ldl_solve

ABOUT = About(
    key="hamilton",
    title="Hamilton's canonical equations",
    source="papers/desapio (5.270)–(5.286), Errata of (5.286)",
    needs="energies",
    velocities=Velocities.MOMENTA,
    count="n",
    lineage=("T", "V", "Legendre"),
    nonlinear=True,
    servo=True,
    first_order=True,
    citation="""@article{hamilton1835,
  author = {Hamilton, William Rowan},
  title = {Second essay on a general method in dynamics},
  journal = {Philosophical Transactions of the Royal Society of London},
  volume = {125},
  pages = {95--144},
  year = {1835}
}""",
)


def derive(system: System) -> Derived:
    """ṗ = τ − H_q + Φᵀλ with Φ H_pp ṗ = β − Φ (H_pq q̇ + H_pt)."""
    define = Definitions(system)
    define_bodies(define, system, ("volterra (6)", "volterra (54)"))
    c = canonical_of(system, define)
    tau = system.at_rates(generalized_forces(system.motion), c.H_p)
    Phi, beta = system.at_rates(system.A, c.H_p), system.at_rates(system.beta, c.H_p)
    bias = c.H_pq @ c.H_p + c.H_pt  # q̈ − H_pp ṗ
    C = non_ideal_forces(system.motion)
    linear = LinearSystem(
        M=identity(len(c.p)),
        f=tau - c.H_q,  # (5.280)
        A=Phi @ c.H_pp,
        beta=beta - Phi @ bias,
        C=None if C is None else system.at_rates(C, c.H_p),
        J=Phi,  # (5.283)
    )
    define.later(lambda: _equations(define, system, c, linear))
    velocity = VelocityMap(c.p, c.momenta, c.H_p, c.H_pp, bias)  # (5.270), (5.279)
    return define.derived(
        LinearForm(
            formalism="hamilton", system=system, velocity=velocity, linear=linear, rows=AccelerationRows.INDEPENDENT
        )
    )


def _equations(define: Definitions, system: System, c: CanonicalQuantities, linear: LinearSystem) -> None:
    """q̇ = H_p and ṗ = τ − H_q + Φᵀλ, with H_q = −∂L/∂q in velocities, which follow from the first equation."""
    qd, _ = define_hamiltonian(define, system, c)
    pd, constrained, levels = rates(system, c.p), linear.constrained, system.facts.levels
    lam, C = multipliers(system, len(linear.beta)), non_ideal_forces(system.motion)
    push = generalized_forces(system.motion) + c.L_q
    push = push if C is None else push + C
    if constrained:
        if levels.n_holonomic == len(levels.names):
            define("phi", lambda: system.phi, "constraints on positions: φ(q, t) = 0", "(5.284)")
        words = "multipliers: Φ H_pp Φᵀ λ = β − Φ (H_pq q̇ + H_pt) − Φ H_pp (τ − H_q), Errata of (5.286)"
        left = lambda: linear.A @ linear.directions.T  # noqa: E731 (M = 1)
        right = lambda: linear.beta - linear.A @ linear.push  # noqa: E731
        define("lambda", lambda: ldl_solve(system.algebra, left(), right()), words, "(5.286)")
    define.law("q̇ = ∂H/∂p", ("qd",), lambda: (system.qd, qd), "(5.279)")
    words = "ṗ = τ − ∂H/∂q" + (" + C" if C is not None else "") + (" + Φᵀλ" if constrained else "")
    define.law(words, ("H",), lambda: (pd, push + system.A.T @ lam), "(5.283)" if constrained else "(5.280)")
    if constrained and any(levels.servo):
        define.law("Φ q̈ = −(Φ̇q̇ + β Φ q̇ + α φ)", (), lambda: (system.A @ system.qdd, system.beta), "(5.97)")
    elif constrained:
        define.law("Φ q̇ = −φ_t", (), lambda: (system.velocity, zeros(len(lam))), "(5.285)")
