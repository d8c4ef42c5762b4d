"""Common form of all formulations: equations linear in the accelerations, unsolved.

    q̇ = W v + X,     M v̇ = f + C + Jᵀλ,     A v̇ = β,     q̈ = W v̇ + bias

v are the velocity variables of the formulation (q̇, quasi-velocities, momenta or twists), C the non-ideal part of the
constraint forces, and J = A unless a formulation sets J. The simulation solves this form; nothing is solved here.

If a formulation has unknowns x in addition to v̇ that also change the coordinates, as Dirac's multipliers do, then
q̇ = W v + X + S x is integrated; q̇ without that term are the velocities that correspond to v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.facts import Facts
from dalembert.mechanics.generalized_speeds import Speeds
from dalembert.mechanics.system import System, combined
from dalembert.symbolic.algebra_base import Algebra, Array, identity, stack, zeros
from dalembert.symbolic.elimination import PivotOrder, kkt_solve, ldl_solve, lu_solve
from dalembert.symbolic.graph import block_solver

if TYPE_CHECKING:
    from dalembert.formalisms.shared.phase_space import ConstraintSurface


@dataclass(frozen=True)
class LinearSystem:
    """Parts of the system; numeric arrays have the batch on the first axis: M (K, n, n), f (K, n), A (K, r, n), β (K, r)."""

    M: Array
    f: Array
    A: Array
    beta: Array
    C: Array | None = None  # non-ideal part of the constraint forces; None: all constraints are ideal
    J: Array | None = None  # multipliers enter as Jᵀλ; None: J = A

    @classmethod
    def without_rows(cls, M: Array, f: Array, C: Array | None = None) -> LinearSystem:
        """M x = f + C, over any algebra."""
        return cls(M, f, zeros(0, len(f)), zeros(0), C)

    @property
    def push(self) -> Array:
        """f + C: the terms without multipliers."""
        return self.f if self.C is None else self.f + self.C

    @property
    def directions(self) -> Array:
        """J, or A if J is None."""
        return self.A if self.J is None else self.J

    @property
    def constrained(self) -> bool:
        """True if there are rows A x = β."""
        return self.beta.shape[-1] > 0

    def each(self, evaluate: Callable[[Array], Array]) -> LinearSystem:
        """Return the system with a function applied to every part."""
        C, J = (None if part is None else evaluate(part) for part in (self.C, self.J))
        return LinearSystem(evaluate(self.M), evaluate(self.f), evaluate(self.A), evaluate(self.beta), C, J)

    def with_rows(self, rows: list[int] | slice) -> LinearSystem:
        """Return the system with a subset of the rows; over an algebra, without a batch."""
        J = None if self.J is None else self.J[rows]
        return replace(self, A=self.A[rows], beta=self.beta[rows], J=J)


Graph = Callable[[Algebra, LinearSystem], tuple[Array, Array]]


class Numeric(Enum):
    """Numerical solution method, for dependent rows or if an expression graph would be too long."""

    FULL_SYSTEM = "the complete linear system"
    MOORE_PENROSE = "the smallest force, by the Moore–Penrose inverse of A M^(−1/2)"
    LEAST_SQUARES = "the least Gaussian, by constrained least squares"
    NULL_SPACE = "the null space of A, by its singular value decomposition"
    GRAM_SCHMIDT = "the admissible directions, by Gram–Schmidt orthogonalization"

    @property
    def takes_dependent_rows(self) -> bool:
        """True if rows of A may be dependent."""
        return self is not Numeric.FULL_SYSTEM


@dataclass(frozen=True)
class Solver:
    """v̇ and λ from a linear system: `graph` over any algebra with independent rows, `numeric` on arrays.

    Without a graph the complete system is solved at once. A graph may also use data other than the system and ignore M; then
    it is bound to the algebra of its derivation. A graph that projects along `trials` (m, n) fails if these and the rows of A
    are dependent: a run then continues with other trial vectors, see `simulation/partition`.
    """

    graph: Graph | None = None
    numeric: Numeric = Numeric.FULL_SYSTEM
    uses_other_data: bool = False
    trials: Array | None = None  # None: the graph fails only if the rows of A are dependent


class AccelerationRows(Enum):
    """The constraints that are rows A v̇ = β of a form."""

    NONE = "none: the velocity variables satisfy the constraints, or the unknowns contain the multipliers"
    INDEPENDENT = "the independent constraints"
    JOINTS = "the joints of the bodies, and below them the independent constraints"
    ALL = "all constraints as declared, redundant ones included"

    def independent(self, known: Facts) -> list[int] | slice:
        """Return the index of the independent rows."""
        return list(known.rows) if self is AccelerationRows.ALL else slice(None)

    def names(self, known: Facts) -> tuple[str, ...]:
        """Return the names of the rows."""
        if self is AccelerationRows.ALL:
            return known.levels.names
        names = tuple(known.levels.names[i] for i in known.rows)
        return {
            AccelerationRows.NONE: (),
            AccelerationRows.INDEPENDENT: names,
            AccelerationRows.JOINTS: ("the joints", *names),
        }[self]


@dataclass(frozen=True)
class VelocityMap:
    """Map between the velocity variables and q̇."""

    v: Array  # symbols of the velocity variables
    v_from_qd: Array  # v(q, q̇, t)
    qd: Array  # q̇(q, v, t)
    W: Array  # ∂q̇/∂v
    qdd_bias: Array  # q̈ − W v̇, a function of (q, v, t)


@dataclass(frozen=True)
class Constants:
    """Constants of the motion: their symbols, and their values from (q, q̇, t)."""

    symbols: Array = field(default_factory=lambda: zeros(0))
    values: Array = field(default_factory=lambda: zeros(0))


@dataclass(frozen=True)
class Accelerations:
    """The additional unknowns after v̇ are q̈."""


@dataclass(frozen=True)
class Multipliers:
    """The additional unknowns after v̇ are multipliers Λ that change coordinates as well as momenta."""

    S: Array  # q̇ = qd + S Λ
    J: Array  # the first of them act as Jᵀλ
    working: tuple[str, ...]  # names of the power sources
    power: Array  # (a, b) of each source: its power is a + b·Λ
    surface: ConstraintSurface  # the constraints in phase space


@dataclass(frozen=True, kw_only=True)
class LinearForm:
    """Equations of motion over one algebra."""

    formalism: str
    system: System
    velocity: VelocityMap
    linear: LinearSystem
    rows: AccelerationRows
    extra_unknowns: Accelerations | Multipliers | None = None  # kind of the additional unknowns after v̇
    order: PivotOrder | None = None  # for an unsymmetric M; None: symmetric positive definite
    solver: Solver | None = None  # the formulation's own solution for v̇ and λ
    reaction: Callable[[System], Array] | None = (
        None  # of the constraints, a function of (q, q̇, q̈, t); None: it is Jᵀλ + C
    )
    constants: Constants = Constants()
    count: int | None = None  # number of dynamic equations, if not the number of velocity variables
    notes: tuple[str, ...] = ()
    # n rows of (q, q̇, q̈, t) that vanish along the motion, with undifferentiated constraints, for direct integration
    unreduced: Callable[[], tuple[Array, Array, Array]] | None = None  # dynamics, φ and ψ

    @property
    def n_dynamic(self) -> int:
        """Number of dynamic (second-order) equations, as in Table 1 of papers/volterra."""
        return len(self.velocity.v) if self.count is None else self.count

    @property
    def n_states(self) -> int:
        """The number of state variables."""
        return len(self.system.q) + len(self.velocity.v)

    @property
    def own_multipliers(self) -> Multipliers | None:
        """The multipliers among the unknowns, or None."""
        return self.extra_unknowns if isinstance(self.extra_unknowns, Multipliers) else None

    @property
    def constrains_momenta(self) -> bool:
        """True if q̇ differs from that of the free system, due to constraints on momenta."""
        return self.own_multipliers is not None and self.own_multipliers.surface.on_momenta

    @property
    def directions(self) -> Array:
        """J of Jᵀλ, the generalized forces of the multipliers."""
        return self.linear.directions if self.own_multipliers is None else self.own_multipliers.J

    @property
    def independent(self) -> LinearSystem:
        """The linear system with its independent rows."""
        return self.linear.with_rows(self.rows.independent(self.system.facts))

    def multipliers(self, x: Array, lam: Array) -> Array:
        """λ, from the solution (x, λ) of the linear system; unknowns on the last axis."""
        k, own = len(self.velocity.v), self.own_multipliers
        return lam if own is None else x[..., k : k + len(own.J)]


def in_velocities(
    formalism: str,
    system: System,
    linear: LinearSystem,
    rows: AccelerationRows,
    *,
    order: PivotOrder | None = None,
    solver: Solver | None = None,
    count: int | None = None,
    reaction: Callable[[System], Array] | None = None,
) -> LinearForm:
    """Return a form with velocity variables q̇."""
    n, qd = len(system.q), system.qd
    return LinearForm(
        formalism=formalism,
        system=system,
        velocity=VelocityMap(qd, qd, qd, identity(n), zeros(n)),
        linear=linear,
        rows=rows,
        order=order,
        solver=solver,
        count=count,
        reaction=reaction,
    )


def constrained(system: System, M: Array, f: Array, rows: AccelerationRows) -> LinearSystem:
    """Return M q̈ = f + C + Aᵀλ with the independent or with all rows of A q̈ = β."""
    known = system.constraints if rows is AccelerationRows.ALL else system
    return LinearSystem(M, f, known.A, known.beta, non_ideal_forces(system.motion))


def in_speeds(
    formalism: str,
    system: System,
    speeds: Speeds,
    M: Array,
    f: Array,
    *,
    constants: Constants | None = None,
    notes: tuple[str, ...] = (),
    reaction: Callable[[System], Array] | None = None,
) -> LinearForm:
    """Return a form with quasi-velocities u as velocity variables."""
    C = non_ideal_forces(system.motion)
    push = None if C is None else speeds.W.T @ system.at_rates(C, speeds.qd)
    v_from_qd, bias = speeds.Y @ system.qd + speeds.Z, system.rate_of(speeds.qd, speeds)
    return LinearForm(
        formalism=formalism,
        system=system,
        velocity=VelocityMap(speeds.u, v_from_qd, speeds.qd, speeds.W, bias),
        linear=LinearSystem.without_rows(M, system.at_rates(f, speeds.qd), push),
        rows=AccelerationRows.NONE,
        constants=constants or Constants(),
        notes=notes,
        reaction=reaction,
    )


def fused(form: LinearForm) -> tuple[Array, Array]:
    """v̇ and λ as expressions, from independent rows; multipliers of omitted rows are zero."""
    known, rows = form.system.facts, form.rows.independent(form.system.facts)
    linear = form.independent
    # forms with independent rows are combined already
    mixing = known.row_combinations is not None and form.rows is AccelerationRows.ALL
    if mixing:
        linear = replace(linear, A=combined(known, linear.A), beta=combined(known, linear.beta))
    vd, lam = _in_graph(form, linear)
    full = zeros(len(form.linear.beta))
    full[rows] = np.array(known.row_combinations, dtype=object).T @ lam if mixing else lam
    return vd, full


def _in_graph(form: LinearForm, linear: LinearSystem) -> tuple[Array, Array]:
    """Solve by the graph of the formulation, or by LDLᵀ, Schur complement, or LU in a fixed order."""
    algebra = form.system.algebra
    if linear.constrained and not form.system.facts.regular_mass:
        # x and λ of [M −Jᵀ; A 0] (x, λ) = (h, β) by orthogonal columns, which allow a singular M
        n, r = len(linear.push), len(linear.beta)
        matrix = np.block([[linear.M, -linear.directions.T], [linear.A, zeros(r, r)]])
        found = block_solver("general", matrix)(stack(linear.push, linear.beta))
        return found[:n], found[n:]
    if form.solver is not None and form.solver.graph is not None:
        return form.solver.graph(algebra, linear)
    if linear.constrained:
        return kkt_solve(algebra, linear.M, linear.A, linear.push, linear.beta, linear.J)
    if form.order is not None:
        return lu_solve(algebra, linear.M, linear.push, form.order), zeros(0)
    return ldl_solve(algebra, linear.M, linear.push), zeros(0)
