"""Proofs: formalisms are identical functions of state and parameters, not similar numbers at some states.

The graphs of all formalisms are evaluated in a prime field at a random point. Numbers of the model are exact, sines and cosines
are points of a circle, linear systems are solved in the field. Two different functions agree at such a point with a probability
that is bounded by their degree over the size of the field, 2¹²⁷; the bound is part of the proof.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from dalembert.api.equations import Equations
from dalembert.api.load import accepts_source
from dalembert.arguments import is_whole, shown
from dalembert.errors import InputError, SingularError
from dalembert.evidence._degrees import degrees_of
from dalembert.evidence._integrated_programs import (
    SOLVED_IN_NUMBERS,
    ExactState,
    ShortenedRates,
    Solved,
    exact_state,
    nodes,
    outright,
    roots_are_independent,
    shortened_rates,
    solved,
)
from dalembert.evidence._mechanics_identities import Identity, identities_of
from dalembert.formalisms import catalogue as formalisms
from dalembert.formalisms.shared.about import About
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.mechanics.system import System, system_of
from dalembert.model.description import Elements
from dalembert.simulation.derivation import derivation_of
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.nodes import Constant, Node, ordered
from dalembert.symbolic.prime_field import DivisibleByPrime, P, Undecidable, rank, residue
from dalembert.symbolic.random_points import NoRoot
from dalembert.tables import Table, Tabular

_ROUNDS = 40
_POINTS = 64
_SEEDS = 2**31  # seeds that are drawn are smaller
FINE = ("proved", "refused", "not used", "left out")
ENOUGH = 2.0**-60  # a claim is proved when its probability of error is below this


@dataclass(frozen=True)
class Claim:
    """What was found of one formalism, identity or program."""

    # proved, different, undecided, refused (it cannot treat the model); of programs also: not used (no run has it), left out
    status: str
    reason: str | None = None


@dataclass(frozen=True, repr=False)
class Proof(Tabular):
    """Which formalisms are proved to be one function, with which probability of error, and what was left to numbers."""

    model: str
    formalisms: Mapping[str, Claim]
    identities: Mapping[str, Claim]
    probability: float  # at most, that a claim `proved` is wrong
    undecided: Mapping[str, str]  # element or formalism: what the field cannot decide about it
    parameters: str  # "all values", or "the given values" where a fact holds only for these
    notes: tuple[str, ...] = ()
    programs: Mapping[str, Claim] = field(default_factory=dict)  # by formalism: the shortened program is the raw one
    seed: int = 1  # of the random point: the same seed, the same proof

    @property
    def claims(self) -> dict[str, Claim]:
        """Everything that was asked, by name."""
        shortened = {f"shortened = raw, {key}": claim for key, claim in self.programs.items()}
        return {**self.formalisms, **self.identities, **shortened}

    @property
    def proved(self) -> bool:
        """True when every formalism that applies is proved to be the same function, and nothing was left undecided."""
        enough = sum(claim.status == "proved" for claim in self.formalisms.values()) > 1
        sure = enough and self.probability <= ENOUGH and not self.undecided
        return sure and all(claim.status in FINE for claim in self.claims.values())

    def __bool__(self) -> bool:
        return self.proved

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        same = [key for key, claim in self.formalisms.items() if claim.status == "proved"]
        other = [key for key, claim in self.formalisms.items() if claim.status == "different"]
        if other:
            return (
                f"The formalisms of '{self.model}' are different functions: {', '.join(other)} against {same[0]} (seed "
                f"{self.seed})."
            )
        broken = [key for key, claim in self.programs.items() if claim.status == "different"]
        if broken:
            return (
                f"The program that a run of '{self.model}' integrates is not the function that was derived: "
                f"{', '.join(broken)} (seed {self.seed})."
            )
        short = sum(claim.status == "proved" for claim in self.programs.values())
        said = (
            f"{len(same)} formalisms of '{self.model}' are identical functions of state and time, for {self.parameters} of the "
            f"parameters; {len(self.identities)} identities hold; {short} shortened programs equal the raw ones. Probability "
            f"of error: at most 2^{self.exponent} (seed {self.seed})."
        )
        if self.undecided:
            said += f" Left to numbers (dalembert verify): {'; '.join(f'{k}: {v}' for k, v in self.undecided.items())}."
        return said

    def tables(self) -> tuple[Table, ...]:
        """One row for each formalism, each identity and each shortened program."""
        rows = tuple((name, claim.status, claim.reason or "") for name, claim in self.claims.items())
        return (Table(("claim", "status", "reason"), rows, self.sentence, self.notes),)

    def __repr__(self) -> str:
        return f"<Proof for '{self.model}': {'proved' if self.proved else 'not proved'}>"

    @property
    def exponent(self) -> int:
        """The probability as a power of two, rounded up."""
        return math.ceil(math.log2(self.probability)) if self.probability > 0 else -1074

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain data."""
        return {
            "model": self.model,
            "proved": self.proved,
            "formalisms": {key: asdict(claim) for key, claim in self.formalisms.items()},
            "identities": {key: asdict(claim) for key, claim in self.identities.items()},
            "programs": {key: asdict(claim) for key, claim in self.programs.items()},
            "probability": self.probability,
            "undecided": dict(self.undecided),
            "parameters": self.parameters,
            "notes": list(self.notes),
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Road:
    """One formalism over the graph, and its own formula for the reactions, if it has one."""

    key: str
    form: LinearForm
    reaction: Array | None
    solution: tuple[Array, Array] | None  # v̇ and λ, where it does not solve the linear system
    program: ShortenedRates | Claim  # what a run integrates, or why it is not looked at

    @property
    def roots(self) -> list[Node]:
        """Everything that is evaluated."""
        form = self.form
        own, velocity = form.own_multipliers, form.velocity
        parts = [*vars(form.independent).values(), velocity.W, velocity.qdd_bias, velocity.v_from_qd]
        parts += [form.constants.values, self.reaction, None if own is None else own.J, *(self.solution or ())]
        return [y for part in parts if part is not None for y in nodes(part)]

    @property
    def program_roots(self) -> list[Node]:
        """The right-hand side that a run integrates, before and after shortening."""
        return [] if isinstance(self.program, Claim) else self.program.roots

    @property
    def unknowns(self) -> int:
        """The size of the linear system."""
        return len(self.form.linear.f) + len(self.form.linear.beta)


@dataclass
class _Findings:
    """What one round at a point gives."""

    formalisms: dict[str, Claim] = field(default_factory=dict)
    identities: dict[str, Claim] = field(default_factory=dict)
    programs: dict[str, Claim] = field(default_factory=dict)


@accepts_source
def prove(
    model: Elements,
    keys: Sequence[str] | None = None,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Proof:
    """Are all formalisms that apply identical functions? Accelerations and reactions, for all states, times and parameters.

    Constraints hold on velocity level at the points that are compared; positions are free, since no formalism asks more. `keys`
    restricts the formalisms. What the field cannot decide, such as where a formula switches, is named and left to `verify`.
    The shortened program that a run integrates is compared with the raw one at the same points. `seed` draws the point; without
    it a random one is taken, and `Proof.seed` tells which, so that a proof can be repeated.

    >>> import dalembert as dl
    >>> proof = prove(dl.load("simple-pendulum"))
    >>> proof.proved, proof.probability < 2**-60, proof.parameters
    (True, True, 'all values')
    """
    model.require_sound()
    model.refuse_canonical("prove")
    seed = secrets.randbelow(_SEEDS) if seed is None else _checked_seed(seed)
    space = workspace_of(setup(model))
    facts, system = space.facts, system_of(space.model, "graph", space.facts)
    tell = progress or (lambda _: None)
    claims, roads = _roads(space, system, keys, tell)
    asked = list(identities_of(system))
    undecided = dict.fromkeys(model.switching, "it switches; proved on every branch, but not where it switches")
    roots = [*(y for road in roads for y in road.roots), *(y for each in asked for y in each.roots)]
    _refuse_divisible_numbers(model, [*roots, *(y for road in roads for y in road.program_roots)])
    try:
        state, found, chance = _compared_at_points(system, roads, asked, roots, seed)
    except (NoRoot, Undecidable) as error:
        why = f"the field has no value for {error}" if isinstance(error, Undecidable) else error
        raise SingularError(
            f"model '{model.name}': no proof was found, because {why}. Expected a point at which every formula has a value. "
            "Use dalembert verify."
        ) from None
    claims |= found.formalisms
    asked_of = {**claims, **found.identities, **{f"shortened program of {k}": c for k, c in found.programs.items()}}
    undecided |= {key: c.reason or "" for key, c in asked_of.items() if c.status == "undecided"}
    tell(1.0)
    return Proof(
        model.name,
        {key: claims[key] for key in formalisms.KEYS if key in claims},
        found.identities,
        chance,
        undecided,
        "all values" if facts.generic else "the given values",
        _notes(system, state),
        found.programs,
        seed,
    )


def _checked_seed(seed: int) -> int:
    if not is_whole(seed) or seed < 0:
        raise InputError(
            f"prove, seed: got {shown(seed)}. Expected a whole number of at least 0, or None for a random one."
        )
    return int(seed)


def _refuse_divisible_numbers(model: Elements, roots: Sequence[Node]) -> None:
    """Raise where a number of the model is zero, or has no value, in the field."""
    for y in ordered(roots):
        if isinstance(y, Constant) and isinstance(y.value, Fraction):
            try:
                residue(y.value)
            except DivisibleByPrime:
                raise InputError(
                    f"model '{model.name}': the number {y.value} is divisible by {P}, the prime of the field in which proofs are "
                    "made, where it cannot be told from zero. Expected other numbers. Write it as a parameter, or use dalembert "
                    "verify."
                ) from None


def _roads(
    space: Workspace, system: System, keys: Sequence[str] | None, tell: Callable[[float], object]
) -> tuple[dict[str, Claim], list[Road]]:
    """The formalisms that apply, derived, and why the others do not."""
    claims: dict[str, Claim] = {}
    roads: list[Road] = []
    chosen = [formalisms.find(key) for key in (keys or formalisms.KEYS)]
    for index, module in enumerate(chosen):
        tell(0.8 * index / len(chosen))
        reason = formalisms.refusal(module.ABOUT, system.model, system.facts)
        if reason is not None:
            claims[module.ABOUT.key] = Claim("refused", reason)
            continue
        form, program = module.derive(system).form, _program(space, module.ABOUT)
        reaction = None if form.reaction is None else form.reaction(system)
        roads.append(Road(module.ABOUT.key, form, reaction, outright(form), program))
    if not roads:
        raise InputError(f"model '{system.model.name}': prove has nothing to compare: {claims}. Name other formalisms.")
    return claims, roads


def _program(space: Workspace, about: About) -> ShortenedRates | Claim:
    """The right-hand side that a run integrates, or why there is none to compare."""
    if (reason := formalisms.too_large(about, space.model)) is not None:
        return Claim("left out", reason)
    found = shortened_rates(Equations(derivation_of(space.setup, about.key)))
    return found or Claim("not used", SOLVED_IN_NUMBERS)


def _compared_at_points(
    system: System, roads: Sequence[Road], asked: Sequence[Identity], roots: Sequence[Node], seed: int
) -> tuple[ExactState, _Findings, float]:
    """The first state, what holds at all points, and the probability of error; one point may leave too much to chance."""
    state, found = _compared(system, roads, asked, roots, seed)
    sure = roots_are_independent(system, roots, generic=system.facts.generic)
    probability = _probability(system, roads, asked, state) if sure else 0.5  # a wrong sign of a root shows at half
    chance = probability
    for extra in range(1, _POINTS):
        claimed = (*found.formalisms.values(), *found.programs.values())
        if chance <= ENOUGH or any(claim.status == "different" for claim in claimed):
            break
        _, again = _compared(system, roads, asked, roots, seed + extra * 10**6)
        found, chance = _both(found, again), chance * probability
    return state, found, chance


def _compared(
    system: System, roads: Sequence[Road], asked: Sequence[Identity], roots: Sequence[Node], seed: int
) -> tuple[ExactState, _Findings]:
    """All roads and identities at one point where everything has a value."""
    more = [y for road in roads for y in road.program_roots]
    for _ in range(_ROUNDS):
        state, seed = exact_state(system, roots, seed, generic=system.facts.generic, more=more)
        try:
            return state, _at(state, roads, asked)
        except (NoRoot, ZeroDivisionError):
            continue
    raise NoRoot(f"none of {_ROUNDS} random points has a value for every formula")


def _both(first: _Findings, second: _Findings) -> _Findings:
    """What holds at two points."""
    pairs = ((vars(first)[name], vars(second)[name]) for name in vars(first))
    return _Findings(
        *({key: b.get(key, claim) if claim.status == "proved" else claim for key, claim in a.items()} for a, b in pairs)
    )


def _at(state: ExactState, roads: Sequence[Road], asked: Sequence[Identity]) -> _Findings:
    found = _Findings()
    known: Solved | None = None
    for road in roads:
        try:
            here = solved(road.form, road.reaction, state, road.solution)
        except Undecidable as error:
            found.formalisms[road.key] = Claim("undecided", f"the field has no {error}")
            continue
        known = known or here
        pairs = {"accelerations": (here.qdd, known.qdd), "reactions": (here.reaction, known.reaction)}
        different = [f"other {name}" for name, (ours, first) in pairs.items() if not (ours == first).all()]
        found.formalisms[road.key] = _claim(state, different)
        found.programs[road.key] = _program_claim(road, state, known)
    for identity in asked:
        try:
            found.identities[identity.name] = _claim(state, identity.broken(state, known))
        except Undecidable as error:
            found.identities[identity.name] = Claim("undecided", f"the field has no {error}")
    return found


def _program_claim(road: Road, state: ExactState, known: Solved) -> Claim:
    """Is the shortened program of a formalism the raw one?"""
    if isinstance(road.program, Claim):
        return road.program
    try:
        return _claim(state, list(road.program.differences(state, known)))
    except Undecidable as error:
        return Claim("undecided", f"the field has no {error}")


def _claim(state: ExactState, broken: Sequence[str]) -> Claim:
    if not broken:
        return Claim("proved")
    if state.point.composite:
        return Claim("undecided", f"{broken[0]}, but angles that are products may be equal and look different")
    return Claim("different", " and ".join(broken))


def _probability(system: System, roads: Sequence[Road], asked: Sequence[Identity], state: ExactState) -> float:
    """At most: the sum over all claims of degree / P, each degree through Cramer's rule and the velocities put in."""
    part = state.point.part
    velocity = degrees_of([*nodes(system.A), *nodes(system.b)], part)
    inner = (1 + len(system.b)) * max(1, velocity.total)
    total = 0
    for road in roads:
        own = degrees_of([*road.roots, *road.program_roots], part)
        total += 4 * (1 + road.unknowns) * max(1, own.total) * inner * (1 + len(road.form.velocity.v))
    total += sum(4 * max(1, degrees_of(each.roots, part).total) * inner for each in asked)
    # a root doubles the degree (by its norm), and half of the points have it
    return min(1.0, total * 4 ** len(state.point.radicands) / P)


def _notes(system: System, state: ExactState) -> tuple[str, ...]:
    facts = system.facts
    if not facts.dropped:
        return ()
    if rank(state.at(system.constraints.A)) == len(facts.rows):
        return (
            f"redundant constraints ({', '.join(facts.dropped)}) are proved to follow from the others at every state",
        )
    return (
        f"redundant constraints ({', '.join(facts.dropped)}) follow from the others where these hold: the proof is about the "
        "independent ones, and that the rest follow was found at samples",
    )
