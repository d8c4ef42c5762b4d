"""Equations from models: written out, or, for trees too large for that, as the recursion itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dalembert.api.equation_reader import with_modules
from dalembert.api.equations import Equations
from dalembert.api.load import Source, described
from dalembert.api.trajectory import Trajectory
from dalembert.api.tree_equations import TreeEquations
from dalembert.api.trial_vectors import Trial, with_trials
from dalembert.arguments import checked
from dalembert.formalisms import denoc
from dalembert.mechanics.facts import Choice
from dalembert.model.description import Elements
from dalembert.recursive.execution import MANY, choose_execution
from dalembert.recursive.plan import plan_of
from dalembert.simulation.derivation import Derivation, derivation_of
from dalembert.simulation.workspace import Setup, setup


@checked
def derive(
    model: Source,
    formalism: str = "lagrange",
    *,
    engine: str | None = None,
    mode: str | None = None,
    modules: Mapping[str, Sequence[str]] | None = None,
    trials: Sequence[Trial] | None = None,
) -> Equations:
    """The equations of motion of a model by one formalism.

    `engine` is native or python. `mode` is fused (the whole right-hand side is one graph) or assembled (a rank-revealing
    solve in numbers at every step, for constraints whose rank changes along the way); by default the program chooses.
    `modules` are for denoc: kinematic modules by name, each a serial chain of bodies, which its blocks and steps then go through.
    `trials` are for phong: the trial vectors of its second step, names of coordinates or n numbers each. All that serve give the
    same motion; D is longer or shorter, and may vanish at other places.

    >>> derive("cart-pendulum", "gibbs_appell").n_states
    5
    """
    return equations_of(described(model), formalism, engine=engine, mode=mode, modules=modules, trials=trials)


def simulate(
    model: Source, duration: float | None = None, *, formalism: str = "lagrange", **options: Any
) -> Trajectory:
    """The motion of a model from its initial state; options as in `Equations.simulate`."""
    return derive(model, formalism).simulate(duration, **options)


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
