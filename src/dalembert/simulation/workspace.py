"""The derived and compiled quantities of a model on an engine, cached per process by the content of the model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from dalembert.codegen.function import CompiledFunction, choose_engine, compile_function, nodes
from dalembert.codegen.program import program_of
from dalembert.errors import InputError, suggest_name
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.common_quantities import free_equations, rheonomic_energy
from dalembert.formalisms.shared.linear_form import LinearForm, fused
from dalembert.formalisms.shared.quantities import About, Derived
from dalembert.mechanics.constraint_levels import constraint_wrenches, with_contacts
from dalembert.mechanics.energies import non_ideal_forces
from dalembert.mechanics.facts import Facts, PartitionChoice, facts_of
from dalembert.mechanics.joint_reactions import JointReactions, undetermined_joints
from dalembert.mechanics.system import System, system_of
from dalembert.model.description import Description, Elements
from dalembert.model.immutable import Frozen
from dalembert.simulation._spring_lengths import Lengths
from dalembert.simulation.constraint_manifold import Manifold
from dalembert.simulation.observables import Observables
from dalembert.simulation.right_hand_side import RightHandSide
from dalembert.symbolic.algebra_base import Array, stack, vector
from dalembert.symbolic.optimize import optimize


def count(form: LinearForm) -> int:
    """Operations for q̇ and v̇ at one state, the linear solve included."""
    system, (x, _) = form.system, fused(form)
    k, qd, own = len(form.velocity.v), form.velocity.qd, form.own_multipliers
    outputs = stack(qd, x) if own is None else stack(qd + own.S @ x[k:], x[:k])
    names = [str(y) for y in (*system.q, *form.velocity.v, system.t)]
    constants = [*system.model.parameter_values, *(str(c) for c in form.constants.symbols)]
    return program_of(optimize(nodes(system.algebra, outputs)), names, constants).operations


T = TypeVar("T")
Mode = Literal["fused", "assembled"]
Options = Frozen[str, Any]
Formulas = Callable[[System], Array]
MODES: tuple[Mode, ...] = ("fused", "assembled")


@dataclass(frozen=True)
class Setup:
    """The input of a derivation: a declared description, an engine, and the choices."""

    declared: Description
    engine: str
    mode: Mode | None = None  # None: the mode that the constraints require
    choice: PartitionChoice | None = None  # speeds and rows after a repartition


def setup(
    model: Elements, engine: str | None = None, mode: str | None = None, choice: PartitionChoice | None = None
) -> Setup:
    """The setup of a valid model."""
    if mode not in (None, *MODES):
        raise InputError(
            f"there is no mode '{mode}'. {suggest_name(mode or '', MODES)} Expected 'fused' or 'assembled'."
        )
    model.require_valid()
    return Setup(model.description, choose_engine(engine), mode, choice)


class Workspace:
    """The derived and compiled quantities of one setup, each computed at first use."""

    def __init__(self, known: Setup, facts: Facts | None = None) -> None:
        self.setup = known
        self.declared, self.engine = known.declared, known.engine
        self.model: Description = with_contacts(known.declared).description
        self._facts = facts
        self._machines: dict[tuple[str, Options], CompiledEquations] = {}
        self._functions: dict[Formulas, CompiledFunction] = {}
        self._memo: dict[Hashable, Any] = {}

    @cached_property
    def facts(self) -> Facts:
        """The structural facts of the model; not needed for large trees that run by recursion."""
        return self._facts or facts_of(self.model, self.setup.choice)

    def machine(self, formalism: str, options: Options | None = None) -> CompiledEquations:
        """The equations by one formalism; `options` are the arguments of its `derive` besides the system."""
        key = formalism, options or Frozen()
        if key not in self._machines:
            self._machines[key] = CompiledEquations(self, *key)
        return self._machines[key]

    def mode(self, about: About) -> Mode:
        """Assembled if a numerical solution is required: (nearly) dependent constraints, or a singular mass matrix."""
        known = self.facts
        if self.setup.mode == "assembled":
            return "assembled"
        dependent = (bool(known.dropped) and about.dependent_rows == "takes") or (
            known.nearly_dependent and not known.row_combinations
        )
        if self.setup.mode == "fused" and not dependent and known.regular_mass:
            return "fused"
        # the engine python solves numerically, so that the two engines share no solver
        return "assembled" if self.engine == "python" or dependent or not known.regular_mass else "fused"

    @cached_property
    def system(self) -> System:
        """The system shared by all formalisms, over the algebra of the engine."""
        return system_of(self.model, "rolled", self.facts, self.engine)

    @cached_property
    def symbolic(self) -> System:
        """The same system over SymEngine, for display."""
        return system_of(self.model, "symbolic", self.facts)

    @cached_property
    def manifold(self) -> Manifold:
        """The constraints as compiled functions."""
        return Manifold(self.system)

    def memoized(self, key: Hashable, make: Callable[[System], T]) -> T:
        """The result of `make(system)`, cached by key."""
        if key not in self._memo:
            self._memo[key] = make(self.system)
        return self._memo[key]

    @cached_property
    def lengths(self) -> Lengths:
        """The lengths of springs and dampers as a compiled function."""
        return Lengths(self.system)

    @cached_property
    def observables(self) -> Observables:
        """Energies, momenta and violations as compiled functions."""
        return Observables(self.system)

    @cached_property
    def moves_with_time(self) -> bool:
        """True if bodies move explicitly with time, so that T + V is not the Jacobi function."""
        return not self.system.algebra.is_zero(rheonomic_energy(self.system))

    def compiled(self, outputs: Array, *inputs: Array) -> CompiledFunction:
        """Outputs over the algebra of the engine as a compiled function of inputs and time, and of the parameters."""
        system, names = self.system, list(self.model.parameter_values)
        arguments = stack(*inputs, vector([system.t]))
        return compile_function(system.algebra, arguments, outputs, system.algebra.symbols(names), self.engine)

    def evaluated(
        self, make: Formulas, state: Sequence[np.ndarray], t: npt.ArrayLike, parameters: np.ndarray
    ) -> np.ndarray:
        """The outputs of `make(system)` at (q, q̇) or (q, q̇, q̈) and t, one state or many; compiled once for each `make`."""
        if make not in self._functions:
            system = self.system
            inputs = (system.q, system.qd, system.qdd)[: len(state)]
            self._functions[make] = self.compiled(make(system), *inputs)
        time = np.broadcast_to(np.asarray(t, dtype=float), state[0].shape[1:])[None]
        return self._functions[make](np.concatenate([*state, time]), parameters)

    def free_motion(
        self, q: np.ndarray, qd: np.ndarray, t: npt.ArrayLike, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """M (K, n, n) and h (K, n) at one state or many."""
        out = self.evaluated(_free_motion, (q, qd), t, parameters)
        n = len(q)
        columns = out.reshape(n * n + n, -1).T
        return columns[:, : n * n].reshape(-1, n, n), columns[:, n * n :]

    @property
    def values(self) -> np.ndarray:
        """The values of the parameters in order."""
        return np.array(list(self.model.parameter_values.values()), dtype=float)

    @cached_property
    def joint_reactions(self) -> JointReactions:
        """Forces and moments in the joints as compiled functions."""
        known = constraint_wrenches(self.declared, self.system.motion)
        return JointReactions(self.system, known, undetermined_joints(self.declared))


def _free_motion(system: System) -> Array:
    """M and h of the motion without constraints, from the energies."""
    M, h = free_equations(system)
    C = non_ideal_forces(system.motion)
    return stack(M.ravel(), h if C is None else h + C)


class CompiledEquations:
    """The equations by one formalism, derived and compiled at first use."""

    def __init__(self, workspace: Workspace, formalism: str, options: Options) -> None:
        self._module, self._options, self._workspace = catalog.find(formalism), options, workspace

    def derive(self, system: System, **more: object) -> Derived:
        """The derivation over one algebra and in one notation."""
        return self._module.derive(system, **self._options, **more)

    @cached_property
    def derived(self) -> Derived:
        """The derivation over the algebra of the engine."""
        return self.derive(self._workspace.system)

    @property
    def form(self) -> LinearForm:
        """The form over the algebra of the engine."""
        return self.derived.form

    @cached_property
    def symbolic(self) -> LinearForm:
        """The form over SymEngine, for display."""
        return self.derive(self._workspace.symbolic).form

    @cached_property
    def kernel(self) -> RightHandSide:
        """The compiled equations."""
        return RightHandSide(self.form, self.form.reaction, self._workspace.mode(self._module.ABOUT))

    @cached_property
    def operations(self) -> int:
        """The number of arithmetic operations in one evaluation of the right-hand side."""
        return count(self.form)


_MAX_WORKSPACES = 64  # maximum number of cached workspaces
_WORKSPACES: OrderedDict[Setup, Workspace] = OrderedDict()
_LOCK = RLock()


def workspace_of(known: Setup, facts: Facts | None = None) -> Workspace:
    """The workspace of a setup, cached by content: the only cache of compiled code in this process; the oldest are evicted."""
    with _LOCK:
        if known not in _WORKSPACES:
            _WORKSPACES[known] = Workspace(known, facts)
        _WORKSPACES.move_to_end(known)
        while len(_WORKSPACES) > _MAX_WORKSPACES:
            _WORKSPACES.popitem(last=False)
        return _WORKSPACES[known]


def forget_workspaces() -> None:
    """Clear the cache; existing equations derive or compile again what they need."""
    with _LOCK:
        _WORKSPACES.clear()
