"""The linear conditions on an affine generator ξ(q) = A q + b at random points of the prime field, and their null space.

The unknowns are b, A and constants c. Each condition is linear in them, so every random point gives rows that restrict the
null space. With the derivative δf = ξ·∂f/∂q + (A q̇)·∂f/∂q̇ of a function f(q, q̇, t) along the generator the conditions are

    δL = 0                                    Lagrangian
    δQ + AᵀQ = 0                              virtual work Q·δq of the forces, as a form
    δφ_i = Σ_j c_ij φ_j                       positions φ = 0 are mapped to such positions
    δψ_i = 0 where all a q̇ + b = 0            nonholonomic constraints that are linear in the velocities
    δψ_i = Σ_j c_ij ψ_j                       nonlinear ones
    δ(x − y) = 0                              where a formula compares x and y

at arbitrary q, q̇, t. Along the motion d/dt (ξ·∂L/∂q̇) = δL + ξ·Q + Σ λ_i a_i·ξ, so the momentum is constant if δL = 0,
positions are mapped to positions, ξ·Q = 0 and a_i·ξ = 0 for the nonholonomic rows; δQ and δψ are not needed for that.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dalembert.errors import SingularError
from dalembert.evidence._degree_bounds import degrees_of
from dalembert.evidence._integrated_programs import roots_are_independent
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces, potential
from dalembert.mechanics.facts import changed_along_runs
from dalembert.mechanics.system import System
from dalembert.symbolic.algebra_base import Array, Scalar, identity, stack, vector, zeros
from dalembert.symbolic.graph import GRAPH
from dalembert.symbolic.nodes import Node, Symbol, node, ordered
from dalembert.symbolic.operations import exact
from dalembert.symbolic.prime_field import P, Residue, Value, eliminated, inverse, narrow, residue
from dalembert.symbolic.random_points import NoRoot, RandomPoint

_MAX_REJECTED_POINTS = 5000  # points at which a root does not exist
_ROOT_POINTS = 64  # confirming points if roots have dependent signs: √(x²) is x at half of all points
_MAX_INTEGER = 2**32  # numerators and denominators of generators; a residue that is no such fraction passes with 2⁻⁶²
_FEW_POINTS = 3  # confirming points otherwise
_COMPARED = {"less": 2, "less_equal": 2, "interpolate": 1}  # operations that switch, and how many arguments decide
Groups: TypeAlias = Sequence[str]  # of conditions
ENERGY, INVARIANCE, MOMENTUM = (
    "energy",  # δL and δφ
    "invariance",  # the forces and the nonholonomic constraints are invariant
    "momentum",  # the forces and the nonholonomic constraints do no work on ξ
)


@dataclass(frozen=True)
class Null:
    """A null space, one vector per row, the probability that it is too large, and whether it may be too small."""

    vectors: Array
    probability: float
    composite: bool = False


class Conditions:
    """The conditions on the generators of one system."""

    def __init__(self, system: System) -> None:
        self._system, self.n = system, len(system.q)
        known, facts = system.constraints, system.facts
        holonomic = facts.levels.n_holonomic
        self._positions = [i for i in facts.rows if i < holonomic]
        self._velocities = [i for i in facts.rows if i >= holonomic]
        self._linear = [i for i in facts.rows if facts.levels.linear[i]]
        self._nonlinear = [k for k, i in enumerate(self._velocities) if not facts.levels.linear[i]]
        L = kinetic(system.motion, system.qd) - potential(system.motion)
        C = non_ideal_forces(system.motion)
        self._Q = generalized_forces(system.motion) + (zeros(self.n) if C is None else C)
        self._phi, self._psi = known.phi, known.velocity[self._velocities]
        self._a, self._b, x = known.A, known.b[self._linear], stack(system.q, system.qd)
        invariant = [L, *_compared([L, *self._phi])]
        switches = _compared([*self._Q, *self._psi])
        slopes = [
            GRAPH.jacobian(f, x) for f in (vector(invariant), self._phi[self._positions], vector(switches), self._Q)
        ]
        self._psi_slopes = GRAPH.jacobian(self._psi, x)
        self._energy, self._forces = (system.q, system.qd, self._phi, *slopes[:2]), (self._Q, *slopes[2:])
        self._energy_roots = [node(y) for part in self._energy for y in part.ravel()]
        parts = (*self._forces, self._psi, self._a, self._b, self._psi_slopes)
        self.roots = [*self._energy_roots, *(node(y) for part in parts for y in part.ravel())]
        self._signs_are_free = roots_are_independent(system, self.roots, generic=False)
        self.parameters = {y.value for y in ordered(self.roots) if isinstance(y, Symbol)}
        self.size = self.n * self.n + self.n  # of a generator: b, then A by rows
        self.unknowns = self.size + len(self._positions) * len(self._phi) + len(self._nonlinear) ** 2

    @property
    def nonholonomic(self) -> Sequence[int]:
        """The independent nonholonomic constraints."""
        return self._velocities

    def at(self, seed: int, values: Mapping[str, int], groups: Groups) -> tuple[Array, RandomPoint]:
        """The rows at a random point with these parameter values; `NoRoot` or `ZeroDivisionError` where one is undefined."""
        only_energy = set(groups) == {ENERGY}
        point = RandomPoint(seed, self._energy_roots if only_energy else self.roots, values)
        q, v, phi, invariant, positions = _values(point, self._energy)
        rows: list[Array] = []
        if ENERGY in groups:
            rows = [self._row(slope, q, v) for slope in (*invariant, *positions)]
            for k, row in enumerate(rows[len(invariant) :]):
                self._multipliers(row, k, phi, 0)
        if only_energy:
            return _real(rows, self.unknowns), point
        Q, switches, forces = _values(point, self._forces)
        rows += [self._row(slope, q, v) for slope in switches]
        psi, products = self._velocity_rows(point, q) if self._velocities else ([], [])
        if INVARIANCE in groups:
            for m, slope in enumerate(forces):
                row = self._row(slope, q, v)
                row[self.n + m : self.size : self.n] += Q  # AᵀQ
                rows.append(row)
            rows += psi
        if MOMENTUM in groups:
            rows += [self._product(Q, q), *products]
        return _real(rows, self.unknowns), point

    def _velocity_rows(self, point: RandomPoint, q: Array) -> tuple[list[Array], list[Array]]:
        """δψ and a_i·ξ at velocities that satisfy the linear constraints."""
        known = self._admissible(point)
        v = vector(list(known.values()))
        psi, slopes, a = _values(point, (self._psi, self._psi_slopes, self._a), known)
        rows = [self._row(slope, q, v) for slope in slopes]
        for k, i in enumerate(self._nonlinear):
            self._multipliers(rows[i], k, psi[self._nonlinear], len(self._positions) * len(self._phi))
        return rows, [self._product(a[i], q) for i in self._velocities]

    def _admissible(self, point: RandomPoint) -> dict[Node, Value]:
        """Random velocities with a q̇ + b = 0 in the rows that are linear."""
        a, b, v = _values(point, (self._a[self._linear], self._b, self._system.qd))
        rows, pivots = eliminated(np.concatenate([a, b[:, None]], axis=1), self.n)
        v[pivots] = 0
        solved = [-(row[:-1] @ v + row[-1]) for row in rows[: len(pivots)]]
        for j, value in zip(pivots, solved, strict=True):
            v[j] = narrow(value)
        return dict(zip(self._system.qd, v, strict=True))

    def _row(self, slope: Array, q: Array, v: Array) -> Array:
        """The coefficients of δf for the unknowns."""
        by_q, by_v = slope[: self.n], slope[self.n :]
        row = zeros(self.unknowns)
        row[: self.n], row[self.n : self.size] = by_q, (np.outer(by_q, q) + np.outer(by_v, v)).ravel()
        return row

    def _product(self, f: Array, q: Array) -> Array:
        """The coefficients of ξ·f."""
        return self._row(np.concatenate([f, zeros(self.n)]), q, zeros(self.n))

    def _multipliers(self, row: Array, k: int, f: Array, offset: int) -> None:
        """Subtract Σ_j c_kj f_j."""
        first = self.size + offset + k * len(f)
        row[first : first + len(f)] -= f

    def null_space(self, source: random.Random, values: Mapping[str, int], groups: Groups, V: Array) -> Null:
        """The vectors within a space that satisfy the chosen rows for all q, q̇, t and all parameters without a value."""
        confirmed, rejected, needed, composite, radicands = 0, 0, 1, False, 0
        while len(V) and confirmed < needed:
            try:
                rows, point = self.at(source.randrange(2**62), values, groups)
            except (NoRoot, ZeroDivisionError):
                rejected += 1
                if rejected > _MAX_REJECTED_POINTS:
                    raise SingularError(
                        "no point was found at which every formula is defined in the prime field."
                    ) from None
                continue
            before = len(V)
            V = _restricted(V, rows)
            confirmed = confirmed + 1 if len(V) == before else 0
            composite, radicands = composite or point.composite, max(radicands, len(point.radicands))
            needed = _FEW_POINTS if self._signs_are_free else _ROOT_POINTS + self.unknowns.bit_length()
        return Null(V, self._probability(radicands, confirmed), composite)

    def _probability(self, radicands: int, confirmed: int) -> float:
        """A bound for the probability that some vector passed all confirming points without satisfying the conditions."""
        part = RandomPoint(0, self.roots).part
        degree = 4 * (2 + degrees_of(self.roots, part).total) * (1 + len(self._linear)) * 4**radicands
        once = max(degree / P, 0.0 if self._signs_are_free else 0.5)
        return min(1.0, self.unknowns * once**confirmed)


def _compared(functions: Sequence[Scalar]) -> list[Node]:
    """The arguments that decide where a formula switches, as differences."""
    found = [y for y in ordered([node(f) for f in functions]) if y.operation in _COMPARED]
    pairs = [y.arguments if _COMPARED[y.operation] == 2 else (y.arguments[1], node(0)) for y in found]
    return [node(a - b) for a, b in pairs]


def _values(point: RandomPoint, arrays: Sequence[Array], known: Mapping[Node, Value] | None = None) -> list[Array]:
    """The values of arrays at a point."""
    found = iter(point.values([node(y) for f in arrays for y in f.ravel()], known))
    return [vector([next(found) for _ in range(f.size)]).reshape(f.shape) for f in arrays]


def _real(rows: Sequence[Array], columns: int) -> Array:
    """Rows over GF(P): each row with entries a + b i as two rows."""
    parts = []
    for row in rows:
        parts.append(vector([x.a if isinstance(x, Residue) else x % P for x in row]))
        imaginary = vector([x.b if isinstance(x, Residue) else 0 for x in row])
        parts += [imaginary] if imaginary.any() else []
    return np.array(parts, dtype=object).reshape(len(parts), columns)


def _restricted(V: Array, rows: Array) -> Array:
    """The combinations of the rows of V on which all rows of a matrix vanish."""
    for row in rows:
        products = V @ row % P
        found = np.flatnonzero(products)
        if len(found):
            first, others = found[0], found[1:]
            pivot = V[first] * inverse(products[first]) % P
            V[others] = (V[others] - np.outer(products[others], pivot)) % P
            V = np.delete(V, first, axis=0)
    return V


@dataclass(frozen=True)
class Found:
    """One generator before it is written."""

    entries: tuple[Fraction, ...]  # b, then A by rows
    symmetry: bool
    conserved: bool
    parameters: tuple[str, ...]
    probability: float


class Search:
    """The null spaces of one system: symmetries, constant momenta and both, for the given and for all parameter values."""

    def __init__(self, system: System, seed: int) -> None:
        self.conditions, self._source = Conditions(system), random.Random(seed)
        changed, values = changed_along_runs(system.model), system.model.parameter_values
        used = [name for name in values if name in self.conditions.parameters and name not in changed]
        self._values = {name: residue(exact(values[name])) for name in used}
        n = self.conditions.n
        pairs = sorted(((i, j) for i in range(n) for j in range(n)), key=lambda p: (p[0] <= p[1], p[0] == p[1], p))
        # pivots: translations first, then the entries below the diagonal, so that a rotation is x: -y, y: x
        order = [*range(n), *(n + i * n + j for i, j in pairs)]
        self._order = [*order, *range(len(order), self.conditions.unknowns)]

    def generators(self) -> tuple[list[Found], tuple[str, ...]]:
        """The generators of all spaces, smaller spaces first, and notes."""
        energy = self._space([ENERGY], identity(self.conditions.unknowns))
        symmetric = self._space([INVARIANCE], energy.vectors)
        kinds = (
            (True, True, self._space([MOMENTUM], symmetric.vectors)),
            (True, False, symmetric),
            (False, True, self._space([MOMENTUM], energy.vectors)),
        )
        found: list[Found] = []
        left_out, basis = 0, zeros(0, self.conditions.size)
        for symmetry, conserved, given in kinds:
            groups = [ENERGY, *([INVARIANCE] if symmetry else []), *([MOMENTUM] if conserved else [])]
            for space in (self._space(groups, given.vectors, self._values), given):
                for row in self._echelon(space.vectors):
                    extended = np.concatenate([basis, row[None, : self.conditions.size]])
                    if len(eliminated(extended, self.conditions.size)[1]) == len(basis):
                        continue
                    basis, entries = extended, [rational(x) for x in row[: self.conditions.size]]
                    if None in entries:
                        left_out += 1
                    else:
                        proof = self._parameters(row, groups, space is given)
                        found.append(Found(tuple(x or Fraction(0) for x in entries), symmetry, conserved, *proof))
        notes = [f"{left_out} generators are left out: their coefficients are not short fractions"] if left_out else []
        if energy.composite:
            notes.append("some angles are products of symbols: generators may be missing")
        return found, tuple(notes)

    def _space(self, groups: Groups, within: Array, released: Collection[str] = ()) -> Null:
        """The part of a space that satisfies the chosen rows, for all values of the parameters `released`."""
        values = {name: x for name, x in self._values.items() if name not in released}
        return self.conditions.null_space(self._source, values, groups, within)

    def _echelon(self, vectors: Array) -> Array:
        """The reduced row echelon form, shortest rows first, without rows in which A and b vanish."""
        rows, pivots = eliminated(vectors[:, self._order], self.conditions.unknowns)
        out = zeros(sum(j < self.conditions.size for j in pivots), self.conditions.unknowns)
        out[:, self._order] = rows[: len(out)]
        out = vector([x.a for x in out.ravel()]).reshape(out.shape)
        return out[np.argsort(np.count_nonzero(out, axis=1), kind="stable")]

    def _parameters(self, row: Array, groups: Groups, given: bool) -> tuple[tuple[str, ...], float]:
        """The parameters whose values a generator needs, and the probability of error of the last proof for all others."""
        proof, released = self._space(groups, row[None], () if given else self._values), []
        for name in self._values if given else ():
            wider = self._space(groups, row[None], [*released, name])
            if len(wider.vectors):
                proof, released = wider, [*released, name]
        return tuple(name for name in self._values if given and name not in released), proof.probability


def rational(x: int) -> Fraction | None:
    """The fraction of a residue with a small numerator and denominator; None if there is none.

    >>> rational(residue(Fraction(-3, 7))), rational(P // 3 * 5 + 2**100)
    (Fraction(-3, 7), None)
    """
    a, b, s, t = P, x % P, 0, 1
    while b > _MAX_INTEGER:
        a, b, s, t = b, a % b, t, s - a // b * t
    return Fraction(b, t) if 0 < abs(t) <= _MAX_INTEGER else None
