"""Everything about one model on one engine that several formalisms share, found once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from dalembert.algebra import default_name, stack, vector
from dalembert.algebra.base import MAX_CHOICES
from dalembert.analysis.observables import Observables
from dalembert.analysis.reactions import JointReactions
from dalembert.equations import About
from dalembert.equations.free_motion import free_motion
from dalembert.errors import EngineError, InputError, nearest
from dalembert.kernels import Function, Lengths, Manifold, compile_function
from dalembert.kinematics import non_ideal_forces
from dalembert.kinematics.contacts import pushes, with_contacts
from dalembert.model import Elements
from dalembert.structure import Facts, System, facts_of, system_of

ENGINES = {"heyoka": "fast", "portable": "graph"}
MODES = ("fused", "assembled")


def choose_engine(name: str | None) -> str:
    """`heyoka` or `portable`; None takes heyoka where it is installed.

    >>> choose_engine("portable")
    'portable'
    """
    best = "heyoka" if default_name() == "fast" else "portable"
    if name is None:
        return best
    if name not in ENGINES:
        raise InputError(f"there is no engine '{name}'. {nearest(name, ENGINES)} Expected 'heyoka' or 'portable'.")
    if name == "heyoka" and best != "heyoka":
        raise EngineError(
            "the engine 'heyoka' is not installed here. Use engine='portable', or install heyoka (Linux)."
        )
    return name


class Workspace:
    """One model on one engine."""

    def __init__(
        self, model: Elements, engine: str | None = None, mode: str | None = None, rows: tuple[int, ...] | None = None
    ) -> None:
        if mode not in (None, *MODES):
            raise InputError(
                f"there is no mode '{mode}'. {nearest(mode or '', MODES)} Expected 'fused' or 'assembled'."
            )
        self._mode, self._rows = mode, rows
        model.require_sound()
        self.declared = model.description
        self.model = with_contacts(self.declared)
        # heyoka writes a table as choices, which takes it too long for long ones
        self.engine = choose_engine(engine or ("portable" if self.model.longest_table > MAX_CHOICES else None))

    def mode(self, about: About) -> Literal["fused", "assembled"]:
        """Assembled where a solve in numbers is needed: (nearly) dependent constraints, or a singular mass matrix."""
        known = self.facts
        if self._mode == "assembled":
            return "assembled"
        dependent = (bool(known.dropped) and about.redundant == "takes") or (known.nearly_dependent and not known.mix)
        return "assembled" if self.engine == "portable" or dependent or not known.regular_mass else "fused"

    @cached_property
    def facts(self) -> Facts:
        """Rank, ignorable coordinates, choice of speeds."""
        return facts_of(self.model, self._rows)

    @cached_property
    def system(self) -> System:
        """The facts every formalism shares, over the algebra of the engine."""
        return system_of(self.model, ENGINES[self.engine], self.facts)

    @cached_property
    def symbolic(self) -> System:
        """The same facts over SymEngine, for reading."""
        return system_of(self.model, "symbolic", self.facts)

    @cached_property
    def manifold(self) -> Manifold:
        """The constraints as compiled functions."""
        return Manifold(self.system)

    @cached_property
    def lengths(self) -> Lengths:
        """The lengths of springs and dampers as a compiled function."""
        return Lengths(self.system)

    @cached_property
    def observables(self) -> Observables:
        """Energies, momenta and violations as compiled functions."""
        return Observables(self.system)

    @cached_property
    def _free_motion(self) -> Function:
        """M and h of the motion without constraints, from the energies."""
        system = self.system
        M, h = free_motion(system)
        C = non_ideal_forces(system.motion)
        outputs = stack(M.ravel(), h + C if len(C) else h)
        parameters = system.algebra.symbols(list(self.model.parameter_values))
        inputs = stack(system.q, system.qd, vector([system.t]))
        return compile_function(system.algebra, inputs, outputs, parameters)

    def free_motion(
        self, q: np.ndarray, qd: np.ndarray, t: npt.ArrayLike, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """M (K, n, n) and h (K, n) at one state or many."""
        time = np.broadcast_to(np.asarray(t, dtype=float), q.shape[1:])[None]
        out = self._free_motion(np.concatenate([q, qd, time]), parameters)
        n = len(q)
        columns = out.reshape(n * n + n, -1).T
        return columns[:, : n * n].reshape(-1, n, n), columns[:, n * n :]

    @cached_property
    def joint_reactions(self) -> JointReactions:
        """Forces and moments in the joints as compiled functions."""
        return JointReactions(self.system, pushes(self.declared, self.system.motion))

    def values(self, changes: Mapping[str, float] | None = None) -> np.ndarray:
        """The values of the parameters in their order, with changes."""
        chosen = self.model if not changes else self.model.with_parameters(changes)
        return np.array(list(chosen.parameter_values.values()), dtype=float)
