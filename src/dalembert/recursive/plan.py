"""What is worked out once for a model and used at every state: its tree, its constant facts and its constraints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dalembert.mechanics.constraint_levels import Levels, levels
from dalembert.mechanics.contact_constraints import with_contacts
from dalembert.mechanics.state_batch import row_sizes
from dalembert.model.description import Description, Elements
from dalembert.model.scales import Scales, scales_of
from dalembert.recursive.link_frames import aligned
from dalembert.recursive.link_states import Fixture
from dalembert.recursive.load_forces import loaded
from dalembert.recursive.tree import Tree, tree_of


@dataclass(frozen=True, eq=False)
class Plan:
    """A model prepared for numbers: parameters have their default values."""

    tree: Tree
    parameters: dict[str, float]
    fixtures: tuple[Fixture, ...]
    frictionless: Elements  # with the loads that act where friction is left out
    model: Elements  # with all loads; contacts are formulas, norms of quaternions are left to the speeds
    levels: Levels
    scales: Scales

    @cached_property
    def units(self) -> np.ndarray:
        """The scale of what each speed moves: a radian for ω of a quaternion, else that of its coordinate."""
        out = np.ones(self.tree.n_speeds)
        for i, column in enumerate(self.tree.columns):
            if column is not None:
                out[column] = self.scales.q[i]
        return out

    @cached_property
    def sizes(self) -> np.ndarray:
        """How large each constraint row is by nature."""
        return row_sizes(self.model, self.levels, self.scales)

    @property
    def constrained(self) -> bool:
        """True when something besides the joints holds the bodies."""
        return bool(self.levels.names)


def plan_of(model: Elements) -> Plan:
    """The plan of a model, found once for its content; a model that is not sound is refused.

    >>> from dalembert.model.model import Model
    >>> model = Model("slider").coordinates("x")
    >>> _ = model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass=2)
    >>> plan_of(model) is plan_of(model)
    True
    """
    return _plan(model.description)


@lru_cache(maxsize=64)
def _plan(model: Description) -> Plan:
    model.require_sound()
    model.refuse_laws("dynamics", "Take the model without this load, and pass what the law gives as tau.")
    links = tree_of(model)
    written = _without_norms(with_contacts(model), len(model.holonomic_constraints), model)
    values = dict(model.parameter_values)
    return Plan(
        links,
        values,
        aligned(links, values),
        loaded(written, friction=False),
        written,
        levels(written),
        scales_of(model),
    )


def forget_plans() -> None:
    """Empty the store of plans; they are found again when they are asked for."""
    _plan.cache_clear()


def _without_norms(written: Elements, declared: int, model: Elements) -> Elements:
    """The model without the norms of quaternions, which stand behind the declared holonomic constraints."""
    norms = sum(joint.quaternion for body in model.bodies for joint in body.joints)
    rest = written.holonomic_constraints[:declared] + written.holonomic_constraints[declared + norms :]
    return written.replaced(holonomic_constraints=rest)
