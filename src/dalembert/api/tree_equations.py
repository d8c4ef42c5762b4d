"""The equations of trees by the recursion itself: at any size, accelerations and motions in O(n)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dalembert.api.compiled_calls import calls_of
from dalembert.api.equations import Equations
from dalembert.api.trajectory import Trajectory
from dalembert.api.tree_simulation import Rates, run_tree
from dalembert.arguments import checked, is_whole, shown
from dalembert.errors import InputError
from dalembert.model.description import Description, Elements, parameter_changes
from dalembert.recursive.execution import MANY
from dalembert.recursive.plan import Plan
from dalembert.recursive.tree_state import read_state
from dalembert.simulation.derivation import Derivation
from dalembert.simulation.main_loop import Task
from dalembert.simulation.workspace import Setup


@dataclass(frozen=True, repr=False)
class TreeEquations(Equations):
    """The DeNOC equations of a tree, I θ̈ + C θ̇ = τ, run link by link: I and C are never made.

    What needs them, or the facts that other formalisms rest on, is computed on demand, and only for trees that are small enough.
    `simulate` takes the integrators dop853 (default), rk45 and rk4, at a cost of a step that is linear in the number of links;
    after each step quaternions are normalized unless `project` is False, and there is nothing to `rechoose`.

    >>> import dalembert as dl
    >>> eom = dl.derive(dl.load("rope", links=100), "denoc")
    >>> eom
    <Equations of 'rope' by denoc: 100 dynamic, 200 states>
    >>> eom.accelerations(np.zeros(100), np.zeros(100))[:2].round(6)
    array([-414.619386,  525.716316])
    >>> run = eom.simulate(0.1, samples=11)
    >>> run.q.shape, run.energy_error < 1e-9
    ((100, 11), True)
    """

    friction: bool = True  # False: friction in joints is left out
    execution: str | None = None  # how the recursion is run; None: as suits the model

    @cached_property
    def rates(self) -> Rates:
        """ẏ of states y = (q, s, work), compiled."""
        return Rates(calls_of(self.model.with_parameters(self.changes), self.engine, self.execution), self.friction)

    @property
    def plan(self) -> Plan:
        """The tree."""
        return self.rates.plan

    @property
    def model(self) -> Description:
        """The model, as it was when the equations were derived."""
        return self.derivation.setup.declared

    @property
    def engine(self) -> str:
        """`native` or `python`."""
        return self.derivation.setup.engine

    @property
    def n_dynamic(self) -> int:
        """The number of dynamic equations: one for each speed."""
        return self.plan.tree.n_speeds

    @property
    def n_states(self) -> int:
        """The number of state variables."""
        return self.plan.tree.n + self.plan.tree.n_speeds

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """None: nothing but joints holds a tree, and its quaternions keep their norms."""
        return ()

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """The names of the speeds: rates of coordinates, or ω for a quaternion."""
        return self.plan.tree.speed_names

    @property
    def working(self) -> tuple[str, ...]:
        """The loads besides gravity, each of whose work is a state: springs, too."""
        return self.rates.working

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen."""
        return ("run link by link: the matrices of the equations are not written out",)

    def loaded_model(self, model: Elements) -> Elements:
        """The model with the loads that act."""
        return self.plan.model if self.friction else self.plan.frictionless

    @property
    def _written(self) -> Equations:
        """The same equations written out."""
        n = self.plan.tree.n_speeds
        if n > MANY:
            raise InputError(
                f"the equations of '{self.model.name}' are run link by link: {n} speeds make them too long to be written out. "
                f"Expected at most {MANY}. What works at any size: accelerations, simulate, and `dl.dynamics(model)`; to read "
                "the equations, derive those of a smaller model of the same kind."
            )
        return Equations(self.derivation, self.changes)

    # what runs

    @checked
    def with_parameters(self, values: Mapping[Any, float] | None = None, **more: float) -> TreeEquations:
        """The same equations with other parameter values, by name or SymPy symbol."""
        changes = self.changes | parameter_changes(self.model, {**(values or {}), **more})
        self.model.with_parameters(changes).require_sound()
        return TreeEquations(self.derivation, changes, self.friction, self.execution)

    def accelerations(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, t: npt.ArrayLike = 0.0, *, threads: int = 1
    ) -> np.ndarray:
        """q̈ at states (n,) or (n, batch), whose work `threads` share; ṡ where `qd` are speeds."""
        if not is_whole(threads) or threads < 1:
            raise InputError(f"accelerations: threads is {shown(threads)}. Expected a whole number of at least 1.")
        state, n = read_state(self.plan, q, qd, t), self.plan.tree.n
        found = self.rates(state.t, np.concatenate([state.q, state.s]), threads)
        return state.shaped(state.second_rates(found[n : self.n_states]))

    def _stabilized_from(
        self, t: float, q: np.ndarray, qd: np.ndarray, gains: float | tuple[float, float]
    ) -> Equations:
        raise InputError(f"stabilization: got {shown(gains)}. A tree has no constraints to keep; leave it out.")

    def _run(self, task: Task) -> Trajectory:
        return run_tree(self, task)


def _written_out(name: str) -> property:
    return property(lambda equations: getattr(equations._written, name), doc=getattr(Equations, name).__doc__)


for _name in ("form", "symbolic", "kernel", "operations", "ignorable", "reasons", "blocks", "reading"):
    setattr(TreeEquations, _name, _written_out(_name))  # what needs the matrices of the equations


def equations_of_tree(model: Description, engine: str, execution: str | None, *, friction: bool) -> TreeEquations:
    """The equations of a tree of any size."""
    return TreeEquations(Derivation(Setup(model, engine), "denoc"), friction=friction, execution=execution)
