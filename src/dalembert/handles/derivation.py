"""A derivation as a value: what was derived, by which formalism, and the facts it rests on. Compiled code stays behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from dalembert import formalisms
from dalembert.equations import About
from dalembert.errors import InputError, NotApplicableError
from dalembert.handles.workspace import Machine, Setup, Workspace, workspace_of
from dalembert.model.frozen import Frozen, Value
from dalembert.structure import Choice, Facts, facts_of


@dataclass(frozen=True)
class Derivation(Value):
    """One model by one formalism."""

    setup: Setup
    formalism: str
    known: Facts | None = field(
        default=None, compare=False, repr=False
    )  # they follow from the setup; None: not asked yet
    alpha: float = 0.0  # of ċ = −αc, where the formalism has it
    modules: Frozen[str, tuple[str, ...]] | None = (
        None  # the bodies of each kinematic module, where the user names them
    )
    trials: tuple[tuple[float, ...], ...] | None = None  # the trial vectors of phong, where the user names them

    @property
    def about(self) -> About:
        """What the formalism says of itself."""
        return formalisms.find(self.formalism).ABOUT

    @property
    def told(self) -> dict[str, object]:
        """What its blocks and steps are told besides the system."""
        return {} if self.modules is None else {"modules": self.modules}

    @cached_property
    def workspace(self) -> Workspace:
        """What is compiled for the setup, from the store of this process."""
        return workspace_of(self.setup, self.known)

    @property
    def facts(self) -> Facts:
        """What is known of the model."""
        return self.workspace.facts

    @cached_property
    def machine(self) -> Machine:
        """The equations, derived and compiled."""
        options: dict[str, object] = {"alpha": self.alpha} if self.alpha else {}
        return self.workspace.machine(
            self.formalism, Frozen(options if self.trials is None else {"trials": self.trials})
        )

    @cached_property
    def free_parameters(self) -> dict[str, float]:
        """The parameters that cannot change the structure as long as they keep their sign, with the model's values."""
        known = self.setup.declared.parameter_values
        if self.machine.form.constants.symbols.size and not self.facts.generic:
            return {}
        return {name: value for name, value in known.items() if value and name not in self.facts.structural}

    def with_choice(self, choice: Choice) -> Derivation:
        """The same model by the same formalism with other speeds, independent constraints and dependent coordinates.

        Dependent coordinates replace the user's trial vectors.
        """
        other = replace(self.setup, choice=choice)
        trials = None if choice.dependent else self.trials
        return replace(self, setup=other, known=workspace_of(other).facts, trials=trials)

    def require_same_structure(self, changes: Mapping[str, float]) -> None:
        """Raise when other values of parameters change which constraints are independent or which coordinates ignorable."""
        free = self.free_parameters
        if all(name in free and value * free[name] > 0 for name, value in changes.items()):
            return
        changed = self.workspace.model.with_parameters(changes)
        changed.require_sound()
        now = facts_of(changed, self.setup.choice)
        lost = set(self.facts.ignorable) - set(now.ignorable) if self.machine.form.constants.symbols.size else set()
        if now.rows != self.facts.rows or lost:
            names = changed.coordinate_names
            what = (
                f"{', '.join(names[i] for i in sorted(lost))} would no longer be ignorable"
                if lost
                else "other constraints would be independent"
            )
            raise InputError(
                f"parameters {dict(changes)}: with these values {what}, so the derived equations do not hold. "
                "Derive again from model.with_parameters(...)."
            )


def derivation_of(known: Setup, formalism: str, alpha: float = 0.0) -> Derivation:
    """The derivation by a formalism that can treat the model; else which element stands against it, and which formalisms can."""
    about, space = formalisms.find(formalism).ABOUT, workspace_of(known)
    reason = formalisms.refusal(about, space.model, space.facts)
    if reason is not None:
        able = ", ".join(formalisms.applicable(space.model, space.facts)) or "none"
        raise NotApplicableError(
            f"formalism '{about.key}' cannot treat model '{space.model.name}': {reason}. Formalisms that can: {able}."
        )
    return Derivation(known, about.key, space.facts, alpha)
