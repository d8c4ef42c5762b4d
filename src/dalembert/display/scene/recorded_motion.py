"""Samples of a run for the page: coordinates, time histories and arrows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display.math.symbol_names import for_text
from dalembert.display.scene._layout import Layout
from dalembert.display.scene.scene_values import Arrow, Channel, Poses, PosesByBody, Recorded, to_world
from dalembert.display.units import Units, units_of
from dalembert.model.description import Elements
from dalembert.model.loads.force import Force
from dalembert.model.loads.torque import Torque
from dalembert.model.values import WORLD
from dalembert.symbolic.symbols import SymbolKind

if TYPE_CHECKING:
    from dalembert.mechanics.joint_reactions import JointReaction
    from dalembert.simulation.trajectory_data import TrajectoryData

_MAX_NUMBERS = 400_000  # in all time histories together; longer runs are thinned
_MAX_BODIES = 40  # with arrows; more would hide the mechanism
_ARROW_LENGTH = 0.6  # of a long arrow, in lengths of the mechanism
History = tuple[str, str, str, str, str, np.ndarray]  # key, name, label, unit, group, values


@dataclass(frozen=True)
class Acting:
    """A force along a run."""

    name: str
    kind: str
    body: str
    point: np.ndarray
    vector: np.ndarray


def recorded_of(run: TrajectoryData, layout: Layout, poses: Poses, unit: float) -> Recorded:
    """Return the samples of a run, thinned if there are too many."""
    # joint reactions, if the run has them and they are not too many
    reactions = {} if len(run.model.bodies) > _MAX_BODIES else run.joints or {}
    plain, rows = _samples(run, reactions)
    at = poses.at(run.q[:, rows], run.t[rows])
    forces = [*_in_joints(reactions, layout, at, rows), *_weights(layout, at), *_loads(run, layout, at, rows)]
    return replace(plain, arrows=tuple(_arrows(forces, units_of(run), unit)))


def histories_of(run: TrajectoryData) -> Recorded:
    """Return the samples of a run without drawing, for a model that is defined by energies.

    >>> import dalembert as dl
    >>> model = dl.Model.from_energies("ball", coordinates=["x"], kinetic="dot(x)**2/2", potential="9.81*x")
    >>> [channel.key for channel in histories_of(dl.simulate(model, 1.0, samples=11)).channels[:3]]
    ['x', 'dot(x)', 'ddot(x)']
    """
    return _samples(run, {})[0]


def _samples(run: TrajectoryData, reactions: Mapping[str, JointReaction]) -> tuple[Recorded, np.ndarray]:
    """Return the samples without arrows, and their indices in the run."""
    channels = [*_coordinates(run), *_energies(run), *_constraints(run), *_joints(run, reactions), *_efforts(run)]
    every = max(1, -(-len(run.t) * (len(channels) + 3 * len(reactions)) // _MAX_NUMBERS))
    rows = np.unique(np.append(np.arange(0, len(run.t), every), len(run.t) - 1))
    thinned = tuple(Channel(*head, values=values[rows]) for *head, values in channels)
    return Recorded(run.formalism, run.t[rows], run.q[:, rows], run.qd[:, rows], run.qdd[:, rows], thinned, ()), rows


def recorded_motion(name: str, model: Elements, t: np.ndarray, q: np.ndarray) -> Recorded:
    """Return positions (n, k) along any motion, such as a mode shape, with their histories; rates are differences."""
    rates = np.gradient(q, t, axis=1)
    channels = tuple(
        Channel(*head, values=values) for *head, values in _positions(model.coordinate_names, Units(model), q)
    )
    return Recorded(name, t, q, rates, np.gradient(rates, t, axis=1), channels, ())


def _arrows(acting: Sequence[Acting], units: Units, unit: float) -> Iterator[Arrow]:
    """Return the arrows: one scale for forces, one for torques."""
    for torques, name in ((False, "N"), (True, "N·m")):
        found = [each for each in acting if (each.kind == "torque") is torques]
        # length per unit of force, common to all: the strongest is shorter than `_ARROW_LENGTH` in 90 % of the samples
        sizes = [float(np.percentile(np.linalg.norm(each.vector, axis=0), 90)) for each in found]
        largest = max((size for size in sizes if np.isfinite(size)), default=0.0)
        scale, unit_label = (_ARROW_LENGTH * unit / largest if largest > 0 else 0.0), units.label(name)
        for each in found:
            yield Arrow(each.name, each.kind, each.body, each.point, each.vector, unit_label, scale)


# time histories


def _positions(names: Sequence[str], units: Units, q: np.ndarray) -> Iterator[History]:
    for name, values in zip(names, q, strict=True):
        yield name, name, for_text(name), units.label(units.coordinate(name)), "coordinates", values


def _coordinates(run: TrajectoryData) -> Iterator[History]:
    names, units = run.model.coordinate_names, units_of(run)
    yield from _positions(names, units, run.q)
    for name, values in zip(names, run.qd, strict=True):
        rate = SymbolKind.RATE.of(name)
        yield rate, rate, for_text(rate), units.label(units.rate(name)), "speeds", values
    for name, values in zip(names, run.qdd, strict=True):
        second, unit = SymbolKind.ACCELERATION.of(name), units.label(units.rate(name))
        yield second, second, for_text(second), f"{unit}²" if unit.endswith("s") else "", "accelerations", values


def _energies(run: TrajectoryData) -> Iterator[History]:
    unit = units_of(run).label("J")
    for key, label, values in (
        ("kinetic", "T", run.kinetic),
        ("potential", "V", run.potential),
        ("energy", "T + V", run.energy),
        ("balance", "T + V − W", run.balance),
    ):
        yield key, key, label, unit, "energy", values
    for name, values in run.work.items():
        yield SymbolKind.WORK.of(name), f"work of {name}", f"W {name}", unit, "work", values


def _constraints(run: TrajectoryData) -> Iterator[History]:
    units = units_of(run)
    for name, values in zip(run.violation_names, run.violation, strict=True):
        yield f"violation {name}", name, name, units.label(units.violation(name)), "violation", values
    for name, values in zip(run.constraint_names, run.multipliers, strict=True):
        yield f"lambda {name}", name, f"λ {name}", units.label(units.multiplier(name)), "multipliers", values


def _joints(run: TrajectoryData, reactions: Mapping[str, JointReaction]) -> Iterator[History]:
    label = units_of(run).label
    for name, found in reactions.items():
        for letter, what, unit, vector in (("F", "force", "N", found.force), ("M", "moment", "N·m", found.moment)):
            size = np.linalg.norm(vector, axis=0)
            yield f"{what} {name}", f"{what} in the joint of {name}", f"{letter} {name}", label(unit), "reactions", size


def _efforts(run: TrajectoryData) -> Iterator[History]:
    units = units_of(run)
    for name, values in (run.efforts or {}).items():
        yield f"effort {name}", name, name, units.label(units.drive(name)), "efforts", values


# arrows


def _in_joints(
    reactions: Mapping[str, JointReaction], layout: Layout, at: PosesByBody, rows: np.ndarray
) -> Iterator[Acting]:
    loops = {loop.name: loop for loop in layout.model.loops}
    for name, found in reactions.items():
        if name in loops:
            first, second = loops[name].bodies
            on, point = (second, loops[name].position) if second != WORLD else (first, loops[name].joint.position)
            body, point = on, layout.vector(point)
        elif layout.placed[name].floats:
            continue
        else:
            body, point = name, layout.placed[name].joint_pose.p
        yield Acting(name, "reaction", body, to_world(at, body, point), found.force[:, rows])


def _loads(run: TrajectoryData, layout: Layout, at: PosesByBody, rows: np.ndarray) -> Iterator[Acting]:
    """Yield forces and torques of the loads on bodies."""
    for load in layout.model.loads:
        if isinstance(load, Force | Torque) and run.loads is not None:
            point = load.point if isinstance(load, Force) else None
            point = layout.placed[load.body].center if point is None else layout.vector(point)
            yield Acting(load.name, load.kind, load.body, to_world(at, load.body, point), run.loads[load.name][:, rows])


def _weights(layout: Layout, at: PosesByBody) -> Iterator[Acting]:
    gravity = layout.vector(layout.model.gravity)
    for name, placed in layout.placed.items():
        if placed.mass > 0 and np.any(gravity):
            point = to_world(at, name, placed.center)
            force = np.outer(placed.mass * gravity, np.ones(point.shape[1]))
            yield Acting(f"weight of {name}", "gravity", name, point, force)
