"""Phase space: the Legendre transform, constraints c(q, p, t) = 0, and Dirac's algorithm for secondary constraints.

The derivatives of H(q, p, t) follow from those of L(q, q̇, t) without differentiating the inverse q̇(q, p, t):

    H_p = q̇,   H_q = −L_q,   H_t = −L_t,   H_pp = M⁻¹,   H_pq = −M⁻¹ p_q,   H_pt = −M⁻¹ p_t
    ċ = c_q q̇ + c_p ṗ + c_t   with   q̇ = H_p − c_pᵀΛ,   ṗ = τ − H_q + c_qᵀΛ      (5.291)–(5.294) of papers/desapio

The multipliers enter ċ through the brackets D = c_p c_qᵀ − c_q c_pᵀ, which is antisymmetric. Only the primary constraints are
adjoined to H (5.288), so only their multipliers enter ċ. Rows of ċ whose brackets with the primary constraints are independent
(`closed`) determine multipliers (`by`); the remainder of ċ in the other rows (`rest`) must vanish and is a secondary
constraint. The choice of rows is numerical, at states on the constraints near the initial state; every algebra then follows the
same rounds. At the end all constraints are treated alike, (5.295): the multipliers of secondary constraints vanish if all
constraints are satisfied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.errors import InconsistentStateError, SingularError
from dalembert.formalisms.shared.quantities import Definitions
from dalembert.formalisms.shared.solvers import inverse_mass
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces, potential
from dalembert.mechanics.motion import values
from dalembert.mechanics.system import System, system_of
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, identity, stack, vector, zeros
from dalembert.symbolic.elimination import PivotOrder, ldl, ldl_apply, lu_solve
from dalembert.symbolic.nodes import node, numbers_in, ordered
from dalembert.symbolic.symbols import Lowering, SymbolKind, momentum

_STATES = 4
_MAX_ROUNDS = 5  # of secondary constraints
_MAX_NEWTON_STEPS = 40
_SEED = 5287
_ZERO_TOLERANCE = 1e-8  # for brackets and rates, relative to the norms of their gradients

Round = tuple[list[int], list[int], list[int]]  # closed, by, rest


@dataclass(frozen=True)
class CanonicalQuantities:
    """The momenta p, the Hamiltonian and its derivatives, all functions of (q, p, t)."""

    p: Array
    momenta: Array  # p(q, q̇, t)
    H: Scalar
    H_p: Array
    H_q: Array
    H_pp: Array
    H_pq: Array
    H_pt: Array
    H_t: Scalar
    L_q: Array  # −H_q by velocities: (5.278) with (5.272)
    T: Scalar  # function of (q, q̇, t), as V
    V: Scalar


def canonical_of(system: System, define: Definitions | None = None) -> CanonicalQuantities:
    """The four steps below (5.280) of papers/desapio, and the derivatives of H."""
    define = define or Definitions(system)
    algebra, q, qd = system.algebra, system.q, system.qd
    p = algebra.symbols([SymbolKind.MOMENTUM.of(name) for name in system.model.coordinate_names])
    T = define("T", kinetic(system.motion, qd), "kinetic energy", "(5.275)")
    V = define("V", potential(system.motion), "potential energy", "(5.275)")
    L = T - V
    momenta = define("p", algebra.gradient(L, qd), "generalized momenta ∂L/∂q̇", "(5.270)")  # step 1
    factors = ldl(algebra, algebra.jacobian(momenta, qd))
    at_rest = algebra.substitute(momenta, {str(x): 0 for x in qd})
    H_p = ldl_apply(algebra, *factors, p - at_rest)  # step 2, which is (5.278)
    (H,) = system.at_rates(vector([p @ qd - L]), H_p)  # steps 3 and 4, (5.275)
    p_q = system.at_rates(algebra.jacobian(momenta, q), H_p)
    (H_t,) = system.at_rates(-algebra.gradient(L, vector([system.t])), H_p)
    p_t = system.at_rates(algebra.jacobian(momenta, vector([system.t]))[:, 0], H_p)
    return CanonicalQuantities(
        p=p,
        momenta=momenta,
        H=H,
        H_p=H_p,
        H_q=system.at_rates(-algebra.gradient(L, q), H_p),  # (5.278) with (5.272)
        H_pp=ldl_apply(algebra, *factors, identity(len(p))),
        H_pq=-ldl_apply(algebra, *factors, p_q),
        H_pt=-ldl_apply(algebra, *factors, p_t),
        H_t=H_t,
        L_q=algebra.gradient(L, q),
        T=T,
        V=V,
    )


def define_hamiltonian(define: Definitions, system: System, c: CanonicalQuantities) -> tuple[Array, Scalar]:
    """q̇ = M⁻¹(p − N) and H = ½ (p − N)ᵀM⁻¹(p − N) + V − T₀ for display; N and T₀ are p and T at rest."""
    algebra, rest = system.algebra, {str(x): 0 for x in system.qd}
    (T_0,) = algebra.substitute(vector([c.T]), rest)
    moving = c.p - algebra.substitute(c.momenta, rest)
    M = define("M", algebra.jacobian(c.momenta, system.qd), "mass matrix ∂p/∂q̇", "(5.270)")
    M_inv = inverse_mass(define, algebra, M, "(5.278)")
    qd = define("qd", M_inv @ moving, "velocities by momenta", "(5.278)")
    H = define("H", algebra.half * (moving @ qd) + (c.V - T_0), "the Hamiltonian p·q̇ − L", "(5.275)")
    return qd, H


@dataclass(frozen=True)
class ConstraintSurface:
    """c(q, p, t) = 0 and its derivatives; the first `n_primary` rows are the primary constraints, the others are secondary."""

    names: tuple[str, ...]
    c: Array
    c_q: Array
    c_p: Array
    c_t: Array
    n_primary: int
    on_momenta: bool = False  # True if a primary constraint contains momenta, so that q̇ is not H_p

    @property
    def brackets(self) -> Array:
        """D = c_p c_qᵀ − c_q c_pᵀ, the coefficient matrix of the multipliers in ċ."""
        return self.c_p @ self.c_q.T - self.c_q @ self.c_p.T

    def followed_by(
        self, names: tuple[str, ...], c: Array, algebra: DifferentialAlgebra, state: Array, t: Array
    ) -> ConstraintSurface:
        """Return the surface with additional rows, functions of `state` = (q, p) and t."""
        n = len(state) // 2
        slopes = algebra.jacobian(c, state) if len(c) else zeros(0, 2 * n)
        change = algebra.jacobian(c, t)[:, 0] if len(c) else zeros(0)
        return ConstraintSurface(
            (*self.names, *names),
            stack(self.c, c),
            np.concatenate([self.c_q, slopes[:, :n]]),
            np.concatenate([self.c_p, slopes[:, n:]]),
            stack(self.c_t, change),
            self.n_primary,
            self.on_momenta,
        )


def holonomic_surface(system: System, can: CanonicalQuantities) -> ConstraintSurface:
    """c = (φ, χ), where χ = φ̇ at q̇ = H_p depends on q and t also through H_p; the derivatives for D are in closed form."""
    algebra, q, time = system.algebra, system.q, vector([system.t])
    Phi, phi, rate = system.A, system.phi, system.velocity
    chi_q = system.at_rates(algebra.jacobian(rate, q), can.H_p) + Phi @ can.H_pq
    chi_t = system.at_rates(algebra.jacobian(rate, time)[:, 0], can.H_p) + Phi @ can.H_pt
    called = [system.facts.levels.names[i] for i in system.facts.rows]
    return ConstraintSurface(
        (*called, *(f"rate of {name}" for name in called)),
        stack(phi, system.at_rates(rate, can.H_p)),
        np.concatenate([Phi, chi_q]),
        np.concatenate([zeros(*Phi.shape), Phi @ can.H_pp]),
        stack(algebra.jacobian(phi, time)[:, 0], chi_t),
        len(called),
    )


def constrained_rates(
    system: System,
    can: CanonicalQuantities,
    push: Array,
    surface: ConstraintSurface,
    closed: list[int],
    by: list[int],
    rest: list[int],
) -> Array:
    """ċ of the rows `rest` while the multipliers of the primary rows `by` hold the rows `closed` at zero.

    `push` is τ with the non-ideal forces.
    """
    free, D = surface.c_q @ can.H_p + surface.c_p @ (push - can.H_q) + surface.c_t, surface.brackets
    if not closed:
        return free[rest]
    size = tuple(range(len(closed)))
    Lambda = lu_solve(system.algebra, D[np.ix_(closed, by)], -free[closed], PivotOrder(size, size, 0, 1.0))
    return free[rest] + D[np.ix_(rest, by)] @ Lambda


def _forces_in_phase_space(system: System, can: CanonicalQuantities) -> Array:
    """τ with the non-ideal forces, as functions of (q, p, t)."""
    Q, C = generalized_forces(system.motion), non_ideal_forces(system.motion)
    return system.at_rates(Q if C is None else Q + C, can.H_p)


def canonical_surface(system: System, can: CanonicalQuantities) -> ConstraintSurface:
    """c(q, p, t): the holonomic constraints with their rates, or with constraints on momenta and all secondary ones."""
    if not system.model.canonical_constraints:
        return holonomic_surface(system, can)
    known = _primary_surface(system, can)
    for each in rounds(system):
        known = _with_rates(system, can, known, each)
    return known


def _primary_surface(system: System, can: CanonicalQuantities) -> ConstraintSurface:
    """c of the primary constraints: φ(q, t), and φ(q, p, t)."""
    model, algebra, rows = system.model, system.algebra, list(system.facts.rows)
    parameters = dict(zip(model.parameter_values, algebra.symbols(list(model.parameter_values)), strict=True))
    table = values(model, system.t, list(system.q), list(system.qd), parameters)
    table |= {momentum(name).name: p for name, p in zip(model.coordinate_names, can.p, strict=True)}
    lower = Lowering(algebra, table)
    names = (*(system.facts.levels.names[i] for i in rows), *(each.name for each in model.canonical_constraints))
    c = stack(system.phi, vector([lower(each.phi) for each in model.canonical_constraints]))
    n = len(system.q)
    empty = ConstraintSurface((), zeros(0), zeros(0, n), zeros(0, n), zeros(0), len(names), on_momenta=True)
    return _with_rows(system, can, empty, names, c)


def _with_rows(
    system: System, can: CanonicalQuantities, known: ConstraintSurface, names: tuple[str, ...], c: Array
) -> ConstraintSurface:
    return known.followed_by(names, c, system.algebra, stack(system.q, can.p), vector([system.t]))


def _with_rates(system: System, can: CanonicalQuantities, known: ConstraintSurface, each: Round) -> ConstraintSurface:
    """One round: add the remaining rates of some constraints as constraints."""
    rates = constrained_rates(system, can, _forces_in_phase_space(system, can), known, *each)
    return _with_rows(system, can, known, tuple(f"rate of {known.names[i]}" for i in each[2]), rates)


def implied(system: System) -> tuple[Round, ...]:
    """Return the rounds of secondary constraints, computed at the parameter values."""
    return tuple(rounds(system)) if system.model.canonical_constraints else ()


def rounds(system: System) -> Iterator[Round]:
    """Return the secondary constraints round by round; raises if multipliers stay undetermined."""
    probe = _Probe.of(system)
    for _ in range(_MAX_ROUNDS):
        closed, by, rest = probe.choose_rows()
        fresh = probe.nonvanishing_rows((closed, by, rest)) if rest else []
        if not fresh:
            probe.require_determined(by)
            return
        probe = probe.after((closed, by, fresh))
        yield closed, by, fresh
    raise SingularError(
        f"model '{system.model.name}': {', '.join(probe.known.names)} have more secondary constraints after {_MAX_ROUNDS} "
        "rounds. Expected constraints on momenta that determine their multipliers. Reformulate the constraints."
    )


@dataclass(frozen=True)
class _Probe:
    """The constraints in the graph, and sample states on them, (K, 2n + 1) with t last."""

    system: System
    can: CanonicalQuantities
    known: ConstraintSurface
    states: np.ndarray
    scale: np.ndarray  # of q and p, to compare gradients

    @classmethod
    def of(cls, system: System) -> _Probe:
        """Sample the primary constraints at states near the initial state."""
        graph = system if system.algebra.name == "graph" else system_of(system.model, "graph", system.facts)
        can = canonical_of(graph)
        q0, qd0 = system.model.initial
        n, rng = len(q0), np.random.default_rng(_SEED)
        q = q0 + 0.3 * rng.uniform(-1, 1, (_STATES, n)) * np.arange(_STATES)[:, None] / _STATES
        qd = qd0 + (1 + np.abs(qd0)) * rng.uniform(-1, 1, (_STATES, n)) * np.arange(_STATES)[:, None] / _STATES
        t = np.zeros((_STATES, 1))
        p = _numbers(graph, can.momenta, stack(graph.q, graph.qd), np.concatenate([q, qd, t], axis=1))
        slopes = graph.algebra.jacobian(can.momenta, graph.qd)
        M = _numbers(graph, slopes.ravel(), stack(graph.q, graph.qd), np.concatenate([q, qd, t], axis=1))
        root = np.sqrt(np.maximum(M.reshape(_STATES, n, n)[0].diagonal(), 1e-300))
        probe = cls(
            graph, can, _primary_surface(graph, can), np.concatenate([q, p, t], axis=1), np.append(1 / root, root)
        )
        return probe.on_surface()

    def evaluate(self, outputs: Array) -> np.ndarray:
        """Evaluate functions of (q, p, t) at all states, (K, outputs)."""
        return _numbers(self.system, outputs, stack(self.system.q, self.can.p), self.states)

    def gradients(self) -> np.ndarray:
        """The scaled gradients of c, (K, rows, 2n)."""
        slopes = np.concatenate([self.known.c_q, self.known.c_p], axis=1)
        return self.evaluate(slopes.ravel()).reshape(len(self.states), *slopes.shape) * self.scale

    def on_surface(self) -> _Probe:
        """Project the states onto the constraints by Newton's method; drop states that do not converge."""
        probe = self
        for _ in range(_MAX_NEWTON_STEPS):
            c, slopes = probe.evaluate(self.known.c), probe.gradients()
            step = np.linalg.pinv(slopes, rcond=1e-10) @ c[..., None]
            moved = probe.states.copy()
            moved[:, :-1] -= step[..., 0] * self.scale
            probe = _Probe(self.system, self.can, self.known, moved, self.scale)
        size = np.linalg.norm(probe.gradients(), axis=2)
        reached = np.abs(probe.evaluate(self.known.c)) <= 1e-9 * np.maximum(size, 1e-300)
        good = np.isfinite(probe.states).all(axis=1) & reached.all(axis=1)
        if not good.any():
            raise InconsistentStateError(
                f"model '{self.system.model.name}': no state near the initial state satisfies {', '.join(self.known.names)} "
                "together. Expected consistent constraints. Change the constraints or the initial state."
            )
        return _Probe(self.system, self.can, self.known, probe.states[good], self.scale)

    def brackets(self) -> np.ndarray:
        """D relative to the norms of the gradients, (K, rows, rows)."""
        size = np.linalg.norm(self.gradients(), axis=2)
        D = self.evaluate(self.known.brackets.ravel()).reshape(len(size), size.shape[1], size.shape[1])
        return D / np.maximum(size[:, :, None] * size[:, None, :], 1e-300)

    def choose_rows(self) -> Round:
        """Return the rows that determine multipliers, the primary constraints of these multipliers, and the other rows."""
        D = self.brackets()
        rest, open_, closed, by = list(range(D.shape[1])), list(range(self.known.n_primary)), list[int](), list[int]()
        while rest and open_:
            block = np.abs(D[:, rest][:, :, open_])
            worth = np.exp(np.log(np.maximum(block, 1e-16)).mean(axis=0))
            i, j = (int(k) for k in np.unravel_index(np.argmax(worth), worth.shape))
            if block[:, i, j].max() <= _ZERO_TOLERANCE:
                break
            row, column = rest.pop(i), open_.pop(j)
            closed.append(row)
            by.append(column)
            pivot = D[:, row, column]
            factor = D[:, rest, column] / np.where(np.abs(pivot) > 1e-300, pivot, 1.0)[:, None]
            D[:, rest] -= factor[:, :, None] * D[:, row][:, None, :]
        return closed, by, rest

    def nonvanishing_rows(self, each: Round) -> list[int]:
        """Return the rows whose rates, without multipliers, do not vanish on the constraints."""
        rest = each[2]
        known = _with_rates(self.system, self.can, self.known, each)
        rates = np.abs(self.evaluate(known.c[-len(rest) :])).max(axis=0)
        slopes = _Probe(self.system, self.can, known, self.states, self.scale).gradients()[:, -len(rest) :]
        size = np.linalg.norm(slopes, axis=2).max(axis=0)
        return [i for i, rate, s in zip(rest, rates, size, strict=True) if rate > _ZERO_TOLERANCE * (1e-6 + s)]

    def require_determined(self, by: list[int]) -> None:
        """Raise if a multiplier is undetermined."""
        names = [name for i, name in enumerate(self.known.names[: self.known.n_primary]) if i not in by]
        if not names and np.linalg.matrix_rank(self.brackets(), tol=_ZERO_TOLERANCE).max() < len(self.known.names):
            names = list(self.known.names[: self.known.n_primary])
        if names:
            raise SingularError(
                f"model '{self.system.model.name}': the multiplier of '{names[0]}' is not determined: the constraint follows "
                "from the others, or is conserved by the motion (first class in Dirac's terms). Expected constraints that "
                "restrict the motion. Remove it, or add a constraint that determines the multiplier."
            )

    def after(self, each: Round) -> _Probe:
        """Return the constraints with the secondary ones, at states on all of them."""
        known = _with_rates(self.system, self.can, self.known, each)
        return _Probe(self.system, self.can, known, self.states, self.scale).on_surface()


def _numbers(system: System, outputs: Array, inputs: Array, states: np.ndarray) -> np.ndarray:
    """Evaluate expressions of the graph at states (K, inputs and t), with default parameter values."""
    names = [str(x) for x in inputs] + [str(system.t)]
    out = []
    with np.errstate(all="ignore"):
        for state in states:
            table = {**dict(zip(names, state.tolist(), strict=True)), **system.model.parameter_values}
            found = [node(e) for e in system.algebra.substitute(outputs, table)]
            values = numbers_in(ordered(found))
            out.append([values[y] for y in found])
    return np.array(out).reshape(len(states), len(outputs))
