"""What acts along a run: reactions, multipliers, drives, inputs, loads, and what joints carry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.arguments import checked
from dalembert.errors import InputError
from dalembert.mechanics import rank
from dalembert.mechanics.facts import Facts
from dalembert.mechanics.joint_reactions import JointForces
from dalembert.model.description import Elements
from dalembert.simulation.energy_balance import Balance
from dalembert.simulation.load_outputs import drive_names, joint_efforts, load_forces
from dalembert.simulation.partition import Part
from dalembert.simulation.right_hand_side import Kernel
from dalembert.simulation.run_states import columns_apart

if TYPE_CHECKING:
    from dalembert.api.equations import Equations


def joint_reactions(
    equations: Equations,
    values: np.ndarray,
    frame: str,
    state: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> JointForces:
    """The joint reactions at (q, q̇, q̈, t, λ), one state or many."""
    model = equations.model
    if not model.bodies:
        raise InputError(f"model '{model.name}' is given by its energies, so it has no joints. Describe it by bodies.")
    if frame not in ("world", "parent", "child"):
        raise InputError(f"joint_reactions: there is no frame '{frame}'. Expected 'world', 'parent' or 'child'.")
    return equations.workspace.joint_reactions.along(*state, values, frame)


def smallest_multipliers(known: Facts, A: np.ndarray, reaction: np.ndarray) -> np.ndarray:
    """The smallest λ with Aᵀλ = reaction; A (k, n) or (k, n, batch), reaction (n,) or (n, batch)."""
    rows, force = np.moveaxis(A, (0, 1), (-2, -1)), np.moveaxis(reaction, 0, -1)
    return np.moveaxis(rank.smallest_multipliers(rows, force, known.scales.positions, len(known.rows)), -1, 0)


@dataclass(frozen=True, repr=False)
class Forces(Balance):
    """Forces and moments along a run."""

    @cached_property
    def reactions(self) -> np.ndarray:
        """The generalized reaction forces Aᵀλ + C along the run, (n, samples): ideal and non-ideal part together."""
        return self._evaluated(Kernel.reactions)

    @cached_property
    def ideal_reactions(self) -> np.ndarray:
        """The first part of (3.47) in papers/poincare along the run, (n, samples): the reactions if C were zero."""
        return self._evaluated(Kernel.ideal_reactions)

    @property
    def non_ideal_reactions(self) -> np.ndarray:
        """The second part of (3.47) in papers/poincare along the run, (n, samples): what C adds to the reactions."""
        return self.reactions - self.ideal_reactions

    @cached_property
    def multipliers(self) -> np.ndarray:
        """λ of M q̈ = h + C + Aᵀλ along the run, one row for each of `constraint_names`; the smallest where not unique.

        With constraints on momenta it is Λ of (5.291) and (5.292) in papers/desapio: see `Equations.multipliers`.
        """
        if self.equations.form.constrains_momenta:
            return self._evaluated(lambda kernel, *state: kernel.accelerations(*state)[2])
        if self.changed_charts:
            return self._together(self._multipliers_along)
        _, _, A, _ = self.used.workspace.manifold.evaluate(self.q, self.qd, self.t, self.values)
        return smallest_multipliers(self.equations.workspace.facts, A, self._evaluated(Kernel.carried))

    def _multipliers_along(self, part: Part) -> np.ndarray:
        """λ along a stretch, by the rows in its coordinates."""
        apart = columns_apart(part)
        (q, _, t, _), space = apart, self.integrated(part).workspace
        qd = part.equations.kernel.accelerations(*apart)[0]
        _, _, A, _ = space.manifold.evaluate(q, qd, t, self._values_along(part))
        return smallest_multipliers(space.facts, A, part.equations.kernel.carried(*apart))

    @cached_property
    def drives(self) -> dict[str, np.ndarray]:
        """What every drive exerts along the run, by name: torques and forces in joints, and the λ of prescribed motions.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().drive("theta", "pi/2 + 0*t")
        >>> run = dl.simulate(model, 1.0, samples=3)  # held level: τ = m g l
        >>> run.drives["drive of theta"].round(9).tolist()
        [9.81, 9.81, 9.81]
        """
        model, values = self.used.model, self._named
        names = [name for name in self.constraint_names if name in drive_names(model)]
        rows = dict(zip(self.constraint_names, self.multipliers, strict=True)) if names else {}
        return joint_efforts(model, values, self.t, self.q, self.qd) | {name: rows[name] for name in names}

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """What laws in Python gave along the run, by the name of their load: (samples,), or (3, samples) for a force.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().actuator("bob", law=lambda t, state: 2 * t, name="motor")
        >>> dl.simulate(model, 1.0, samples=3).inputs["motor"]
        array([0., 1., 2.])
        """
        known, out = self.equations.model.inputs, dict[str, np.ndarray]()
        for controller in known.controllers:
            for load in controller.loads:
                rows = self.values[known.rows(controller.of_load(load))]
                out[load] = rows if len(rows) > 1 else rows[0]
        return out

    @cached_property
    def load_forces(self) -> dict[str, np.ndarray]:
        """What every load exerts along the run, by name: world axes (3, samples), or along the motion of its joint (1, samples).

        Between two points it is the pull on the second.

        >>> import dalembert as dl
        >>> model = dl.load("simple-pendulum").copy().joint_torque("bob", "2*t", name="motor")
        >>> dl.simulate(model, 1.0, samples=3).load_forces["motor"]
        array([[0., 1., 2.]])
        """
        return load_forces(self._loaded, self._named, self.t, self._places_apart, self.qd)

    @property
    def _loaded(self) -> Elements:
        """The model with the loads that act."""
        return self.used.model

    @property
    def knows_joints(self) -> bool:
        """True where `joint_reactions` can be asked for: bodies, and constraints that are not on momenta."""
        return bool(self.equations.model.bodies) and not self.equations.model.canonical_constraints

    @checked
    def joint_reactions(self, frame: str = "world") -> JointForces:
        """The force and moment in the joints along the run, by the name of the child body.

        What the parent exerts on the child through the joint, drives included, at the place of the joint, in the
        axes of `frame`: `world`, `parent` or `child`. A constraint that is a formula of one coordinate, and C of non-ideal
        ones, act through their coordinates, as drives do; contacts (knife edges, rolling discs) act at their place. A formula
        of several coordinates does not say where its force acts: the joints between its bodies are not determined and left
        out, see `undetermined` and `notes` of the result. The generalized forces are in `reactions`.

        >>> import dalembert as dl
        >>> found = dl.simulate("slider-crank-2", 0.1, samples=2).joint_reactions()
        >>> list(found), found.undetermined
        ([], {'link1': ('slider',), 'link2': ('slider',)})
        """
        if not self.changed_charts:
            state = (self._places_apart, self.qd, self.qdd, self.t, self.multipliers)
            return joint_reactions(self.used, self.values, frame, state)
        found = [self._joint_reactions_along(part, frame) for part in self.parts]
        together = {
            name: replace(
                each,
                force=self._end_to_end([along[name].force for along in found]),
                moment=self._end_to_end([along[name].moment for along in found]),
            )
            for name, each in found[0].items()
        }
        return JointForces(together, found[0].undetermined)

    def _joint_reactions_along(self, part: Part, frame: str) -> JointForces:
        """The same along a stretch, in the coordinates it was integrated in."""
        apart = columns_apart(part)
        (q, _, t, _), (qd, qdd) = apart, part.equations.kernel.accelerations(*apart)[:2]
        state = (q, qd, qdd, t, self._multipliers_along(part))
        return joint_reactions(self.integrated(part), self._values_along(part), frame, state)
