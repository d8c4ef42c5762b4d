"""Numerical comparison of all applicable formulations at random consistent states, on every engine, with the first one.

If no state can be compared, an error is raised. Other methods for the same accelerations are listed in `OTHER_METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.api.derive import derive_with_setup
from dalembert.api.equations import Equations
from dalembert.api.load import accepts_source
from dalembert.api.tree_equations import TreeEquations
from dalembert.codegen.function import choose_engine
from dalembert.errors import DalembertError, EngineError, InputError, SingularError
from dalembert.evidence import _principle
from dalembert.evidence._integrated_programs import (
    PROGRAMS,
    NotRun,
    batch_of,
    condition_values,
    difference_of_rates,
    tree_difference,
)
from dalembert.evidence.agreement import (
    PRINCIPLE,
    RECURSION,
    Agreement,
    Reference,
    Verdict,
    difference_of_accelerations,
    largest_differences,
    reference,
)
from dalembert.formalisms import catalog, denoc
from dalembert.formalisms.catalog import unsupported_reason
from dalembert.mechanics import state_batch
from dalembert.mechanics.facts import with_regular_speeds
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Elements
from dalembert.model.loads.contact_base import Unilateral
from dalembert.model.python_laws import DEFAULT_INPUT, Controller
from dalembert.recursive import tree_dynamics
from dalembert.simulation.bound_equations import derivation_of
from dalembert.simulation.workspace import Workspace, setup, workspace_of

_RIGHT_HAND_SIDE = "integrated right-hand side"


class ProgramChecks:
    """Collects the differences of the programs of formulations at a batch of states."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._differences: dict[str, dict[str, float]] = {name: {} for name in PROGRAMS}
        self._reasons: dict[str, dict[str, NotRun]] = {name: {} for name in PROGRAMS}
        self._values: dict[str, np.ndarray] = {}  # by engine: parameter values that fix the conditions at the states

    def compare(self, key: str, spaces: Sequence[Workspace], known: Reference) -> None:
        """Compare the programs of one formulation on every engine."""
        for space in spaces:
            try:
                equations = Equations(derivation_of(space.setup, key))
                first = space.engine not in self._values
                if first:
                    self._values[space.engine] = condition_values(equations, self._states)
                batch = batch_of(equations, self._states, self._values[space.engine], first)
            except EngineError:
                continue  # the verdict of the formulation on this engine has the reason
            for name, rates in PROGRAMS.items():
                try:
                    with np.errstate(all="ignore"):
                        found = difference_of_rates(rates(batch), batch, self._states, known)
                    self._differences[name][f"{key} on {space.engine}"] = found
                except NotRun as reason:
                    self._reasons[name][f"{key} on {space.engine}"] = reason

    def compare_tree(self, space: Workspace, known: Reference) -> None:
        """Compare the recursion that a run of a large tree integrates."""
        if unsupported_reason(denoc.ABOUT, space.model, space.facts) is not None:
            return
        equations = derive_with_setup(space.setup, denoc.ABOUT.key)
        if isinstance(equations, TreeEquations):
            found = tree_difference(equations, self._states, known)
            self._differences[_RIGHT_HAND_SIDE]["denoc, link by link"] = found

    def verdicts(self, tolerance: float) -> dict[str, Verdict]:
        """Return a verdict for each kind of program: the largest difference, and which formulations differ or do not use it."""
        return {name: self._verdict(name, tolerance) for name in PROGRAMS}

    def _verdict(self, name: str, tolerance: float) -> Verdict:
        found, reasons = self._differences[name], self._reasons[name]
        if not found:
            why = "; ".join(dict.fromkeys(map(str, reasons.values())))
            return Verdict("not used", why or None, None, None)
        wrong = [f"{who} by {size:.1e}" for who, size in found.items() if not size <= tolerance]
        return Verdict("differs" if wrong else "agrees", ", ".join(wrong) or None, max(found.values()), None)


@dataclass(frozen=True)
class VerificationTask:
    """One model on its engines, and the states of the comparison."""

    spaces: tuple[Workspace, ...]
    states: States
    tolerance: float
    everything: bool  # include formulations that take minutes to compile

    @property
    def first(self) -> Workspace:
        """The workspace of the reference."""
        return self.spaces[0]

    def verdict_fields(self, accelerations: float, reactions: float | None) -> tuple[str, None, float, float | None]:
        """Return status, reason and differences: the first fields of a `Verdict`."""
        agree = max(accelerations, reactions or 0.0) <= self.tolerance
        return "agrees" if agree else "differs", None, accelerations, reactions


@dataclass(frozen=True)
class Finding:
    """A verdict and its notes."""

    verdict: Verdict
    notes: tuple[str, ...] = ()


@accepts_source
def verify(
    model: Elements,
    *,
    states: int = 200,
    tolerance: float = 1e-10,
    engines: Sequence[str] | None = None,
    seed: int = 20,
    everything: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Agreement:
    """Compare all applicable formulations at random consistent states on every engine.

    Models of bodies are also compared with the recursion from body to body, and the accelerations are checked with d'Alembert's
    principle, from positions and declared forces only, with separate tolerances. At the same states the programs that runs
    integrate are compared, `Agreement.programs`: the right-hand side, SIMD lanes and the Taylor program.
    `Agreement.n_lineages` is the number of independent lineages that agree.

    Parameters
    ----------
    states : int, default 200
        Number of random states.
    tolerance : float, default 1e-10
        Largest relative difference of accelerations and reactions.
    engines : sequence of {'native', 'python'}, optional
        Engines to compare; all that are available if None.
    everything : bool, default False
        Include formulations whose equations take minutes to compile; otherwise they are omitted and listed.

    Returns
    -------
    Agreement
        The differences by formulation; true if all agree.

    Raises
    ------
    NotApplicableError
        If the model has constraints on momenta, which only one formulation supports.
    EngineError
        If an engine is not available, or no formulation could be evaluated.
    SingularError
        If the formulations are singular at all random states.
    InputError
        If `states` is less than 1, or another argument is invalid.

    See Also
    --------
    prove : Exact comparison for all states and parameters.

    Examples
    --------
    >>> import dalembert as dl
    >>> agreement = verify(dl.load("simple-pendulum"), states=20, engines=["python"])
    >>> agreement.agrees, agreement.states, agreement.n_lineages
    (True, 20, 4)
    """
    if states < 1:
        raise InputError(f"verify, states: got {states}. Expected an int >= 1.")
    model.refuse_canonical("verify")  # only dirac supports it: nothing to compare with
    laws, model = model.controllers, model.without_controllers().with_unit_contact_forces()
    report = progress or (lambda _: None)
    chosen = [choose_engine(engine) for engine in engines or dict.fromkeys((choose_engine(None), "python"))]
    spaces = tuple(workspace_of(setup(model, engine)) for engine in chosen)
    task = VerificationTask(spaces, _states(spaces[0], states, seed), tolerance, everything)
    findings: dict[str, Finding] = {}
    known: Reference | None = None
    programs = ProgramChecks(task.states)
    for index, key in enumerate(catalog.KEYS):
        report(index / len(catalog.KEYS))
        findings[key], known = _finding(task, key, known)
        if known is not None and findings[key].verdict.compared:
            programs.compare(key, task.spaces, known)
    if known is None:
        reasons = "; ".join(f"{key}: {finding.verdict.reason}" for key, finding in findings.items())
        raise EngineError(
            f"model '{model.name}': verify has nothing to compare, because no formalism could be evaluated ({reasons}). "
            "Expected at least two. Use everything=True (--all on the command line) or another engine."
        )
    programs.compare_tree(task.first, known)
    rows = {name: row(task, known) for name, row in OTHER_METHODS.items()}
    report(1.0)
    return Agreement(
        model.name,
        len(task.states),
        tolerance,
        tuple(chosen),
        {key: finding.verdict for key, finding in findings.items()},
        (*_notes(task, states, findings), *map(_of_law, laws), *map(_of_contact, model.rigid)),
        {name: verdict for name, verdict in rows.items() if verdict is not None},
        programs.verdicts(tolerance),
    )


def _states(space: Workspace, count: int, seed: int) -> States:
    """Return `count` random states or fewer, at least one."""
    drawn = state_batch.consistent_states(space.model, 2 * count, seed=seed)
    regular = with_regular_speeds(space.model, space.facts, drawn)
    if len(regular):
        return States(regular.q[:, :count], regular.qd[:, :count], regular.t[:count])
    known = space.facts
    independent = ", ".join(known.levels.names[i] for i in known.rows) or "none"
    raise SingularError(
        f"model '{space.model.name}': verify has nothing to compare. At none of {len(drawn)} random states do the speeds "
        f"({', '.join(known.speed_names) or 'none'}) and the independent constraints ({independent}) determine the velocities. "
        "Expected at least one such state. Remove constraints that are nearly dependent, or declare other speeds."
    )


def _finding(task: VerificationTask, key: str, known: Reference | None) -> tuple[Finding, Reference | None]:
    """Compare one formulation; the first that can be evaluated becomes the reference."""
    about = catalog.find(key).ABOUT
    reason = catalog.unsupported_reason(about, task.first.model, task.first.facts)
    if reason is not None:
        return Finding(Verdict("refused", reason, None, None, about.lineage)), known
    worst, notes, at = list[tuple[float, float]](), list[str](), task.states
    reason = None if task.everything else catalog.slow_compilation_reason(about, task.first.model)
    if reason is not None:
        return Finding(Verdict("left out", reason, None, None, about.lineage)), known
    for space in task.spaces:
        try:
            equations = Equations(derivation_of(space.setup, key))
            if known is None:
                _, _, _, M = task.first.manifold.evaluate(at.q, at.qd, at.t, task.first.values)
                known = reference(equations, at, M, task.first.facts.scales)
            worst.append(largest_differences(equations, at, known))
        except EngineError as error:
            notes.append(f"{key} was left out on {space.engine}: {error}")
        except DalembertError as error:  # of this formulation: the others are still compared
            failed = f"it cannot be evaluated on {space.engine}: {error}"
            return Finding(Verdict("differs", failed, None, None, about.lineage)), known
    if worst:
        found = task.verdict_fields(max(a for a, _ in worst), max(r for _, r in worst))
    else:
        found = "refused", notes[-1], None, None
    return Finding(Verdict(*found, about.lineage), tuple(notes)), known


def recursion(task: VerificationTask, known: Reference) -> Verdict | None:
    """Compare the accelerations of the recursion from body to body, for a model of bodies."""
    model, at = task.first.declared, task.states
    if not model.bodies:
        return None
    qdd = tree_dynamics.forward_dynamics(model, at.q, at.qd, None, at.t, friction=True)
    return Verdict(*task.verdict_fields(difference_of_accelerations(qdd, known), None), RECURSION)


def dalemberts_principle(task: VerificationTask, known: Reference) -> Verdict:
    """Check accelerations and reactions with d'Alembert's principle, from positions and declarations only."""
    found = _principle.residual(task.first.declared, task.states, known.qdd, known.reaction)
    sizes = found.largest
    differences = (max(sizes["motion"], sizes["acceleration"]), sizes["reaction"])
    if not found.broken:
        return Verdict("agrees", None, *differences, PRINCIPLE)
    return Verdict("differs", _BROKEN[found.broken[0]], *differences, PRINCIPLE)


_BROKEN = {
    "motion": "the forces do virtual work on admissible displacements",
    "position": "the states violate the declared constraints on position level",
    "velocity": "the states violate the declared constraints on velocity level",
    "acceleration": "the accelerations violate the declared constraints",
    "reaction": "the reactions do not balance the applied and inertia forces",
}

# methods that are not formulations: None if not applicable to the model
OTHER_METHODS: Mapping[str, Callable[[VerificationTask, Reference], Verdict | None]] = {
    "recursion": recursion,
    "d'Alembert's principle": dalemberts_principle,
}


def _notes(task: VerificationTask, requested: int, findings: Mapping[str, Finding]) -> tuple[str, ...]:
    """Return notes on the verdicts."""
    out = [note for finding in findings.values() for note in finding.notes]
    if len(task.states) < requested:
        out.append(
            f"compared at {len(task.states)} of {requested} requested states: at the others the speeds and constraints do "
            "not determine the velocities well enough"
        )
    return tuple(out)


def _of_contact(known: Unilateral) -> str:
    """Return a note on the comparison of a rigid contact."""
    return (
        f"{known.title} is rigid: its force enters as {', '.join(known.parameters)}, here with the value 1; a run computes the "
        "values from the gaps"
    )


def _of_law(controller: Controller) -> str:
    inputs = ", ".join(f"{name} = {DEFAULT_INPUT:g}" for name in controller.inputs)
    return f"{controller.title} is not a formula and is not evaluated: the equations are compared with {inputs}"
