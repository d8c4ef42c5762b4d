"""A formulation: its properties, and the result of its derivation with named quantities and laws in the order of the paper.

`derive` of a formulation defines every quantity on the line that computes it, by letter, meaning and equation number, and
continues with the returned value: the same value, or a shorter form if the notation of the system has one. A value that is
not needed to run the equations is passed as a function and computed on first read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import numpy as np

from dalembert.mechanics.system import Notation, System
from dalembert.symbolic.algebra_base import Array, Scalar

if TYPE_CHECKING:
    from dalembert.formalisms.shared.linear_form import LinearForm


Sides = tuple[Array, Array]  # left and right sides of equations, row by row
Value = TypeVar("Value")  # an array, a scalar, or a function that computes an array


@dataclass(frozen=True, eq=False)
class Quantity:
    """One quantity of a paper; its value is a matrix, a vector, a scalar, or an array of names.

    >>> from dalembert.symbolic.algebra_base import identity
    >>> Quantity("N_l", lambda: identity(2), "propagates twists outward", "(9b)").value.tolist()
    [[1, 0], [0, 1]]
    """

    key: str  # its letter in ASCII: accents and indices after underscores, as in M_tilde and w_1
    source: Array | Callable[[], Array]  # its value, or a function that computes it on first read
    meaning: str
    equation: str  # its number in the paper of the formulation
    of: tuple[str, ...] = ()  # names along its first axis: bodies, speeds
    written: Array | None = None  # its form in later equations; None: not used there

    @cached_property
    def value(self) -> Array:
        """The value, computed once."""
        return self.source() if callable(self.source) else self.source


@dataclass(frozen=True)
class FinalEquations:
    """Final equations of a derivation: as a formula, and row by row."""

    formula: str  # by letters, as in M_NI u̇_NI = L_NI
    uses: tuple[str, ...]  # the keys of the quantities in it
    sides: Callable[[], Sides]
    equation: str  # its number in the paper


@dataclass(frozen=True)
class Stage:
    """Related quantities of a derivation under a heading."""

    heading: str
    quantities: tuple[Quantity, ...]


class Definitions:
    """The quantities and laws of a derivation, in the order in which it defines them.

    >>> from dalembert.io import gallery
    >>> from dalembert.mechanics.system import system_of
    >>> define = Definitions(system_of(gallery.load("simple-pendulum")))
    >>> define("T", 3, "kinetic energy", "(7)"), list(define.quantities)
    (3, ['T'])
    """

    def __init__(self, system: System) -> None:
        self.notation: Notation = system.notation
        self.quantities: dict[str, Quantity] = {}
        self.laws: list[FinalEquations] = []
        self.meanings: dict[str, Scalar] = {}  # values of the symbols of entries
        self._deferred: list[Callable[[], None]] = []

    def __call__(self, key: str, value: Value, meaning: str, equation: str, of: Sequence[str] = ()) -> Value:
        """Define a quantity; returns its form in later equations. A function is called on first read."""
        if callable(value):
            self.quantities[key] = Quantity(key, cast("Callable[[], Array]", value), meaning, equation, tuple(of))
            return value
        array = np.asarray(value, dtype=object)
        written = self.notation.short(array)
        self.quantities[key] = Quantity(key, array, meaning, equation, tuple(of), written)
        return cast("Value", written if isinstance(value, np.ndarray) else written[()])

    def velocity_terms(self, key: str, value: Array, meaning: str, equation: str) -> Array:
        """Define rows that are not differentiated later; symbols may replace their common subexpressions."""
        symbols, written = self.notation.velocity_terms(value)
        self.meanings |= dict(symbols)
        self.quantities[key] = Quantity(key, value, meaning, equation, (), written)
        return written

    def symbols(self, key: str, value: Array) -> Array:
        """Return a value with symbols for its long entries: M[1,2] is an entry of M."""
        out = self.notation.symbols(key, value)
        if out is not value:
            self.meanings |= {str(a): b for a, b in zip(out.flat, value.flat, strict=True) if a is not b and a != b}
        return out

    def named(self, key: str, value: Array, meaning: str, equation: str) -> Array:
        """Define a quantity whose long entries are symbols in later equations."""
        return self.symbols(key, self(key, value, meaning, equation))

    def law(self, words: str, uses: Sequence[str], sides: Callable[[], Sides], equation: str) -> None:
        """Add final equations of the derivation."""
        self.laws.append(FinalEquations(words, tuple(uses), sides, equation))

    def later(self, define: Callable[[], None]) -> None:
        """Defer definitions that are displayed but not evaluated; `define` is called before the first of them is read."""
        self._deferred.append(define)

    def derived(self, form: LinearForm) -> Derived:
        """Return the result of the derivation."""
        return Derived(form, self)

    def find(self, key: str) -> Quantity | None:
        """One quantity; deferred definitions after it are not computed."""
        while key not in self.quantities and self._deferred:
            self._define_next()
        return self.quantities.get(key)

    def complete(self) -> Definitions:
        """Return self with all deferred definitions computed."""
        while self._deferred:
            self._define_next()
        return self

    def _define_next(self) -> None:
        define = self._deferred.pop(0)
        try:
            define()
        except Exception as error:
            self._deferred.insert(0, partial(_fail, error))  # raise the same error on the next read
            raise


def _fail(error: Exception) -> None:
    raise error


@dataclass(frozen=True)
class Derived:
    """One formulation of one system: its equations of motion, and its quantities and laws for display."""

    form: LinearForm
    definitions: Definitions

    @property
    def quantities(self) -> dict[str, Quantity]:
        """All quantities, in their order."""
        return self.definitions.complete().quantities

    @property
    def laws(self) -> tuple[FinalEquations, ...]:
        """Final equations of the derivation."""
        return tuple(self.definitions.complete().laws)

    @property
    def meanings(self) -> dict[str, Scalar]:
        """Values of the symbols of entries in the quantities and laws."""
        return self.definitions.complete().meanings

    def find(self, key: str) -> Quantity | None:
        """One quantity; deferred ones after it are not computed."""
        return self.definitions.find(key)

    def value(self, key: str) -> Array:
        """The value of one quantity."""
        if (found := self.find(key)) is None:
            raise KeyError(key)
        return found.value


Fact = Literal["T", "V", "free motion", "Legendre", "bodies", "active forces", "wrenches", "recursion", "positions"]
# intermediate results that several formulations share; positions, Jacobians, the declared loads and the constraint levels are
# shared by all and not listed
FACTS: dict[Fact, str] = {
    "T": "inertia terms are derivatives of the kinetic energy",
    "V": "gravity and springs are derivatives of the potential energy",
    "free motion": "M and h of M q̈ = h are computed by Lagrange's operators, in one shared function",
    "Legendre": "H and its derivatives are computed from L by the Legendre transform, in one shared function",
    "bodies": "inertia terms are sums of momenta or accelerations of bodies, through their Jacobians",
    "active forces": "all loads are forces projected on partial velocities, in one shared function",
    "wrenches": "loads are applied as a force and a moment on each body",
    "recursion": "inertia terms are propagated from body to body, without Jacobians",
    "positions": "positions from a separate traversal, differentiated numerically, and forces from the declarations",
}
Lineage = tuple[Fact, ...]


class Velocities(StrEnum):
    """The velocity variables v of a form; the value is the printed letter.

    >>> Velocities.SPEEDS.in_speeds, Velocities.MOMENTA.in_speeds
    (True, False)
    """

    RATES = "q̇"  # of all coordinates
    FREE_RATES = "q̇_NI"  # of the coordinates that are not ignorable
    SPEEDS = "u"  # d quasi-velocities
    REDUCED_SPEEDS = "u_NI"  # d − s quasi-velocities
    SQUARE_SPEEDS = "s"  # n quasi-velocities
    MOMENTA = "p"
    TWISTS = "twists"

    @property
    def in_speeds(self) -> bool:
        """True for quasi-velocities."""
        return self in (Velocities.SPEEDS, Velocities.REDUCED_SPEEDS, Velocities.SQUARE_SPEEDS)

    @property
    def are_rates(self) -> bool:
        """True for all n rates q̇."""
        return self is Velocities.RATES

    @property
    def are_reduced(self) -> bool:
        """True for the reduced speeds, without ignorable coordinates."""
        return self is Velocities.REDUCED_SPEEDS

    @property
    def are_momenta(self) -> bool:
        """True for the momenta p = ∂L/∂q̇."""
        return self is Velocities.MOMENTA

    @property
    def satisfy_constraints(self) -> bool:
        """True if every v satisfies the constraints on velocity level."""
        return self in (Velocities.SPEEDS, Velocities.REDUCED_SPEEDS)

    @property
    def exceed_rates(self) -> bool:
        """True if there are more velocity variables than rates, so that they must stay compatible with the joints."""
        return self is Velocities.TWISTS

    @property
    def heading(self) -> str:
        """Heading of the velocity variables in printed equations."""
        return {Velocities.MOMENTA: "Momenta", Velocities.TWISTS: "Twists"}.get(self, "Speeds")


@dataclass(frozen=True)
class About:
    """Properties of a formulation."""

    key: str
    title: str
    source: str
    needs: Literal["bodies", "energies"]  # models without bodies support only "energies"
    velocities: Velocities
    count: Literal["n", "d", "d − s", "n − s", "6N"]  # number of dynamic equations, Table 1 of papers/volterra
    citation: str
    lineage: Lineage  # the shared facts on which its inertia and load terms depend
    nonholonomic: bool = True  # supports constraints on velocities
    nonlinear: bool = False  # supports constraints that are nonlinear in the velocities
    servo: bool = False  # supports constraints with feedback, whose velocity level may be violated initially
    canonical: bool = False  # supports constraints on momenta
    first_order: bool = False  # supports first-order stabilization, φ̇ + α φ = 0 with one gain
    singular_mass: bool = False  # supports a mass matrix that is singular but regular on the constraints
    dependent_rows: Literal["drops", "takes"] = "drops"  # treatment of dependent constraints
    recursive: bool = False  # derived link by link: `recursive.stages`
    along_speeds: bool = False  # projects on the directions of the speeds, with any velocity variables
    compiles: Literal["large", "large open", "small"] = "small"  # systems whose equations are compiled quickly

    @property
    def uses_speeds(self) -> bool:
        """True if the equations depend on the choice of quasi-velocities."""
        return self.velocities.in_speeds or self.along_speeds


def group_by_lineage(lineages: Mapping[str, Lineage]) -> dict[Lineage, tuple[str, ...]]:
    """Group names by lineage, related lineages next to each other.

    >>> group_by_lineage({"denoc": ("recursion",), "lagrange": ("T", "V"), "kane": ("bodies",), "routh": ("T", "V")})
    {('T', 'V'): ('lagrange', 'routh'), ('bodies',): ('kane',), ('recursion',): ('denoc',)}
    """
    rank = list(FACTS).index
    order = sorted(set(lineages.values()), key=lambda lineage: [rank(fact) for fact in lineage])
    return {lineage: tuple(name for name, its in lineages.items() if its == lineage) for lineage in order}
