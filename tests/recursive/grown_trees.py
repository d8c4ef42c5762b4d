"""Random trees of bodies with joints of all types, each with its own coordinates, and random states."""

from typing import Any

import numpy as np

from dalembert.model.model import Model

MOTIONS = {
    "fixed": 0,
    "revolute": 1,
    "prismatic": 1,
    "screw": 1,
    "cylindrical": 2,
    "universal": 2,
    "planar": 3,
    "spherical": 3,
    "quaternion": 4,
    "free": 6,
    "floating": 7,
}
UNITS = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8))


def joint(model, kind, q, random):
    """A joint of a type, moved by coordinates q, at a random position on its parent."""
    at = {"position": tuple(random.uniform(-0.5, 0.5, 3)), "rotation": tuple(random.uniform(-2, 2, 3))}
    axis = UNITS[random.integers(4)]
    makers = {
        "fixed": lambda: model.fixed(**at),
        "revolute": lambda: model.revolute(axis, *q, **at),
        "prismatic": lambda: model.prismatic(axis, *q, **at),
        "screw": lambda: model.screw(axis, *q, pitch=0.3, **at),
        "cylindrical": lambda: model.cylindrical(axis, *q, **at),
        "universal": lambda: model.universal(UNITS[:2], q, **at),
        "planar": lambda: model.planar(axis, q[:2], q[2], **at),
        "spherical": lambda: model.spherical(q, sequence="zxy", **at),
        "quaternion": lambda: model.spherical(quaternion=q, **at),
        "free": lambda: model.free(q[:3], q[3:], **at),
        "floating": lambda: model.free(q[:3], quaternion=q[3:], **at),
    }
    return makers[kind]()


def grown(n, kinds, seed, branches=0.3, rotors=0.2):
    """A random tree of n bodies."""
    random = np.random.default_rng(seed)
    chosen = [kinds[random.integers(len(kinds))] for _ in range(n)]
    if not any(MOTIONS[kind] for kind in chosen):
        chosen[0] = "revolute"
    names = [[f"q{i}_{k}" for k in range(MOTIONS[kind])] for i, kind in enumerate(chosen)]
    model = Model("grown", gravity=(0.3, -9.81, 1.0)).coordinates(*(name for group in names for name in group))
    for i, (kind, q) in enumerate(zip(chosen, names, strict=True)):
        on = i - 1 if random.random() > branches else random.integers(max(-1, i - 8), i) if i else -1
        body: dict[str, Any] = {"mass": random.uniform(0.5, 2), "center": tuple(random.uniform(-0.3, 0.3, 3))}
        inertia = tuple(random.uniform(0.2, 0.3, 3))
        parent: dict[str, Any] = {} if on < 0 else {"parent": f"b{on}"}
        model.body(f"b{i}", joint=joint(model, kind, q, random), inertia=inertia, **body, **parent)
        if kind in ("revolute", "prismatic", "universal") and random.random() < rotors:
            model.rotor(f"b{i}", 0.1, ratio=3)
    return model


def random_states(tree, K, seed=1):
    """Random states and accelerations, with unit quaternions."""
    random = np.random.default_rng(seed)
    q, s, sd = (random.uniform(-1, 1, (rows, K)) for rows in (tree.n, tree.n_speeds, tree.n_speeds))
    for attitude in tree.attitudes:
        q[list(attitude.parts)] /= np.linalg.norm(q[list(attitude.parts)], axis=0)
    return q, s, sd, np.zeros((1, K))
