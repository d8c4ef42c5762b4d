"""Quantities shared by all formulations: a model in motion over symbols, its constraints and its structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dalembert.mechanics.constraint_levels import Constraints
from dalembert.mechanics.facts import Facts, facts_of
from dalembert.mechanics.generalized_speeds import Speeds, invert, speed_map
from dalembert.mechanics.motion import Motion, MovingBody, Resolved, move_symbols
from dalembert.model.description import Elements
from dalembert.symbolic.algebra_base import Array, DifferentialAlgebra, Scalar, choose, vector, zeros
from dalembert.symbolic.rotations import cross
from dalembert.symbolic.symbols import Formula, SymbolKind


class Notation:
    """Notation of equations that are compiled: every value as it is computed.

    A subclass for display returns shorter forms, and symbols in place of long entries, so that later equations stay short.

    >>> Notation().short(3), Notation().by_symbols
    (3, False)
    """

    by_symbols = False  # True where long entries are replaced by symbols

    def short(self, value: Array) -> Array:
        """A shorter form of a value."""
        return value

    def symbols(self, key: str, value: Array) -> Array:
        """A value with symbols in place of its long entries: M[1,2] is an entry of M."""
        return value

    def velocity_terms(self, value: Array) -> tuple[list[tuple[str, Scalar]], Array]:
        """For rows that are not differentiated again: named common subexpressions, and the rows written with them."""
        return [], self.short(value)

    def direction(self, value: Array) -> Array:
        """A vector whose length is arbitrary, in a shorter form."""
        return value


PLAIN = Notation()


@dataclass(frozen=True)
class System:
    """A model in motion over the symbols of a differential algebra."""

    model: Elements
    algebra: DifferentialAlgebra
    facts: Facts
    motion: Motion
    qdd: Array
    engine: str = "native"  # engine that its functions are compiled for
    notation: Notation = PLAIN  # how quantities are written in the later equations

    @property
    def t(self) -> Scalar:
        """The symbol of time."""
        return self.motion.t

    @property
    def q(self) -> Array:
        """The symbols of the coordinates."""
        return self.motion.q

    @property
    def qd(self) -> Array:
        """The symbols of the velocities."""
        return self.motion.qd

    @cached_property
    def constraints(self) -> Constraints:
        """All constraints, on all levels."""
        return Constraints(self.motion, self.facts.levels)

    @property
    def b(self) -> Array:
        """The independent rows of b in a q̇ + b = 0; a is equal to A where constraints are linear in the velocities."""
        return combined(self.facts, self.constraints.b[list(self.facts.rows)])

    @property
    def A(self) -> Array:
        """The independent rows of A in A q̈ = β; nearly dependent rows are combined into well-conditioned ones."""
        return combined(self.facts, self.constraints.A[list(self.facts.rows)])

    @property
    def phi(self) -> Array:
        """The independent rows of φ; only if all constraints are holonomic."""
        return combined(self.facts, self.constraints.phi[list(self.facts.rows)])

    @property
    def velocity(self) -> Array:
        """The independent rows of φ̇ and ψ."""
        return combined(self.facts, self.constraints.velocity[list(self.facts.rows)])

    @property
    def beta(self) -> Array:
        """The independent rows of β in A q̈ = β."""
        return combined(self.facts, self.constraints.beta[list(self.facts.rows)])

    @cached_property
    def speeds(self) -> Speeds:
        """The d quasi-velocities and q̇ = W u + X: (3)–(5) of papers/volterra."""
        known = self.facts
        u = self.algebra.symbols(known.speed_names)
        Y, Z = speed_map(self.motion, known.speeds)
        return invert(self.motion, u, Y, Z, [(self.A, self.b)], known.order)

    @property
    def clock(self) -> tuple[Array, Array]:
        """Time and its rate, for total derivatives: (t, 1)."""
        return vector([self.t]), vector([1])

    def rate_of(self, f: Array, speeds: Speeds) -> Array:
        """∂f/∂t + (∂f/∂q)(W u + X): the total derivative of a function of (q, u, t) with u̇ = 0."""
        return self.algebra.total_derivative(f, (self.q, speeds.qd), *speeds.named, self.clock)

    def acceleration(self, V: Resolved, speeds: Speeds) -> Resolved:
        """The rate of a velocity in the world with u̇ = 0."""
        return V.rate(lambda f: self.rate_of(f, speeds))

    def derivative(self, f: Array) -> Array:
        """The total derivative of a function of (q, q̇, t) at any q̈."""
        return self.algebra.total_derivative(f, (self.q, self.qd), (self.qd, self.qdd), self.clock)

    def inertia_of(self, body: MovingBody) -> tuple[Array, Array]:
        """m a (world axes) and I α + ω × I ω (body axes) of a body at any q̈."""
        V, w = body.B @ self.qd + body.C, body.D @ self.qd + body.E
        return body.mass * self.derivative(V), body.inertia @ self.derivative(w) + cross(w, body.inertia @ w)

    def at_rates(self, f: Array, qd: Array) -> Array:
        """A function of (q, q̇, t) with q̇ replaced by `qd`."""
        if qd is self.qd:
            return f
        return self.algebra.substitute(f, {str(x): value for x, value in zip(self.qd, qd, strict=True)})

    def lower(self, formula: Formula) -> Scalar:
        """A formula of the model as a scalar of this algebra."""
        return self.motion.lower(formula)


def combined(known: Facts, rows: Array) -> Array:
    """The independent rows, or their combinations if they are nearly dependent."""
    if known.row_combinations is None:
        return rows
    out = zeros(*rows.shape)
    for i, weights in enumerate(known.row_combinations):
        for weight, row in zip(weights, rows, strict=True):
            out[i] = out[i] + weight * row if weight else out[i]
    return out


def system_of(
    model: Elements,
    algebra: str = "graph",
    known: Facts | None = None,
    engine: str = "native",
    numbers: Mapping[str, Scalar] | None = None,
) -> System:
    """The system of a model over an algebra; pass `known` to reuse structural facts.

    `numbers` replace the symbols of some parameters.
    """
    scalars = choose(algebra)
    qdd = scalars.symbols([SymbolKind.ACCELERATION.of(name) for name in model.coordinate_names])
    return System(model, scalars, known or facts_of(model), move_symbols(model, scalars, numbers), qdd, engine)
