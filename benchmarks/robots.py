"""Robots and chains in Pinocchio and in dalembert, with the same random states for both.

Pinocchio and dalembert differ in three respects: continuous joints are (cos, sin) in Pinocchio; the linear velocity of a
floating base is in axes of the base there, in world axes here; and mimic joints have no coordinate and no speed there, while here
they have both, tied to those of their leaders.

Robots are read without changes except for those in `deviations`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

ROBOTS = {
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
}
CHAINS = ("chain-100", "chain-300", "chain-1000")
FREE = "+free"  # suffix of a robot's name: floating base
SEED = 7


def names() -> list[str]:
    """All available mechanisms."""
    return [*ROBOTS, *(f"{name}{FREE}" for name in ROBOTS), *CHAINS]


def missing() -> str:
    """Missing packages as a message; empty if all are installed."""
    needed = {"pin": "Pinocchio", "example-robot-data": "the robots' files"}
    absent = [package for package in needed if not _files(package)]
    if not absent:
        return ""
    what = " and ".join(f"{needed[package]} (package {package})" for package in absent)
    return f"{what} not installed. `make bench-robots` installs both, or: pip install {' '.join(absent)}"


def _files(package: str) -> list[Path]:
    try:
        return [Path(str(file.locate())) for file in files(package) or ()]
    except PackageNotFoundError:
        return []


def path_of(name: str) -> Path:
    """The file of a robot."""
    return next(path for path in _files("example-robot-data") if path.as_posix().endswith(ROBOTS[name]))


@dataclass(frozen=True)
class States:
    """States in both conventions, one per column; `turns` are the rotations (count, 3, 3) of a free base."""

    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    tau: np.ndarray
    their_q: np.ndarray
    their_v: np.ndarray
    their_a: np.ndarray
    their_tau: np.ndarray
    turns: np.ndarray | None


@dataclass(frozen=True)
class Follower:
    """A mimic joint: its index and that of its leader among our coordinates and speeds."""

    index: int
    leading_index: int
    speed: int
    leading_speed: int
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Pair:
    """One mechanism in both programs, and the indices of Pinocchio's coordinates and velocities among ours."""

    ours: Any
    theirs: Any
    indices: list[int]
    columns: list[int]
    followers: tuple[Follower, ...] = ()
    deviations: tuple[str, ...] = ()

    @cached_property
    def spread(self) -> np.ndarray:
        """Their velocities, in our axes, times this are ours: a permutation, and a row for every joint that mimics another."""
        out = np.zeros((len(self.columns) + len(self.followers), len(self.columns)))
        out[self.columns, range(len(self.columns))] = 1.0
        for each in self.followers:
            out[each.speed] = each.multiplier * out[each.leading_speed]
        return out

    @cached_property
    def free(self) -> bool:
        """Whether the base floats."""
        return self.theirs.joints[1].nv == 6

    def states(self, count: int) -> States:
        """Random states and the forces that go with them; slow for long chains, whose far links would fly otherwise."""
        from scipy.spatial.transform import Rotation

        import dalembert as dl

        rng, nv = np.random.default_rng(SEED), self.theirs.nv
        v, a = rng.uniform(-1, 1, (2, nv, count)) * min(1.0, 30 / nv)
        x, theirs = np.empty((len(self.indices), count)), np.empty((self.theirs.nq, count), order="F")
        turns, at = None, 0
        if self.free:
            x[:3], attitude = rng.uniform(-1, 1, (3, count)), rng.normal(size=(4, count))
            attitude /= np.linalg.norm(attitude, axis=0)
            theirs[:3], theirs[3:7], x[3], x[4:7] = x[:3], attitude, attitude[3], attitude[:3]
            turns, at = Rotation.from_quat(attitude.T).as_matrix(), 7
        for joint in list(self.theirs.joints)[2 if self.free else 1 :]:
            if not joint.nv:  # a mimic joint
                continue
            x[at] = rng.uniform(-1, 1, count)
            own = slice(joint.idx_q, joint.idx_q + joint.nq)
            theirs[own] = [np.cos(x[at]), np.sin(x[at])] if joint.nq == 2 else x[at]
            at += 1
        v, a = (np.asfortranarray(each) for each in (v, a))
        drifting = a.copy()
        if turns is not None:
            drifting[:3] += np.cross(v[3:6], v[:3], axis=0)
        s, sd = (self.to_ours(y, turns) for y in (v, drifting))
        q = np.empty((len(x) + len(self.followers), count))
        q[self.indices] = x
        for each in self.followers:
            q[each.index] = each.multiplier * q[each.leading_index] + each.offset
        tau = dl.inverse_dynamics(self.ours, q, s, sd)  # not compiled; Pinocchio's forces are compared with them
        return States(q, s, sd, tau, theirs, v, a, np.asfortranarray(self.to_theirs(tau, turns)), turns)

    def to_ours(self, rows: np.ndarray, turns: np.ndarray | None) -> np.ndarray:
        """Velocities or accelerations of Pinocchio as ours."""
        return self.spread @ (rows if turns is None else _base(turns, rows))

    def leading(self, rows: np.ndarray, turns: np.ndarray | None) -> np.ndarray:
        """Velocities or accelerations of ours as Pinocchio's, without mimic joints."""
        rows = rows[self.columns]
        return rows if turns is None else _base(turns.transpose(0, 2, 1), rows)

    def to_theirs(self, rows: np.ndarray, turns: np.ndarray | None) -> np.ndarray:
        """Forces of ours as Pinocchio's."""
        rows = self.spread.T @ rows
        return rows if turns is None else _base(turns.transpose(0, 2, 1), rows)


def _base(turns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The first three rows rotated, state by state."""
    return np.concatenate([np.einsum("kij,jk->ik", turns, rows[:3]), rows[3:]])


def pair_of(name: str) -> Pair:
    """A robot by its name, with `+free` on a free base, or a chain of so many links."""
    return _chain(int(name.split("-")[1])) if name.startswith("chain-") else _robot(name)


def _robot(name: str) -> Pair:
    import pinocchio as pin

    import dalembert as dl
    from dalembert.io.urdf._urdf_reader import loads_urdf

    floating, path = name.endswith(FREE), path_of(name.removesuffix(FREE))
    urdf = path.read_text()
    model = loads_urdf(urdf, str(path), floating=floating, merge_fixed=True, friction=False)
    root, mimics = [pin.JointModelFreeFlyer()] if floating else [], _has_mimics(urdf)
    theirs = pin.buildModelFromXML(urdf, *root, mimic=True) if mimics else pin.buildModelFromXML(urdf, *root)
    notes = (
        ["dalembert also has the forces, accelerations and rows of the mass matrix of mimic joints"] if mimics else []
    )
    notes += _left_out(urdf, theirs)
    theirs.armature = 0 * theirs.armature
    speeds = dl.dynamics(model).speed_names
    labels, columns = [], []
    for joint, label in zip(list(theirs.joints)[1:], list(theirs.names)[1:], strict=True):
        if joint.nv == 0:
            continue
        if joint.nv == 6:
            labels += [f"base_{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz")]
            columns += ["dot(base_x)", "dot(base_y)", "dot(base_z)", *(s for s in speeds if s.startswith("omega"))]
        else:
            labels.append(label)
            columns.append(f"dot({label})")
    where = [model.coordinate_names.index(label) for label in labels]
    followers = tuple(_followers(urdf, model.coordinate_names, speeds))
    return Pair(model, theirs, where, [speeds.index(column) for column in columns], followers, tuple(notes))


def _has_mimics(urdf: str) -> bool:
    """Whether a joint that moves mimics another; plugins have elements of similar names, and fixed joints may have one, too."""
    return any(True for _ in _mimics(urdf))


def _mimics(urdf: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """The names of mimic joints, with their <mimic> elements."""
    for joint in ElementTree.fromstring(urdf).iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and joint.get("type") != "fixed":
            yield joint.attrib["name"], mimic


def _left_out(urdf: str, theirs: Any) -> Iterator[str]:
    """Elements of the file that neither program uses here."""
    if re.search(r"<dynamics[^>]*(?:damping|friction)=\"(?!0(?:\.0*)?\")", urdf):
        yield "damping and friction of joints not counted, as in Pinocchio's algorithms"
    if np.any(theirs.armature):
        yield "inertia of rotors not counted"


def _followers(urdf: str, coordinates: Sequence[str], speeds: Sequence[str]) -> Iterator[Follower]:
    """The mimic joints of a file."""
    for name, mimic in _mimics(urdf):
        both = (name, mimic.attrib["joint"])
        at, rates = [coordinates.index(each) for each in both], [speeds.index(f"dot({each})") for each in both]
        yield Follower(*at, *rates, float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0)))


def _chain(n: int) -> Pair:
    """Links on revolute joints, each with its own position, mass center and moments."""
    import pinocchio as pin

    from dalembert.model.model import Model

    rng = np.random.default_rng(SEED)
    model, theirs = Model("chain").coordinates(*(f"q{i}" for i in range(n))), pin.Model()
    parent, theirs.gravity.linear = 0, np.array(model.gravity, dtype=float)
    for i in range(n):
        turn, at, center = rng.uniform(-1, 1, 3), rng.uniform(-0.5, 0.5, 3), rng.uniform(-0.3, 0.3, 3)
        mass, moments = rng.uniform(0.5, 2.0), rng.uniform(0.2, 0.3, 3)
        parent = theirs.addJoint(parent, pin.JointModelRZ(), pin.SE3(pin.rpy.rpyToMatrix(*turn), at), f"q{i}")
        theirs.appendBodyToJoint(parent, pin.Inertia(mass, center, np.diag(moments)), pin.SE3.Identity())
        joint = model.revolute((0, 0, 1), f"q{i}", position=at.tolist(), rotation=turn.tolist())
        model.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=joint,
            mass=mass,
            center=center.tolist(),
            inertia=np.diag(moments).tolist(),
        )
    return Pair(model, theirs, list(range(n)), list(range(n)))
