"""Free-body balance: joint reactions balance loads and inertia forces, and a wrong reaction does not.

The virtual displacements of the principle are here those of each free body, three translations and three rotations, so joint
forces do work too. As in `_principle`, accelerations come from positions and loads from the declarations:

    f_J − Σ f_child + Σ F − m r̈_G = 0
    m_J − Σ m_child + Σ τ + Σ (r − r_G) × F − Σ S_ab R_a × R̈_b = 0

Along its own motions a joint transmits only its drive; this is the second condition on the reactions.
"""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.evidence._principle import MovingModel, joint_work, move_model, non_ideal_work, second_moments
from dalembert.mechanics import state_batch
from dalembert.mechanics.joint_reactions import JointReaction
from dalembert.mechanics.state_batch import States
from dalembert.model.description import Elements
from dalembert.model.reference_model import Action, axes_of, rotation_variation
from dalembert.model.values import Vector3

LOADS = ("force", "torque", "joint_torque", "spring", "damper")


def unbalanced(
    model: Elements, states: States, qdd: np.ndarray, reactions: Mapping[str, JointReaction]
) -> dict[str, np.ndarray]:
    """Residual of each body (K,), relative to its forces and moments; reactions in world axes."""
    if model.contacts:
        raise InputError(
            f"model '{model.name}': contact '{model.contacts[0].name}' also acts on its body, and joint reactions do not include "
            "its force. Expected a model without contacts."
        )
    moving = move_model(model, states, np.asarray(qdd, dtype=float))
    actions = [action for load in model.loads for action in load.actions(moving)]
    actions += [*_joints(moving, reactions), *_loops(moving, reactions), *_inertia_and_gravity(moving)]
    return {body.name: _left(moving, body.name, body.center, actions) for body in model.bodies}


def undriven(model: Elements, states: States, qdd: np.ndarray, reactions: Mapping[str, JointReaction]) -> np.ndarray:
    """Work of the tree joints along their own motions minus that of their drives (K,), relative to its terms.

    Constraints defined by formulas act through the joints without a point of application, so the model must have none.
    """
    if model.holonomic_constraints or model.nonholonomic_constraints or model.contacts:
        raise InputError(
            f"model '{model.name}': its formula constraints or contacts drive the joints too. Expected joints and loops only."
        )
    moving = move_model(model, states, np.asarray(qdd, dtype=float))
    total = -sum((work.value for work in joint_work(moving)), start=non_ideal_work(moving))
    size = np.abs(total)
    for body in model.bodies:
        found = reactions[body.name]
        for push, (mine, other) in zip(
            (found.force, found.moment), _moved(moving, body.name, body.parent), strict=True
        ):
            total = total + np.einsum("xk,xnk->nk", push, mine - other)
            size = size + np.linalg.norm(push, axis=0) * (np.linalg.norm(mine, axis=0) + np.linalg.norm(other, axis=0))
    size = np.sqrt(np.sum(size**2, axis=0))
    return np.sqrt(np.sum(total**2, axis=0)) / np.where(size > 0, size, 1.0)


def _moved(moving: MovingModel, body: str, parent: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Partial velocities of a body and of its parent at the joint, then partial angular velocities: (3, n, K) each."""
    hinge = moving.traced(lambda poses: poses.hinges[body]).value
    shifts, turns = [], []
    for name in (body, parent):
        axes = axes_of(moving, name)
        origin = moving.traced(lambda poses, n=name: poses.frames[n].p)
        arm = np.einsum("xak,xk->ak", axes.value, hinge - origin.value)
        shifts.append(origin.change + np.einsum("xank,ak->xnk", axes.change, arm))
        turns.append(rotation_variation(axes))
    yield shifts[0], shifts[1]
    yield turns[0], turns[1]


def _left(moving: MovingModel, name: str, center: Vector3, actions: list[Action]) -> np.ndarray:
    """Resultants about the mass center, relative to their terms."""
    at = moving.traced(lambda poses: poses.point(name, center)).value
    out = np.zeros(moving.K)
    forces, moments = [], []
    for action in (action for action in actions if action.body == name):
        arm, size = action.point - at, np.linalg.norm(action.force, axis=0)
        forces.append((action.force, size))
        moments.append((action.couple, np.linalg.norm(action.couple, axis=0)))
        moments.append((np.cross(arm, action.force, axis=0), np.linalg.norm(arm, axis=0) * size))
    for parts in (forces, moments):
        total, size = np.linalg.norm(sum(x for x, _ in parts), axis=0), sum(size for _, size in parts)
        out = np.maximum(out, np.where(total == 0, 0.0, total / np.where(size > 0, size, 1.0)))
    return np.where(np.isfinite(out), out, np.inf)


def _inertia_and_gravity(moving: MovingModel) -> Iterator[Action]:
    zero = np.zeros((3, moving.K))
    for body in moving.model.bodies:
        center = moving.traced(lambda poses, b=body: poses.point(b.name, b.center))
        axes, S, mass = axes_of(moving, body.name), second_moments(moving, body), moving.number(body.mass)
        # ∫ ρ × ρ̈ dm = Σ S_ab R_a × R̈_b
        rotated = np.cross(axes.value[:, :, None, :], axes.second[:, None, :, :], axis=0)
        yield Action(body.name, -mass * center.second, center.value, -np.einsum("abk,xabk->xk", S, rotated))
        yield Action(body.name, mass * moving.numbers(moving.model.gravity), center.value, zero)


def _joints(moving: MovingModel, reactions: Mapping[str, JointReaction]) -> Iterator[Action]:
    """The action of the parent on each body, and the opposite on the parent."""
    for body in moving.model.bodies:
        hinge = moving.traced(lambda poses, b=body: poses.hinges[b.name]).value
        found = reactions[body.name]
        yield Action(body.name, found.force, hinge, found.moment)
        yield Action(body.parent, -found.force, hinge, -found.moment)


def _loops(moving: MovingModel, reactions: Mapping[str, JointReaction]) -> Iterator[Action]:
    """The action of the first body on the second through the cut joint, at the origin of M, and the opposite."""
    for loop in moving.model.loops:
        first, second = loop.bodies
        at = moving.traced(lambda poses, c=loop: poses.point(c.bodies[1], c.position)).value
        found = reactions[loop.name]
        yield Action(second, found.force, at, found.moment)
        yield Action(first, -found.force, at, -found.moment)


def left(model, change=lambda name, found: found) -> float:
    eom = dl.derive(model, "lagrange", engine="python")
    states = state_batch.consistent_states(eom.model, 4)
    here = (states.q, states.qd, states.t)
    found = {name: change(name, reaction) for name, reaction in eom.joint_reactions(*here).items()}
    qdd = eom.accelerations(*here)
    free = 0.0 if model.holonomic_constraints else float(undriven(model, states, qdd, found).max())
    return max(free, *(float(x.max()) for x in unbalanced(model, states, qdd, found).values()))


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_balance_under_every_load(random_tree, seed):
    assert left(random_tree(seed, loads=LOADS)) < 1e-12


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "satellite-boom", "puma560"])
def test_gallery_models_balance(name):
    assert left(dl.load(name)) < 1e-11


@pytest.mark.parametrize("part", ["force", "moment"])
def test_detects_wrong_reaction(part):
    model = dl.load("four-bar")
    for name in [body.name for body in model.bodies] + [loop.name for loop in model.loops]:

        def change(where, found, name=name):
            wrong = getattr(found, part) + 1e-6 * np.abs(found.force).max()
            return replace(found, **{part: wrong}) if where == name else found

        assert left(model, change) > 1e-8


SHARED = {
    "wrench of a force": (
        "model.loads.force",
        "at_point",
        lambda parts: tuple(replace(p, force=-p.force) for p in parts),
    ),
    "push of a loop": ("mechanics.constraint_levels", "_row", lambda row: replace(row, force=2 * row.force)),
    "place of a joint": ("mechanics.motion", None, lambda body: replace(body, p_WJ=body.p_WJ + 0.1)),
}


@pytest.mark.parametrize("fact", SHARED)
def test_detects_wrong_shared_function_behind_reactions(fact, monkeypatch):
    module, name, change = SHARED[fact]
    owner = importlib.import_module(f"dalembert.{module}")
    if name is None:
        owner, name = owner._Recursion, "visit"
    right = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *arguments: change(right(*arguments)))
    model = dl.load("four-bar")
    model.force(model.bodies[1].name, (1, 2, 0), point=(0.2, 0, 0))
    assert left(model) > 1e-3


def test_joints_transmit_their_drives():
    # a joint with spring and motor: the moment about its axis is that of spring, friction and rotor
    model = dl.Model("driven", gravity=(0, -9.81, 0)).coordinates("a")
    model.body("rod", joint=model.revolute((0, 0, 1), "a"), mass=1.0, center=(0.5, 0, 0), inertia=(0, 0, 0.1))
    model.joint_spring("rod", stiffness=3, damping=0.2).rotor("rod", 0.02, ratio=3).non_ideal({"a": 0.7})
    assert left(model) < 1e-14

    def without_moment(name, found):
        return replace(found, moment=0 * found.moment)

    assert left(model, without_moment) > 1e-2


def test_formula_constraints_raise_an_error():
    model = dl.load("cart-pendulum")
    states = state_batch.consistent_states(model, 1)
    with pytest.raises(InputError, match="Expected joints and loops only"):
        undriven(model, states, states.qd, {})


def test_contacts_raise_an_error():
    model = dl.load("knife-edge")
    states = state_batch.consistent_states(model, 1)
    with pytest.raises(InputError, match=r"contact '.*' also acts on its body"):
        unbalanced(model, states, states.qd, {})
