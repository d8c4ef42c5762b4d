"""Equations from models: written out, or, for trees too large for that, as the recursion itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dalembert.api.derivation import Derivation, derivation_of
from dalembert.api.equation_reader import with_modules
from dalembert.api.equations import Equations
from dalembert.api.tree_equations import TreeEquations
from dalembert.api.trial_vectors import Trial, with_trials
from dalembert.api.workspace import Setup, setup
from dalembert.formalisms import denoc
from dalembert.mechanics.facts import Choice
from dalembert.model.description import Elements
from dalembert.recursive.execution import MANY, choose_execution
from dalembert.recursive.plan import plan_of


def equations_of(
    model: Elements,
    formalism: str,
    *,
    engine: str | None = None,
    mode: str | None = None,
    choice: Choice | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
    trials: Sequence[Trial] | None = None,
) -> Equations:
    """The equations of a model by one formalism, derived.

    `modules` are named groups of links, for `denoc`; `trials` the trial vectors of `phong`.
    """
    found = derived(setup(model, engine, mode, choice), formalism)
    if modules is not None:
        found = replace(found, derivation=with_modules(found.derivation, modules))
    return found if trials is None else replace(found, derivation=with_trials(found.derivation, trials))


def equations_by(model: Elements, formalisms: Sequence[str]) -> list[Equations]:
    """The equations of a model by several formalisms, derived; the model is set up once."""
    known = setup(model)
    return [derived(known, formalism) for formalism in formalisms]


def derived(known: Setup, formalism: str, alpha: float = 0.0) -> Equations:
    """The equations by one formalism; those of a large tree by `denoc` are not written out."""
    if formalism == denoc.ABOUT.key and _rolls(known):
        return TreeEquations(Derivation(known, formalism))
    found = Equations(derivation_of(known, formalism, alpha))
    found.form  # noqa: B018 (what cannot be derived is told here)
    return found


def _rolls(known: Setup) -> bool:
    """True for a tree that is better run in loops over its links than written out."""
    model = known.declared
    written_out = (
        model.energies is not None or model.canonical_constraints or model.events or model.controllers or model.rigid
    )
    if len(model.generalized_coordinates) <= MANY or written_out:
        return False
    if known.mode is not None or known.choice is not None:
        return False
    return choose_execution(plan_of(model), "forward", None, known.engine) == "rolled"
