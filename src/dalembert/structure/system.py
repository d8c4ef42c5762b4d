"""The facts every formalism shares: a model in motion over symbols, its constraints and its structure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dalembert.algebra import Array, DifferentialAlgebra, Scalar, choose, vector, zeros
from dalembert.expressions import Kind, rate
from dalembert.expressions.formula import Formula
from dalembert.kinematics.constraints import Constraints
from dalembert.kinematics.motion import Motion, move
from dalembert.kinematics.speeds import Speeds, invert, speed_map
from dalembert.model import Elements
from dalembert.structure.facts import Facts, facts_of


@dataclass(frozen=True)
class System:
    """A model in motion over the symbols of a differential algebra."""

    model: Elements
    algebra: DifferentialAlgebra
    facts: Facts
    motion: Motion
    qdd: Array

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
    def a(self) -> Array:
        """The independent rows of a (equal to A: constraints linear in velocity)."""
        return self.A

    @property
    def b(self) -> Array:
        """The independent rows of b."""
        return combined(self.facts, self.constraints.b[list(self.facts.rows)])

    @property
    def A(self) -> Array:
        """The independent rows of A in A q̈ = β; nearly dependent ones are combined to well independent ones."""
        return combined(self.facts, self.constraints.A[list(self.facts.rows)])

    @property
    def phi(self) -> Array:
        """The independent rows of φ; only where all constraints hold positions."""
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
        return invert(self.motion, u, Y, Z, [(self.a, self.b)], known.order)

    @property
    def clock(self) -> tuple[Array, Array]:
        """Time and its rate, for total derivatives: (t, 1)."""
        return vector([self.t]), vector([1])

    def rate_of(self, f: Array, speeds: Speeds) -> Array:
        """∂f/∂t + (∂f/∂q)(W u + X): the total derivative of a function of (q, u, t) with u̇ = 0."""
        return self.algebra.total_derivative(f, (self.q, speeds.qd), self.clock)

    def at_rates(self, f: Array, qd: Array) -> Array:
        """A function of (q, q̇, t) with q̇ replaced by `qd`."""
        if qd is self.qd:
            return f
        return self.algebra.substitute(f, {str(x): value for x, value in zip(self.qd, qd, strict=True)})

    def lower(self, formula: Formula) -> Scalar:
        """A formula of the model as a scalar of this algebra."""
        return self.motion.lower(formula)


def combined(known: Facts, rows: Array) -> Array:
    """The independent rows, or their combinations where they are nearly dependent."""
    if known.mix is None:
        return rows
    out = zeros(*rows.shape)
    for i, weights in enumerate(known.mix):
        for weight, row in zip(weights, rows, strict=True):
            out[i] = out[i] + weight * row if weight else out[i]
    return out


def system_of(model: Elements, algebra: str | None = None, known: Facts | None = None) -> System:
    """The shared facts of a model over an algebra; `known` saves finding the structure again."""
    from dalembert.algebra import default_name

    scalars = choose(algebra or default_name())
    names = model.coordinate_names
    q = scalars.symbols(names)
    qd = scalars.symbols([rate(name).name for name in names])
    qdd = scalars.symbols([Kind.ACCELERATION.of(name) for name in names])
    (t,) = scalars.symbols(["t"])
    parameters = list(model.parameter_values)
    motion = move(model, scalars, t, q, qd, dict(zip(parameters, scalars.symbols(parameters), strict=True)))
    return System(model, scalars, known or facts_of(model), motion, qdd)
