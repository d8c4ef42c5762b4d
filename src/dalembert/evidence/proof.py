"""Proofs that formulations are identical functions of state and parameters, not only close in value at some states.

The graphs of all formulations are evaluated in a prime field at a random point. Numbers of the model are exact, sines and cosines
are points of a circle, and linear systems are solved in the field. Two different functions agree at such a point with a
probability bounded by their degree over the size of the field, 2¹²⁷; the bound is part of the proof.
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
from dalembert.arguments import documented_class, is_integer
from dalembert.errors import InputError, SingularError, short_repr
from dalembert.evidence._degree_bounds import degrees_of
from dalembert.evidence._integrated_programs import (
    NUMERICALLY_SOLVED,
    ExactState,
    FormSolution,
    OptimizedRates,
    exact_state,
    explicit_solution,
    nodes,
    optimized_rates,
    roots_are_independent,
    solve_form,
)
from dalembert.evidence._mechanics_identities import Identity, identities_of
from dalembert.formalisms import catalog as formalisms
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.formalisms.shared.quantities import About
from dalembert.mechanics.system import System, system_of
from dalembert.model.description import Elements
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import Workspace, setup, workspace_of
from dalembert.symbolic.algebra_base import Array
from dalembert.symbolic.nodes import Constant, Node, ordered
from dalembert.symbolic.prime_field import DivisibleByPrime, P, Undecidable, rank, residue
from dalembert.symbolic.random_points import NoRoot
from dalembert.tables import Table, Tabular

_MAX_ROUNDS = 40
_MAX_POINTS = 64
_SEED_LIMIT = 2**31  # drawn seeds are smaller
ACCEPTED_STATUSES = ("proved", "refused", "not used", "left out")
MAX_ERROR_PROBABILITY = 2.0**-60  # a claim is proved when its probability of error is below this


@dataclass(frozen=True)
class ProofResult:
    """Result of the proof for one formulation, identity or program."""

    # proved, different, undecided, refused (not applicable); for programs also: not used (by any run), left out
    status: str
    reason: str | None = None


@documented_class
@dataclass(frozen=True, repr=False)
class Proof(Tabular):
    """Formulations that are proved to be the same function, the probability of error, and what remains undecided.

    It is true if all applicable formulations are proved to be identical and nothing is undecided.

    Attributes
    ----------
    model : str
        Name of the model.
    formalisms : mapping of str to ProofResult
        Results by formulation, with `status` and `reason`.
    identities : mapping of str to ProofResult
        Results of physical identities by name.
    probability : float
        Upper bound of the probability that a claim with status `proved` is wrong.
    undecided : mapping of str to str
        What the finite field cannot decide, by element or formulation.
    parameters : str
        "all values", or "the given values" if a fact holds only for these.
    notes : tuple of str
        Remarks.
    programs : mapping of str to ProofResult
        By formulation: whether the optimized program equals the raw one.
    seed : int
        Seed of the random point; the same seed repeats the proof.

    Examples
    --------
    >>> import dalembert as dl
    >>> proof = dl.prove("simple-pendulum", ["lagrange", "kane"], seed=1)
    >>> bool(proof), proof.formalisms["kane"].status, proof.undecided
    (True, 'proved', {})
    """

    model: str
    formalisms: Mapping[str, ProofResult]
    identities: Mapping[str, ProofResult]
    probability: float  # upper bound that a claim `proved` is wrong
    undecided: Mapping[str, str]  # element or formulation: what the field cannot decide about it
    parameters: str  # "all values", or "the given values" if a fact holds only for these
    notes: tuple[str, ...] = ()
    programs: Mapping[str, ProofResult] = field(default_factory=dict)  # by formulation: optimized program = raw program
    seed: int = 1  # of the random point: the same seed repeats the proof

    @property
    def claims(self) -> dict[str, ProofResult]:
        """All claims by name."""
        optimized = {f"optimized = raw, {key}": claim for key, claim in self.programs.items()}
        return {**self.formalisms, **self.identities, **optimized}

    @property
    def proved(self) -> bool:
        """True if all applicable formulations are proved to be the same function and nothing is undecided."""
        enough = sum(claim.status == "proved" for claim in self.formalisms.values()) > 1
        sure = enough and self.probability <= MAX_ERROR_PROBABILITY and not self.undecided
        return sure and all(claim.status in ACCEPTED_STATUSES for claim in self.claims.values())

    def __bool__(self) -> bool:
        return self.proved

    @property
    def sentence(self) -> str:
        """Summary in sentences."""
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
        optimized = sum(claim.status == "proved" for claim in self.programs.values())
        found = (
            f"{len(same)} formalisms of '{self.model}' are identical functions of state and time, for {self.parameters} of the "
            f"parameters; {len(self.identities)} identities hold; {optimized} optimized programs equal the raw ones. Probability "
            f"of error: at most 2^{self.exponent} (seed {self.seed})."
        )
        if self.undecided:
            found += f" Undecided (use dl.verify): {'; '.join(f'{k}: {v}' for k, v in self.undecided.items())}."
        return found

    def tables(self) -> tuple[Table, ...]:
        """Return a table with one row per formulation, identity and optimized program."""
        rows = tuple((name, claim.status, claim.reason or "") for name, claim in self.claims.items())
        return (Table(("claim", "status", "reason"), rows, self.sentence, self.notes),)

    def __repr__(self) -> str:
        return f"<Proof for '{self.model}': {'proved' if self.proved else 'not proved'}>"

    @property
    def exponent(self) -> int:
        """Base-2 logarithm of the probability, rounded up."""
        return math.ceil(math.log2(self.probability)) if self.probability > 0 else -1074

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a JSON-compatible dict."""
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
class Candidate:
    """One formulation over the graph, and its own formula for the reactions, if it has one."""

    key: str
    form: LinearForm
    reaction: Array | None
    solution: tuple[Array, Array] | None  # v̇ and λ, if it does not solve the linear system
    program: OptimizedRates | ProofResult  # what a run integrates, or why it is not compared

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
        """The right-hand side that a run integrates, before and after optimization."""
        return [] if isinstance(self.program, ProofResult) else self.program.roots

    @property
    def unknowns(self) -> int:
        """The size of the linear system."""
        return len(self.form.linear.f) + len(self.form.linear.beta)


@dataclass
class _Findings:
    """Results of one round at a point."""

    formalisms: dict[str, ProofResult] = field(default_factory=dict)
    identities: dict[str, ProofResult] = field(default_factory=dict)
    programs: dict[str, ProofResult] = field(default_factory=dict)


@accepts_source
def prove(
    model: Elements,
    keys: Sequence[str] | None = None,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Proof:
    """Prove that all applicable formulations give identical accelerations and reactions for all states, times and parameters.

    Constraints hold on velocity level at the compared points; positions are free, since no formulation restricts them. What
    the field cannot decide, such as the point where a formula switches, is listed in `Proof.undecided` and left to `verify`. The
    optimized program that a run integrates is compared with the raw one at the same points.

    Parameters
    ----------
    keys : sequence of str, optional
        Keys of the formulations to compare; all that apply if None.
    seed : int, optional
        Nonnegative seed of the random point; a random one if None. `Proof.seed` records it to repeat the proof.

    Returns
    -------
    Proof
        The claims, and an upper bound of the probability of error.

    Raises
    ------
    ModelError
        If the model is incomplete or inconsistent.
    NotApplicableError
        If the model has constraints on momenta, or one of `keys` does not apply.
    SingularError
        If no point was found at which every formula is defined.

    See Also
    --------
    verify : Compare in floating-point numbers at random states.

    Examples
    --------
    >>> import dalembert as dl
    >>> proof = prove(dl.load("simple-pendulum"))
    >>> proof.proved, proof.probability < 2**-60, proof.parameters
    (True, True, 'all values')
    """
    model.require_valid()
    model.refuse_canonical("prove")
    seed = secrets.randbelow(_SEED_LIMIT) if seed is None else _checked_seed(seed)
    space = workspace_of(setup(model))
    facts, system = space.facts, system_of(space.model, "graph", space.facts)
    report = progress or (lambda _: None)
    claims, candidates = _candidates(space, system, keys, report)
    identities = list(identities_of(system))
    undecided = dict.fromkeys(model.switching, "it switches; proved on every branch, but not at the switching point")
    roots = [*(y for candidate in candidates for y in candidate.roots), *(y for each in identities for y in each.roots)]
    _refuse_divisible_numbers(model, [*roots, *(y for candidate in candidates for y in candidate.program_roots)])
    try:
        state, found, chance = _compared_at_points(system, candidates, identities, roots, seed)
    except (NoRoot, Undecidable) as error:
        why = f"the field has no value for {error}" if isinstance(error, Undecidable) else error
        raise SingularError(
            f"model '{model.name}': no proof was found, because {why}. Expected a point at which every formula is defined. "
            "Use dl.verify."
        ) from None
    claims |= found.formalisms
    all_claims = {**claims, **found.identities, **{f"optimized program of {k}": c for k, c in found.programs.items()}}
    undecided |= {key: c.reason or "" for key, c in all_claims.items() if c.status == "undecided"}
    report(1.0)
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
    if not is_integer(seed) or seed < 0:
        raise InputError(f"prove, seed: got {short_repr(seed)}. Expected an int >= 0, or None for a random seed.")
    return int(seed)


def _refuse_divisible_numbers(model: Elements, roots: Sequence[Node]) -> None:
    """Raise `InputError` if a number of the model is zero or undefined in the field."""
    for y in ordered(roots):
        if isinstance(y, Constant) and isinstance(y.value, Fraction):
            try:
                residue(y.value)
            except DivisibleByPrime:
                raise InputError(
                    f"model '{model.name}': the number {y.value} is divisible by {P}, the prime of the field used for proofs: it "
                    "would be zero or undefined there. Expected numbers not divisible by it. Write it as a parameter, or use "
                    "dl.verify."
                ) from None


def _candidates(
    space: Workspace, system: System, keys: Sequence[str] | None, report: Callable[[float], object]
) -> tuple[dict[str, ProofResult], list[Candidate]]:
    """Derive the formulations that apply; return them and the reasons for the others."""
    claims: dict[str, ProofResult] = {}
    candidates: list[Candidate] = []
    chosen = [formalisms.find(key) for key in (keys or formalisms.KEYS)]
    for index, module in enumerate(chosen):
        report(0.8 * index / len(chosen))
        reason = formalisms.unsupported_reason(module.ABOUT, system.model, system.facts)
        if reason is not None:
            claims[module.ABOUT.key] = ProofResult("refused", reason)
            continue
        form, program = module.derive(system).form, _program(space, module.ABOUT)
        reaction = None if form.reaction is None else form.reaction(system)
        candidates.append(Candidate(module.ABOUT.key, form, reaction, explicit_solution(form), program))
    if not candidates:
        raise InputError(f"model '{system.model.name}': prove has nothing to compare: {claims}. Use other formalisms.")
    return claims, candidates


def _program(space: Workspace, about: About) -> OptimizedRates | ProofResult:
    """Return the right-hand side that a run integrates, or the reason why it is not compared."""
    if (reason := formalisms.slow_compilation_reason(about, space.model)) is not None:
        return ProofResult("left out", reason)
    found = optimized_rates(Equations(derivation_of(space.setup, about.key)))
    return found or ProofResult("not used", NUMERICALLY_SOLVED)


def _compared_at_points(
    system: System, candidates: Sequence[Candidate], identities: Sequence[Identity], roots: Sequence[Node], seed: int
) -> tuple[ExactState, _Findings, float]:
    """Return the first state, the claims that hold at all points, and the probability of error; use several points if needed."""
    state, found = _compared(system, candidates, identities, roots, seed)
    sure = roots_are_independent(system, roots, generic=system.facts.generic)
    probability = _probability(system, candidates, identities, state) if sure else 0.5  # P(wrong sign undetected)
    chance = probability
    for extra in range(1, _MAX_POINTS):
        claimed = (*found.formalisms.values(), *found.programs.values())
        if chance <= MAX_ERROR_PROBABILITY or any(claim.status == "different" for claim in claimed):
            break
        _, again = _compared(system, candidates, identities, roots, seed + extra * 10**6)
        found, chance = _both(found, again), chance * probability
    return state, found, chance


def _compared(
    system: System, candidates: Sequence[Candidate], identities: Sequence[Identity], roots: Sequence[Node], seed: int
) -> tuple[ExactState, _Findings]:
    """Compare all formulations and identities at one point where everything is defined."""
    more = [y for candidate in candidates for y in candidate.program_roots]
    for _ in range(_MAX_ROUNDS):
        state, seed = exact_state(system, roots, seed, generic=system.facts.generic, more=more)
        try:
            return state, _at(state, candidates, identities)
        except (NoRoot, ZeroDivisionError):
            continue
    raise NoRoot(f"every formula is defined at none of {_MAX_ROUNDS} random points")


def _both(first: _Findings, second: _Findings) -> _Findings:
    """Return the claims that hold at two points."""
    pairs = ((vars(first)[name], vars(second)[name]) for name in vars(first))
    return _Findings(
        *({key: b.get(key, claim) if claim.status == "proved" else claim for key, claim in a.items()} for a, b in pairs)
    )


def _at(state: ExactState, candidates: Sequence[Candidate], identities: Sequence[Identity]) -> _Findings:
    found = _Findings()
    known: FormSolution | None = None
    for candidate in candidates:
        try:
            here = solve_form(candidate.form, candidate.reaction, state, candidate.solution)
        except Undecidable as error:
            found.formalisms[candidate.key] = ProofResult("undecided", f"the field has no {error}")
            continue
        known = known or here
        pairs = {"accelerations": (here.qdd, known.qdd), "reactions": (here.reaction, known.reaction)}
        different = [f"other {name}" for name, (ours, first) in pairs.items() if not (ours == first).all()]
        found.formalisms[candidate.key] = _claim(state, different)
        found.programs[candidate.key] = _program_claim(candidate, state, known)
    for identity in identities:
        try:
            found.identities[identity.name] = _claim(state, identity.broken(state, known))
        except Undecidable as error:
            found.identities[identity.name] = ProofResult("undecided", f"the field has no {error}")
    return found


def _program_claim(candidate: Candidate, state: ExactState, known: FormSolution) -> ProofResult:
    """Return whether the optimized program of a formulation equals the raw one."""
    if isinstance(candidate.program, ProofResult):
        return candidate.program
    try:
        return _claim(state, list(candidate.program.differences(state, known)))
    except Undecidable as error:
        return ProofResult("undecided", f"the field has no {error}")


def _claim(state: ExactState, broken: Sequence[str]) -> ProofResult:
    if not broken:
        return ProofResult("proved")
    if state.point.composite:
        return ProofResult("undecided", f"{broken[0]}, but equal angles that are products may differ in the field")
    return ProofResult("different", " and ".join(broken))


def _probability(
    system: System, candidates: Sequence[Candidate], identities: Sequence[Identity], state: ExactState
) -> float:
    """Return an upper bound: the sum of degree / P over all claims, with Cramer's rule and the velocities substituted."""
    part = state.point.part
    velocity = degrees_of([*nodes(system.A), *nodes(system.b)], part)
    inner = (1 + len(system.b)) * max(1, velocity.total)
    total = 0
    for candidate in candidates:
        own = degrees_of([*candidate.roots, *candidate.program_roots], part)
        total += 4 * (1 + candidate.unknowns) * max(1, own.total) * inner * (1 + len(candidate.form.velocity.v))
    total += sum(4 * max(1, degrees_of(each.roots, part).total) * inner for each in identities)
    # a square root doubles the degree (by its norm) and exists at half of the points
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
        f"redundant constraints ({', '.join(facts.dropped)}) follow from the others at the sampled states; the proof covers the "
        "independent constraints only",
    )
