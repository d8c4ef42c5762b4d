"""Affine symmetries of a model and their Noether momenta, found and proved in a prime field.

A generator ξ(q) = A q + b moves the coordinates along q' = ξ(q). The conditions on A and b are linear, so all generators form
a null space: see `dalembert.evidence._invariance`. It is computed at random points of the prime field, reduced to echelon form
and converted to rational numbers; further random points that do not change it prove it, as in `dalembert.evidence.proof`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np
import symengine as se

from dalembert.api.load import accepts_source
from dalembert.api.trajectory import Trajectory
from dalembert.arguments import documented_class, is_integer
from dalembert.display.math import latex, plain_text
from dalembert.display.math.simplify import simplify
from dalembert.errors import InputError, SingularError, short_repr
from dalembert.evidence._invariance import Found, Search, rational
from dalembert.evidence.proof import MAX_ERROR_PROBABILITY
from dalembert.mechanics.energies import generalized_forces, kinetic, non_ideal_forces
from dalembert.mechanics.system import System, system_of
from dalembert.model.description import Elements
from dalembert.simulation.workspace import setup, workspace_of
from dalembert.symbolic.algebra_base import Array, vector
from dalembert.symbolic.prime_field import Undecidable, eliminated, residue
from dalembert.symbolic.symbols import Formula, SymbolKind
from dalembert.tables import Table, Tabular

_MAX_COORDINATES = 24
_SECONDS = 0.5  # CPU time to simplify one formula
_SEED_LIMIT = 2**31
_LINE = 60  # characters of a momentum in a table


@documented_class
@dataclass(frozen=True)
class Generator:
    """An affine generator ξ(q) = A q + b, its Noether momentum ξ·∂L/∂q̇ and the rate of the momentum.

    Attributes
    ----------
    A : tuple of tuple of Fraction
        Matrix of ξ.
    b : tuple of Fraction
        Constant part of ξ.
    components : mapping of str to str
        Nonzero components of ξ as formulas, by coordinate.
    momentum, latex : str
        The momentum as a formula and in LaTeX.
    rate : str
        The momentum equation dp/dt = rate as a formula; "0" if the momentum is constant.
    symmetry : bool
        True if ξ leaves the Lagrangian, the constraints and the virtual work of the forces invariant. False if it leaves only the
        Lagrangian invariant and is a virtual displacement on which no force does work, so that the momentum is constant.
    parameters : tuple of str
        Names of the parameters whose values are used; none if it holds for all values.
    probability : float
        Upper bound of the probability that the generator is wrong.
    """

    A: tuple[tuple[Fraction, ...], ...]
    b: tuple[Fraction, ...]
    components: Mapping[str, str]
    momentum: str
    latex: str
    rate: str
    symmetry: bool
    parameters: tuple[str, ...]
    probability: float

    @property
    def conserved(self) -> bool:
        """True if the momentum is constant along every motion."""
        return self.rate == "0"

    @property
    def proved(self) -> bool:
        """True if the probability of error is below 2⁻⁶⁰."""
        return self.probability <= MAX_ERROR_PROBABILITY

    @property
    def short_momentum(self) -> str:
        """The momentum, in momenta p of the coordinates if it is long."""
        if len(self.momentum) <= _LINE:
            return self.momentum
        factors = {name: f"({x})" if " " in x else x for name, x in self.components.items()}
        terms = (f"{x}*p({name})" if x not in ("1", "-1") else f"{x[:-1]}p({name})" for name, x in factors.items())
        return " + ".join(terms).replace("+ -", "- ")

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {value}" for name, value in self.components.items()) + "}"


@documented_class
@dataclass(frozen=True, repr=False)
class Symmetries(Tabular):
    """The affine generators of a model, the Lie algebra of the symmetries and a commuting set.

    Attributes
    ----------
    model : str
        Name of the model.
    coordinates : tuple of str
        Names of the coordinates.
    generators : tuple of Generator
        Symmetries with a constant momentum first, then the others.
    brackets : mapping of (int, int) to mapping of int to Fraction
        Structure constants c of [ξ_i, ξ_j] = Σ c_k ξ_k for i < j, nonzero ones only.
    commuting : tuple of int
        Indices of symmetries that commute pairwise; no other one commutes with all of them.
    notes : tuple of str
        Remarks.
    seed : int
        Seed of the random points; the same seed repeats the proof.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = dl.symmetries("heavy-top", seed=1)
    >>> [str(each) for each in found.generators], found.commuting
    (['{psi: 1}', '{phi: 1}'], (0, 1))
    """

    model: str
    coordinates: tuple[str, ...]
    generators: tuple[Generator, ...]
    brackets: Mapping[tuple[int, int], Mapping[int, Fraction]]
    commuting: tuple[int, ...]
    notes: tuple[str, ...] = ()
    seed: int = 1

    @property
    def conserved(self) -> tuple[Generator, ...]:
        """The generators whose momenta are constant."""
        return tuple(each for each in self.generators if each.conserved)

    def momenta(self, run: Trajectory) -> dict[str, np.ndarray]:
        """Evaluate the Noether momenta along a run.

        Parameters
        ----------
        run : Trajectory
            A run of the model.

        Returns
        -------
        dict of str to ndarray, shape (samples,)
            Momenta by printed generator.
        """
        return {key: terms.sum(axis=0) for key, terms in self._terms(run)}

    def drift(self, run: Trajectory) -> dict[str, float]:
        """Evaluate how much the constant momenta change along a run.

        Parameters
        ----------
        run : Trajectory
            A run of the model.

        Returns
        -------
        dict of str to float
            Maximum change of each constant momentum relative to the magnitude of its terms, by printed generator.
        """
        constant = {str(each) for each in self.conserved}
        out: dict[str, float] = {}
        for key, terms in self._terms(run):
            if key in constant:
                values, size = terms.sum(axis=0), float(np.abs(terms).sum(axis=0).max())
                out[key] = float(np.abs(values - values[0]).max()) / (size or 1.0)
        return out

    def _terms(self, run: Trajectory) -> Iterator[tuple[str, np.ndarray]]:
        """For each generator the products ξ_i ∂L/∂q̇_i, (n, samples)."""
        if run.model.coordinate_names != self.coordinates:
            raise InputError(
                f"symmetries of '{self.model}': the run has the coordinates {', '.join(run.model.coordinate_names)}. Expected a "
                f"run with {', '.join(self.coordinates)}."
            )
        for each in self.generators:
            A, b = np.array(each.A, dtype=float), np.array(each.b, dtype=float)
            yield str(each), (A @ run.q + b[:, None]) * run.momenta

    def tables(self) -> tuple[Table, ...]:
        """Return a table with one row per generator, and one of the brackets that do not vanish."""
        rows = tuple(
            (
                f"{k}",
                str(each),
                "yes" if each.symmetry else "no",
                each.short_momentum,
                each.rate if len(each.rate) <= _LINE else "not zero: see `rate`",
                f"the given {', '.join(each.parameters)}" if each.parameters else "all values",
            )
            for k, each in enumerate(self.generators)
        )
        count = sum(each.symmetry for each in self.generators)
        title = (
            f"'{self.model}': affine symmetries: {count}, constant momenta: {len(self.conserved)} (seed {self.seed})"
        )
        brackets = tuple(
            (f"[{i}, {j}]", " + ".join(f"{c} ({k})" for k, c in terms.items()))
            for (i, j), terms in self.brackets.items()
        )
        notes = (*self.notes, f"commuting: {', '.join(map(str, self.commuting)) or 'none'}")
        found = Table(("", "generator", "symmetry", "momentum", "its rate", "holds for"), rows, title, notes)
        return (found, Table(("bracket", "generators"), brackets, "Lie algebra")) if brackets else (found,)

    def __repr__(self) -> str:
        return f"<Symmetries of '{self.model}': {', '.join(map(str, self.generators)) or 'none'}>"

    def to_dict(self) -> dict[str, object]:
        """Return the results as a JSON-compatible dict; fractions are strings."""
        generators = [
            {
                **asdict(each),
                "A": [[str(x) for x in row] for row in each.A],
                "b": [str(x) for x in each.b],
                "conserved": each.conserved,
                "proved": each.proved,
            }
            for each in self.generators
        ]
        brackets = [
            {"of": list(pair), "terms": {str(k): str(c) for k, c in terms.items()}}
            for pair, terms in self.brackets.items()
        ]
        return {
            "model": self.model,
            "coordinates": list(self.coordinates),
            "generators": generators,
            "brackets": brackets,
            "commuting": list(self.commuting),
            "notes": list(self.notes),
            "seed": self.seed,
        }


@accepts_source
def symmetries(model: Elements, *, seed: int | None = None) -> Symmetries:
    """Find all affine generators ξ(q) = A q + b that leave a model invariant, and their Noether momenta.

    The generators leave the Lagrangian, the constraints and the virtual work of the forces invariant at all times. They hold for
    all parameter values, or for the given values of the parameters that they name. Generators that are not symmetries but have a
    constant momentum, such as ignorable coordinates of nonholonomic systems, are listed last. Where forces or nonholonomic
    constraints do work on a symmetry, its momentum is not constant, and `Generator.rate` is its momentum equation.

    Parameters
    ----------
    seed : int, optional
        Nonnegative seed of the random points; a random one if None. `Symmetries.seed` records it.

    Returns
    -------
    Symmetries
        Generators, Lie algebra and a commuting set.

    Raises
    ------
    ModelError
        If the model is incomplete or inconsistent.
    NotApplicableError
        If the model has constraints on momenta.
    SingularError
        If the field has no value for a formula of the model.

    See Also
    --------
    prove : Prove that all formulations are the same function.

    Notes
    -----
    The Lagrangian is compared at all positions and velocities, also at those that violate constraints, and position constraints
    are mapped to combinations of each other with constant coefficients. Coefficients of A and b are rational numbers.

    Examples
    --------
    >>> import dalembert as dl
    >>> found = symmetries("three-bodies", seed=1)
    >>> [str(each) for each in found.generators]
    ['{X: 1}', '{Y: 1}', '{Z: 1}', '{psi: 1, X: -Y, Y: X}']
    >>> found.brackets[0, 3]
    {1: Fraction(1, 1)}
    """
    model.require_valid()
    model.refuse_canonical("symmetries")
    if seed is not None and (not is_integer(seed) or seed < 0):
        raise InputError(f"symmetries, seed: got {short_repr(seed)}. Expected an int >= 0, or None for a random seed.")
    seed = secrets.randbelow(_SEED_LIMIT) if seed is None else int(seed)
    space = workspace_of(setup(model))
    n = len(space.model.coordinate_names)
    if n > _MAX_COORDINATES:
        raise InputError(
            f"model '{model.name}': symmetries has {n * n + n} unknowns for {n} coordinates. Expected at most {_MAX_COORDINATES} "
            "coordinates. Ignorable coordinates of larger models are found by dl.derive: see `eom.reasons`."
        )
    try:
        search = Search(system_of(space.model, "graph", space.facts), seed)
        found, notes = search.generators()
    except Undecidable as error:
        raise SingularError(
            f"model '{model.name}': no symmetries were found, because the field has no {error}."
        ) from None
    generators = tuple(_written(space.symbolic, search.conditions.nonholonomic, each) for each in found)
    brackets = _brackets([each for each in generators if each.symmetry])
    if model.events:
        notes += ("events are not examined: momenta are constant between them",)
    return Symmetries(
        model.name, space.model.coordinate_names, generators, brackets, _commuting(generators, brackets), notes, seed
    )


def _written(system: System, nonholonomic: Sequence[int], found: Found) -> Generator:
    """A generator with its formulas."""
    model, q = system.model, system.q
    n = len(q)
    b, A = found.entries[:n], [found.entries[n + i * n : n + (i + 1) * n] for i in range(n)]
    xi = [_number(b[i]) + sum((_number(a) * x for a, x in zip(A[i], q, strict=True)), se.Integer(0)) for i in range(n)]
    p = system.algebra.gradient(kinetic(system.motion, system.qd), system.qd)
    momentum, rate = _short(system, _product(xi, p)), se.Integer(0)
    if not found.conserved:
        C, known = non_ideal_forces(system.motion), system.constraints
        rate = _product(xi, generalized_forces(system.motion)) + (0 if C is None else _product(xi, C))
        for i in nonholonomic:
            multiplier = se.Symbol(SymbolKind.MULTIPLIER.of(system.facts.levels.names[i]))
            rate = rate + _product(xi, known.A[i]) * multiplier
    components = {name: plain_text.formula(x) for name, x in zip(model.coordinate_names, xi, strict=True) if x != 0}
    first = sorted(components, key=lambda name: not components[name].lstrip("-").replace("/", "").isdigit())
    return Generator(
        tuple(tuple(row) for row in A),
        tuple(b),
        {name: components[name] for name in first},
        plain_text.formula(momentum),
        latex.expression(momentum),
        plain_text.formula(_short(system, rate)),
        found.symmetry,
        found.parameters,
        found.probability,
    )


def _number(x: Fraction) -> Formula:
    return se.Rational(x.numerator, x.denominator)


def _product(xi: Sequence[Formula], f: Array) -> Formula:
    return sum((a * b for a, b in zip(xi, f, strict=True)), se.Integer(0))


def _short(system: System, formula: Formula) -> Formula:
    return simplify(formula, [str(x) for x in system.qd], _SECONDS)


def _brackets(found: Sequence[Generator]) -> dict[tuple[int, int], dict[int, Fraction]]:
    """The structure constants of vector fields, [ξ, η] = (∂η/∂q) ξ − (∂ξ/∂q) η, by generators; empty brackets are omitted."""
    fields = [np.array([[*row, x] for row, x in zip(each.A, each.b, strict=True)], dtype=object) for each in found]
    columns = np.array([[residue(x) for x in field.ravel()] for field in fields], dtype=object)
    out: dict[tuple[int, int], dict[int, Fraction]] = {}
    for j, second in enumerate(fields):
        for i, first in enumerate(fields[:j]):
            bracket = second[:, :-1] @ first - first[:, :-1] @ second
            if not bracket.any():
                continue
            right = vector([residue(Fraction(x)) for x in bracket.ravel()])
            rows, pivots = eliminated(np.concatenate([columns, right[None]]).T, len(fields) + 1)
            if len(pivots) > len(fields):  # not in the span, because generators are left out
                continue
            terms = {k: rational(x.a) for k, x in enumerate(rows[: len(fields), -1]) if x}
            out[i, j] = {k: x for k, x in terms.items() if x is not None}
    return out


def _commuting(generators: Sequence[Generator], brackets: Mapping[tuple[int, int], object]) -> tuple[int, ...]:
    """The longest of the sets that start from one symmetry and take every later one that commutes with the set."""
    indices = [k for k, each in enumerate(generators) if each.symmetry]
    best: list[int] = []
    for start in indices:
        chosen = [start]
        for k in indices:
            if k != start and all((min(i, k), max(i, k)) not in brackets for i in chosen):
                chosen.append(k)
        best = max(best, chosen, key=len)
    return tuple(sorted(best))
