"""Inverse kinematics of robot arms, against Pinocchio's documented loop and Robotics Toolbox, in one run on one thread each.

    python benchmarks/kinematics.py [--robots panda ur5 ...] [--count 1000] [--json]

Poses are those of random postures within the limits, by Pinocchio's forward kinematics. Each is solved from the posture in which
the robot starts. CPU microseconds per solved pose: ours for all poses at once and one call after the other, Pinocchio's loop as
its documentation has it (steps of 0.1, until 1e-4, at most 1000), and the same loop with full steps until 1e-10. A pose counts as
solved where Pinocchio finds position and orientation of our posture within 1e-10 of the target. Robotics Toolbox solves poses of
its own models by `ikine_LM` where it is installed. Needs pin and example-robot-data.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import robots
from measure import best, timed

ARMS = {"panda": "panda_hand", "ur5": "wrist_3_link", "puma560": "flange", "kuka-kr5": "flange"}
TOOLBOX = {"panda": "Panda", "ur5": "UR5", "puma560": "Puma560"}  # its models; those from files need its data
SEED, ROUNDS, REACHED = 17, 3, 1e-10
Row = dict[str, Any]


def text_of(name: str) -> str:
    """The robot in URDF, without what the two would read differently."""
    if name in robots.ROBOTS:
        return re.sub(r"<mimic[^>]*/>", "", robots.path_of(name).read_text())
    import dalembert as dl
    from dalembert.exporters.urdf import to_urdf

    return to_urdf(dl.load(name).description.replaced(loads=(), rotors=()))


def documented(model: Any, joint: int, start: np.ndarray, target: Any, dt: float, eps: float, most: int) -> bool:
    """Pinocchio's example of inverse kinematics: does it get there?"""
    import pinocchio as pin

    data, q = model.createData(), start.copy()
    for _ in range(most):
        pin.forwardKinematics(model, data, q)
        off = data.oMi[joint].actInv(target)
        error = pin.log(off).vector
        if np.linalg.norm(error) < eps:
            return True
        J = -pin.Jlog6(off.inverse()) @ pin.computeJointJacobian(model, data, q, joint)
        q = pin.integrate(model, q, -J.T @ np.linalg.solve(J @ J.T + 1e-12 * np.eye(6), error) * dt)
    return False


@dataclass(frozen=True)
class Arm:
    """A robot twice, and poses of random postures within its limits."""

    ours: Any
    theirs: Any
    body: str
    frame: int
    places: list[int]  # of Pinocchio's coordinates among ours
    poses: list[Any]

    def their_q(self, q: np.ndarray) -> np.ndarray:
        """Our coordinates as theirs: joints that turn without end are (cos, sin) there."""
        parts = [q[at] for at in self.places]
        return np.concatenate(
            [
                [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
                for joint, x in zip(list(self.theirs.joints)[1:], parts, strict=True)
            ]
        )

    def pose(self, q: np.ndarray) -> Any:
        """The pose of the body by Pinocchio."""
        import pinocchio as pin

        data = self.theirs.createData()
        pin.framesForwardKinematics(self.theirs, data, self.their_q(q))
        return data.oMf[self.frame].copy()


def arm_of(name: str, count: int) -> Arm:
    """An arm by its name."""
    import pinocchio as pin

    from dalembert.analysis.places import limits_of
    from dalembert.importers.urdf import loads_urdf

    text, body = text_of(name), ARMS[name]
    ours, theirs = loads_urdf(text, name), pin.buildModelFromXML(text)
    names = ours.coordinate_names
    places = [names.index(label) for label in list(theirs.names)[1:]]
    arm = Arm(ours, theirs, body, theirs.getFrameId(body), places, [])
    lower, upper = limits_of(ours)
    low, high = np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)
    rng = np.random.default_rng(SEED)
    postures = [low + (high - low) * rng.uniform(size=len(low)) for _ in range(count)]
    return replace(arm, poses=[arm.pose(q) for q in postures])


def solved_by_us(arm: Arm) -> Row:
    """How many of the poses are reached, as Pinocchio sees it, and how long one takes."""
    import dalembert as dl

    T = np.stack([pose.homogeneous for pose in arm.poses], axis=2)
    dl.inverse_kinematics(arm.ours, arm.body, T[:, :, 0])  # the program, and Numba's part
    runs = [timed(lambda: dl.inverse_kinematics(arm.ours, arm.body, T)) for _ in range(ROUNDS)]
    found = runs[0][0]
    off = [
        np.abs(arm.pose(q).homogeneous - pose.homogeneous).max() for q, pose in zip(found.q.T, arm.poses, strict=True)
    ]
    good = int(np.sum(np.array(off) <= REACHED))
    few = T[:, :, :100]
    one = best([timed(lambda: [dl.inverse_kinematics(arm.ours, arm.body, each) for each in few.T.swapaxes(1, 2)])[1]])
    return {
        "reached": good / len(arm.poses),
        "steps": float(np.mean(found.iterations)),
        "starts": float(np.mean(found.starts)),
        "batch": best([took for _, took in runs]).cpu / max(good, 1) * 1e6,
        "single": one.cpu / few.shape[2] * 1e6,
    }


def solved_by_loop(arm: Arm, dt: float, eps: float, most: int) -> tuple[float, float]:
    """The share of the poses that Pinocchio's loop reaches, and microseconds per solved one."""
    frame = arm.theirs.frames[arm.frame]
    start = arm.their_q(arm.ours.initial[0])
    targets = [pose * frame.placement.inverse() for pose in arm.poses[:200]]
    good, took = timed(
        lambda: sum(documented(arm.theirs, frame.parentJoint, start, each, dt, eps, most) for each in targets)
    )
    return good / len(targets), took.cpu / max(good, 1) * 1e6


def solved_by_toolbox(name: str, count: int) -> tuple[float, float] | None:
    """The same for Robotics Toolbox's `ikine_LM`; None where it, or its robot, is missing."""
    try:
        import roboticstoolbox as rtb

        robot = getattr(rtb.models.DH if name == "puma560" else rtb.models, TOOLBOX[name])()
    except (ImportError, KeyError, AttributeError, FileNotFoundError):
        return None
    rng = np.random.default_rng(SEED)
    low, high = robot.qlim
    poses = [robot.fkine(low + (high - low) * rng.uniform(size=robot.n)) for _ in range(count)]
    good, took = timed(lambda: sum(bool(robot.ikine_LM(pose, tol=1e-10).success) for pose in poses))
    return good / count, took.cpu / max(good, 1) * 1e6


def measured(name: str, count: int) -> Row:
    """All numbers of one arm."""
    arm = arm_of(name, count)
    row = {"robot": name, **solved_by_us(arm)}
    for key, given in {"loop": (0.1, 1e-4, 1000), "full": (1.0, 1e-10, 1000)}.items():
        row[f"{key}_reached"], row[key] = solved_by_loop(arm, *given)
    found = solved_by_toolbox(name, 50)
    if found is not None:
        row["toolbox_reached"], row["toolbox"] = found
    return row


def shown(rows: Sequence[Row]) -> Table:
    """The numbers as a table."""
    table = Table(box=SIMPLE_HEAD, title="µs per solved pose, one thread; in brackets the share that is reached")
    for head in (
        "robot",
        "ours, many",
        "ours, one",
        "Pinocchio's loop",
        "with full steps",
        "ikine_LM",
        "steps, starts",
    ):
        table.add_column(head, justify="right")
    for row in rows:
        toolbox = f"{row['toolbox']:.0f} ({row['toolbox_reached']:.1%})" if "toolbox" in row else "not installed"
        table.add_row(
            row["robot"],
            f"{row['batch']:.1f} ({row['reached']:.1%})",
            f"{row['single']:.0f}",
            f"{row['loop']:.0f} ({row['loop_reached']:.1%}) ×{row['loop'] / row['batch']:.0f}",
            f"{row['full']:.0f} ({row['full_reached']:.1%}) ×{row['full'] / row['batch']:.0f}",
            toolbox,
            f"{row['steps']:.1f}, {row['starts']:.2f}",
        )
    return table


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--robots", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if said := robots.missing():
        print(said, file=sys.stderr)
        return 1
    rows = [measured(name, given.count) for name in given.robots]
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        Console().print(shown(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
