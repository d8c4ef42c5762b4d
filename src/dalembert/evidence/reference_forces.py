"""The virtual work of everything that pushes, in the words of the declarations: nothing comes from `mechanics/applied_forces`.

Each entry is the work done in a unit change of every coordinate at fixed time, δW / δq_i. Loads say theirs in their own files
(`declared`): a force works on the change of its point, a couple on the turn of its body, a pull between two points on the change
of their distance, a force in a joint on the motion of the joint. Inertia works on every material point:

    −∫ r̈·δr dm = −m r̈_G·δr_G − Σ S_ab R̈_a·δR_b,     S = ∫ x xᵀ dm = ½ tr(I) 1 − I

with R_a the axes of the body, so that no formula of rotation is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.evidence.numeric_differentiation import Watch
from dalembert.model.elements import Body
from dalembert.model.reference_model import Traced, Work, axes_of, on_point, point_of, product
from dalembert.symbolic.taylor_numbers import series


def declared_work(watch: Watch) -> list[Work]:
    """Inertia, gravity, rotors and loads, or the energies that the model is given by."""
    if watch.model.energies is not None:
        return list(_energies(watch))
    works = [work for body in watch.model.bodies for work in _of_body(watch, body)]
    works += [load.declared(watch) for load in watch.model.loads if not load.in_joints]
    return works + joint_work(watch)


def joint_work(watch: Watch) -> list[Work]:
    """What drives the joints from inside: rotors, torques, springs and friction."""
    works = []
    for rotor in watch.model.rotors:
        turn = watch.traced(lambda places, r=rotor: places.value(r.body, r.joint, r.motion))
        inertia = watch.number(rotor.inertia) * watch.number(rotor.ratio) ** 2
        works.append(product(f"inertia of {rotor.name}", -inertia * turn.second, turn))
    return works + [load.declared(watch) for load in watch.model.loads if load.in_joints]


def non_ideal_work(watch: Watch) -> np.ndarray:
    """C, the virtual work wᵀC of the constraints (n, K)."""
    given = watch.model.non_ideal_forces
    return watch.numbers([given.get(name, 0) for name in watch.model.coordinate_names])


def inertias(watch: Watch) -> np.ndarray:
    """What resists each coordinate alone: Σ m |∂r/∂q_i|² over all matter, (n, K)."""
    if watch.model.energies is not None:
        return watch.slopes(watch.model.energies.kinetic)[1]
    total = np.zeros((watch.n, watch.K))
    for body in watch.model.bodies:
        center, axes = _matter(watch, body)
        total += watch.number(body.mass) * np.einsum("xnk,xnk->nk", center.change, center.change)
        total += np.einsum("abk,xank,xbnk->nk", second_moments(watch, body), axes.change, axes.change)
    for rotor in watch.model.rotors:
        turn = watch.traced(lambda places, r=rotor: places.value(r.body, r.joint, r.motion))
        total += watch.number(rotor.inertia) * (watch.number(rotor.ratio) * turn.change) ** 2
    return total


def _matter(watch: Watch, body: Body) -> tuple[Traced, Traced]:
    """The mass centre and the axes of a body."""
    return point_of(watch, body.name, body.center), axes_of(watch, body.name)


def second_moments(watch: Watch, body: Body) -> np.ndarray:
    """S = ½ tr(I) 1 − I about the mass centre, (3, 3, K)."""
    inertia = watch.numbers(body.inertia)
    return 0.5 * np.trace(inertia) * np.eye(3)[:, :, None] - inertia


def _of_body(watch: Watch, body: Body) -> Iterator[Work]:
    center, axes = _matter(watch, body)
    mass, S = watch.number(body.mass), second_moments(watch, body)
    yield on_point(f"inertia of {body.name}", -mass * center.second, center)
    turning = -np.einsum("abk,xak->xbk", S, axes.second)
    yield on_point(
        f"rotational inertia of {body.name}",
        turning.reshape(9, -1),
        Traced(*(x.reshape(9, *x.shape[2:]) for x in (axes.value, axes.rate, axes.second, axes.change))),
    )
    yield on_point(f"gravity on {body.name}", mass * watch.numbers(watch.model.gravity), center)


def _energies(watch: Watch) -> Iterator[Work]:
    """−(d/dt ∂T/∂q̇ − ∂T/∂q) − ∂V/∂q + Q for energies that are given: Lagrange's form of the same sum."""
    given = watch.model.energies
    assert given is not None
    rates = watch.changes(series(watch.momentum(given.kinetic)).rate)
    for name, value in (
        ("rate of momentum", -rates),
        ("kinetic energy", watch.changes(watch.nearby.lower(given.kinetic))),
        ("potential energy", -watch.changes(watch.nearby.lower(given.potential))),
        ("forces", watch.numbers(given.forces)),
    ):
        yield Work(name, value, np.abs(value))
