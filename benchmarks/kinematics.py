"""Inverse kinematics of robot arms, compared with Pinocchio's documented loop and Robotics Toolbox, one thread each.

    python benchmarks/kinematics.py [--robots panda ur5 ...] [--count 1000] [--json]

Poses are those of random postures within the limits, by Pinocchio's forward kinematics. Each is solved from the posture in which
the robot starts. CPU microseconds per solved pose: ours for all poses at once and one call after the other, Pinocchio's loop as
its documentation has it (steps of 0.1, until 1e-4, at most 1000), and the same loop with full steps until 1e-10. A pose counts as
solved where Pinocchio finds position and orientation of our posture within 1e-10 of the target. Needs pin and example-robot-data.

Robotics Toolbox (roboticstoolbox-python, optional) gets the same arm, placements and limits as Pinocchio has them, the same
poses, start and tolerance: `ikine_LM`, which is Python, and `ik_LM`, the same method in C++. It is given tol = 1e-20 / 2, since
it compares half the square of the error, and a pose counts as solved as ours does. Its further searches start at random postures.
"""

from __future__ import annotations

import argparse
import json
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
SEED, ROUNDS, REACHED = 17, 3, 1e-10
TOOLBOX = {"toolbox": "ikine_LM", "toolbox_fast": "ik_LM"}
SLOW = 200  # poses for methods that take milliseconds each
Row = dict[str, Any]


def urdf_of(name: str) -> str:
    """The robot in URDF."""
    if name in robots.ROBOTS:
        return robots.path_of(name).read_text()
    import dalembert as dl
    from dalembert.io.urdf.urdf_writer import to_urdf

    return to_urdf(dl.load(name).description.replaced(loads=(), rotors=()))


def documented(model: Any, joint: int, start: np.ndarray, target: Any, dt: float, eps: float, max_steps: int) -> bool:
    """Pinocchio's example of inverse kinematics; True if it converges."""
    import pinocchio as pin

    data, q = model.createData(), start.copy()
    for _ in range(max_steps):
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
    """A robot in both programs, and poses of random postures within its limits."""

    ours: Any
    theirs: Any
    body: str
    frame: int
    indices: dict[int, int]  # from Pinocchio's joints, without mimic joints, to our coordinates
    limits: np.ndarray  # (2, n) of our coordinates, ± half a turn without limits
    poses: list[Any]

    def their_q(self, q: np.ndarray) -> np.ndarray:
        """Our coordinates in Pinocchio's convention: continuous joints are (cos, sin) there."""
        parts = [(self.theirs.joints[joint], q[at]) for joint, at in self.indices.items()]
        return np.concatenate([[np.cos(x), np.sin(x)] if joint.nq == 2 else [x] for joint, x in parts])

    def pose(self, q: np.ndarray) -> Any:
        """The pose of the body by Pinocchio."""
        import pinocchio as pin

        data = self.theirs.createData()
        pin.framesForwardKinematics(self.theirs, data, self.their_q(q))
        return data.oMf[self.frame].copy()

    def off(self, q: np.ndarray, pose: Any) -> float:
        """The distance of the body from a pose: the largest difference of the matrices."""
        return float(np.abs(self.pose(q).homogeneous - pose.homogeneous).max())


def arm_of(name: str, count: int) -> Arm:
    """An arm by its name."""
    import pinocchio as pin

    from dalembert.analysis.task_kinematics import limits_of
    from dalembert.io.urdf._urdf_reader import loads_urdf

    urdf, body = urdf_of(name), ARMS[name]
    ours, theirs = loads_urdf(urdf, name), pin.buildModelFromXML(urdf, mimic=True)
    names, joints = ours.coordinate_names, list(theirs.joints)[1:]
    indices = {joint.id: names.index(theirs.names[joint.id]) for joint in joints if joint.nv}
    lower, upper = limits_of(ours)
    low, high = np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)
    arm = Arm(ours, theirs, body, theirs.getFrameId(body), indices, np.array([low, high]), [])
    rng = np.random.default_rng(SEED)
    postures = [low + (high - low) * rng.uniform(size=len(low)) for _ in range(count)]
    return replace(arm, poses=[arm.pose(q) for q in postures])


def solved_by_us(arm: Arm) -> Row:
    """The fraction of poses solved, checked by Pinocchio, and the time per pose."""
    import dalembert as dl

    T = np.stack([pose.homogeneous for pose in arm.poses], axis=2)
    dl.inverse_kinematics(arm.ours, arm.body, T[:, :, 0])  # compiles the program and the loop
    runs = [timed(lambda: dl.inverse_kinematics(arm.ours, arm.body, T)) for _ in range(ROUNDS)]
    found = runs[0][0]
    good = sum(arm.off(q, pose) <= REACHED for q, pose in zip(found.q.T, arm.poses, strict=True))
    subset = T[:, :, :100]
    one = best(
        [timed(lambda: [dl.inverse_kinematics(arm.ours, arm.body, each) for each in subset.T.swapaxes(1, 2)])[1]]
    )
    return {
        "reached": good / len(arm.poses),
        "steps": float(np.mean(found.iterations)),
        "starts": float(np.mean(found.starts)),
        "batch": best([took for _, took in runs]).cpu / max(good, 1) * 1e6,
        "single": one.cpu / subset.shape[2] * 1e6,
    }


def solved_by_loop(arm: Arm, dt: float, eps: float, max_steps: int) -> tuple[float, float]:
    """The fraction of poses that Pinocchio's loop solves, and microseconds per solved pose."""
    frame = arm.theirs.frames[arm.frame]
    start = arm.their_q(arm.ours.initial[0])
    targets = [pose * frame.placement.inverse() for pose in arm.poses[:SLOW]]
    good, took = timed(
        lambda: sum(documented(arm.theirs, frame.parentJoint, start, each, dt, eps, max_steps) for each in targets)
    )
    return good / len(targets), took.cpu / max(good, 1) * 1e6


def solved_by_toolbox(arm: Arm, method: str, poses: Sequence[Any]) -> tuple[float, float] | None:
    """The same for a method of Robotics Toolbox; None if it is not installed."""
    try:
        import roboticstoolbox as rtb
    except ImportError:
        return None
    frame = arm.theirs.frames[arm.frame]
    chain, indices, parts = list(arm.theirs.supports[frame.parentJoint])[1:], [], []
    for joint in chain:
        indices.append(arm.indices[joint])
        turn = getattr(rtb.ET, "R" + arm.theirs.joints[joint].shortname()[-1].lower())
        parts += [rtb.ET.SE3(arm.theirs.jointPlacements[joint].homogeneous), turn(qlim=arm.limits[:, indices[-1]])]
    ets, solved = rtb.ETS([*parts, rtb.ET.SE3(frame.placement.homogeneous)]), []
    home = arm.ours.initial[0]
    solve, goals = getattr(ets, method), [pose.homogeneous for pose in poses]
    more = {} if method == "ik_LM" else {"seed": SEED}
    found, took = timed(lambda: [solve(T, q0=home[indices], tol=REACHED**2 / 2, **more).q for T in goals])
    for q, pose in zip(found, poses, strict=True):
        full = home.copy()
        full[indices] = q
        solved.append(arm.off(full, pose) <= REACHED)
    good = sum(solved)
    return good / len(poses), took.cpu / max(good, 1) * 1e6


def measured(name: str, count: int) -> Row:
    """All numbers of one arm."""
    arm = arm_of(name, count)
    row = {"robot": name, **solved_by_us(arm)}
    for key, settings in {"loop": (0.1, 1e-4, 1000), "full": (1.0, 1e-10, 1000)}.items():
        row[f"{key}_reached"], row[key] = solved_by_loop(arm, *settings)
    for key, method in TOOLBOX.items():
        found = solved_by_toolbox(arm, method, arm.poses[: SLOW if method == "ikine_LM" else None])
        if found is not None:
            row[f"{key}_reached"], row[key] = found
    return row


def results_table(rows: Sequence[Row]) -> Table:
    """The numbers as a table."""
    table = Table(box=SIMPLE_HEAD, title="µs per solved pose, one thread; in brackets the share that is reached")
    for head in (
        "robot",
        "ours, many",
        "ours, one",
        "Pinocchio's loop",
        "with full steps",
        *TOOLBOX.values(),
        "steps, starts",
    ):
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(
            row["robot"],
            f"{row['batch']:.1f} ({row['reached']:.1%})",
            f"{row['single']:.0f}",
            *(
                f"{row[key]:.0f} ({row[f'{key}_reached']:.1%}) ×{row[key] / row['batch']:.0f}"
                if key in row
                else "not installed"
                for key in ("loop", "full", *TOOLBOX)
            ),
            f"{row['steps']:.1f}, {row['starts']:.2f}",
        )
    return table


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--robots", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if missing := robots.missing():
        print(missing, file=sys.stderr)
        return 1
    rows = [measured(name, options.count) for name in options.robots]
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        Console().print(results_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
