"""Walking robots on compliant ground, compared with MuJoCo at equal accuracy, one thread each.

    python benchmarks/walking.py [--robots hexapod quadruped] [--duration 10] [--error 1e-4] [--json]

ReDySim's hexapod and quadruped, eighteen degrees of freedom each, walk under controllers that track the gait of the gallery:
τ = kp (q_d − q) + kd (q̇_d − q̇) in every joint, continuous in time. Model, start, controller and the law of the ground are the
same in both programs: joints by the same coordinates, and forces of the feet by one function that Numba has compiled, which
MuJoCo calls as `mjcb_control` in every stage of its integrator RK4, without Python in between. MuJoCo's contact model
is not used.

The error is the largest difference of any coordinate at a hundred times a second from a run of ours with tight tolerances.
Each program gets the cheapest of its settings whose error stays below `--error`: ours by the tolerance, MuJoCo's by the step. CPU
seconds of a run, without compiling. Needs mujoco and numba.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import carray, extending  # pyright: ignore[reportPrivateImportUsage]
from numba.core import cgutils
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import dalembert as dl
from dalembert.io import gallery
from dalembert.io._redysim_arrays import from_arrays
from measure import timed

KP, KD = 1000.0, 30.0
DEPTH = 0.01  # initial penetration of the feet
SAMPLES = 100  # samples per second
TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9)
STEPS = (1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6)
EXACT = 1e-12
# legs of each tripod or diagonal pair, and the indices of hip and knee among the joints of a leg
GAITS = {"hexapod": ((0, 3, 4), 2, 0.0), "quadruped": ((1, 2), 3, np.pi / 2)}


@dataclass(frozen=True)
class Robot:
    """A robot without its motors, and its gait."""

    name: str
    data: dict[str, Any]
    model: Any
    law: Callable[..., None]  # (t, q, qd, out)

    @property
    def joints(self) -> list[str]:
        """The bodies whose joints are driven."""
        return [body.name for body in self.model.bodies[1:]]

    def driven(self) -> Any:
        """The robot with its controller."""
        return self.model.copy().actuator(self.joints, law=self.law, name="motor")


def robot_of(name: str) -> Robot:
    """A robot of the gallery with a controller instead of its prescribed motors."""
    data = tomllib.loads(gallery.path(name).joinpath("model.toml").read_text(encoding="utf-8"))
    gait = {key: value["value"] for key, value in data["parameters"].items()}
    for key in ("drive", "event", "parameters"):
        del data[key]
    model = from_arrays({key: value for key, value in data.items() if key != "convention"}, name)
    q, qd = model.initial
    model.start(q - DEPTH * np.eye(len(q))[1], qd)
    legs, joints, offset = GAITS[name]
    return Robot(name, data, model, tracking(legs, len(model.loads), joints, offset, gait))


def tracking(
    legs: tuple[int, ...], feet: int, joints: int, offset: float, gait: dict[str, float]
) -> Callable[..., None]:
    """The controller: hip and knee, the last two joints of each leg, follow the gait, others stay at their initial angle."""
    h, T, a, c, link = (gait[name] for name in ("h", "T", "a", "c", "l"))
    k = np.sqrt(9.81 / h)
    stands_first = np.array([float(leg in legs) for leg in range(feet)])

    @numba.njit
    def law(t: float, q: np.ndarray, qd: np.ndarray, out: np.ndarray) -> None:
        step = np.floor(t / T)
        s, odd = t - step * T, step % 2
        u = k * (s - T / 2)
        stance_x, rate = a * np.sinh(u) / np.sinh(k * T / 2), a * k * np.cosh(u) / np.sinh(k * T / 2)
        w = np.pi / T
        for leg in range(feet):
            swing = odd if stands_first[leg] else 1 - odd
            x, xd = -stance_x - 2 * a * swing * np.cos(w * s), -rate + 2 * a * swing * w * np.sin(w * s)
            y, yd = c * swing * (1 - np.cos(2 * w * s)) - h, 2 * c * swing * w * np.sin(2 * w * s)
            r = np.sqrt(x * x + y * y)
            bend, turn = np.arccos(r / (2 * link)), (x * yd - y * xd) / (r * r)
            bent = -(x * xd + y * yd) / r / np.sqrt(4 * link * link - r * r)
            j = joints * leg
            for i in range(joints - 2):
                out[j + i] = -KP * (q[6 + j + i] + np.pi / 2) - KD * qd[6 + j + i]
            hip, knee = j + joints - 2, j + joints - 1
            out[hip] = KP * (np.arctan2(y, x) + bend + offset - q[6 + hip]) + KD * (turn + bent - qd[6 + hip])
            out[knee] = KP * (-2 * bend - q[6 + knee]) + KD * (-2 * bent - qd[6 + knee])

    return law


# MuJoCo


def mjcf(robot: Robot) -> str:
    """The robot for MuJoCo: six joints for the base; a massless link becomes a second hinge of the next link."""
    data, n = robot.data, robot.data["n"]
    number = [
        {key: _number(data[key][i]) for key in ("alp", "a", "b", "m", "dx", "Icxx", "Icyy", "Iczz")} for i in range(n)
    ]
    children: dict[int, list[int]] = {i: [] for i in range(n)}
    for i, parent in enumerate(data["bt"]):
        if parent:
            children[parent - 1].append(i)

    def body(i: int, hinges: str, pose: str) -> str:
        at = number[i]
        if at["m"] == 0:  # its joint becomes the first of its child: the child's frame is rotated about x by alp
            (child,) = children[i]
            turn = number[child]["alp"]
            axis = f"0 {np.sin(turn):.17g} {np.cos(turn):.17g}"
            first = f'<joint name="q{i + 1}" type="hinge" axis="{axis}"/>'
            return body(child, hinges + first, f'pos="{at["a"]} 0 {at["b"]}" euler="{turn:.17g} 0 0"')
        inertia = " ".join(f"{at[key] + 1e-11:.17g}" for key in ("Icxx", "Icyy", "Iczz"))
        own = "" if i == 0 else f'<joint name="q{i + 1}" type="hinge" axis="0 0 1"/>'
        where = pose or f'pos="{at["a"]} 0 {at["b"]}" euler="{at["alp"]:.17g} 0 0"'
        foot = "" if children[i] else f'<site name="foot{i}" pos="{_number(data["alt"][i])} 0 0"/>'
        inside = "".join(body(j, "", "") for j in children[i])
        mass = f'<inertial pos="{at["dx"]} 0 0" mass="{at["m"]}" diaginertia="{inertia}"/>'
        return f'<body name="b{i}" {where}>{hinges}{own}{mass}{foot}{inside}</body>'

    axes = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
    base = "".join(f'<joint name="{x}" type="slide" axis="{axes[x]}"/>' for x in "xyz")
    base += "".join(
        f'<joint name="{name}" type="hinge" axis="{axes[x]}"/>'
        for name, x in (("phi", "z"), ("theta", "x"), ("psi", "y"))
    )
    return (
        '<mujoco><compiler angle="radian" boundmass="0" boundinertia="0"/><option gravity="0 -9.81 0" integrator="RK4">'
        '<flag contact="disable" constraint="disable" energy="disable"/></option>'
        f"<worldbody>{body(0, base, ' ')}</worldbody></mujoco>"
    )


def _number(entry: float | str) -> float:
    return {"pi/2": np.pi / 2, "-pi/2": -np.pi / 2}[entry] if isinstance(entry, str) else float(entry)


class Peer:
    """The same robot in MuJoCo."""

    def __init__(self, robot: Robot) -> None:
        import mujoco

        self._mujoco, self._robot = mujoco, robot
        self.model = mujoco.MjModel.from_xml_string(mjcf(robot))
        self.data = mujoco.MjData(self.model)
        self._callback = _callback(robot, self.model, self.data)  # keeps a reference
        mujoco.set_mjcb_control(self._callback.ctypes)

    def run(self, duration: float, step: float) -> np.ndarray:
        """The coordinates (n, samples) of a run with fixed steps."""
        each, data = round(1 / SAMPLES / step), self.data
        self._mujoco.mj_resetData(self.model, data)
        self.model.opt.timestep = 1 / SAMPLES / each
        data.qpos[:], data.qvel[:] = self._robot.model.initial
        out = [data.qpos.copy()]
        for _ in range(round(duration * SAMPLES)):
            self._mujoco.mj_step(self.model, data, each)
            out.append(data.qpos.copy())
        return np.array(out).T


def _time_at(data: Any) -> int:
    """The address of the time in MuJoCo's data, found by a unique value."""
    import ctypes

    data.time = 1234.5678901234
    raw = np.ctypeslib.as_array((ctypes.c_double * 40000).from_address(data._address))
    (found,) = np.flatnonzero(raw == data.time)[:1]
    data.time = 0.0
    return data._address + 8 * int(found)


@extending.intrinsic  # pyright: ignore[reportArgumentType]
def _at(context: Any, address: Any) -> Any:
    """A number as an address."""
    return numba.types.voidptr(numba.types.int64), lambda _, builder, __, arguments: builder.inttoptr(
        arguments[0], cgutils.voidptr_t
    )


def _callback(robot: Robot, model: Any, data: Any) -> Any:
    """Controller and ground as one function in machine code, which MuJoCo calls with positions and velocities."""
    K, C, _, mu, b = robot.data["g_prop"][:5]
    sites = np.arange(model.nsite)
    bodies, root, law = model.site_bodyid[sites], int(model.body_rootid[1]), robot.law
    n, count, size = model.nv, len(sites), model.nbody
    at = {
        name: getattr(data, name).ctypes.data for name in ("qpos", "qvel", "qfrc_applied", "xfrc_applied", "site_xpos")
    }
    at |= {name: getattr(data, name).ctypes.data for name in ("cvel", "xipos", "subtree_com")}
    places = tuple(
        at[name]
        for name in ("qpos", "qvel", "qfrc_applied", "xfrc_applied", "site_xpos", "cvel", "xipos", "subtree_com")
    )
    clock = _time_at(data)
    P0, P1, P2, P3, P4, P5, P6, P7 = places

    @numba.cfunc("void(voidptr, voidptr)")
    def act(_model: Any, _data: Any) -> None:
        q, qd = carray(_at(P0), (n,), np.float64), carray(_at(P1), (n,), np.float64)  # pyright: ignore[reportCallIssue]
        own, outer = carray(_at(P2), (n,), np.float64), carray(_at(P3), (size, 6), np.float64)
        feet, moves = carray(_at(P4), (count, 3), np.float64), carray(_at(P5), (size, 6), np.float64)
        centers, masses = carray(_at(P6), (size, 3), np.float64), carray(_at(P7), (size, 3), np.float64)
        t = carray(_at(clock), (1,), np.float64)[0]
        law(t, q, qd, own[6:])
        for i in range(count):
            body = bodies[i]
            outer[body, :] = 0.0
            if feet[i, 1] >= 0:
                continue
            arm, turn = feet[i] - masses[root], moves[body, :3]
            v = moves[body, 3:] + np.array(
                [
                    turn[1] * arm[2] - turn[2] * arm[1],
                    turn[2] * arm[0] - turn[0] * arm[2],
                    turn[0] * arm[1] - turn[1] * arm[0],
                ]
            )
            press = max(-K * feet[i, 1] - C * v[1], 0.0)
            slip = np.sqrt(v[0] * v[0] + v[2] * v[2])
            drag = b if b * slip <= mu * press else mu * press / slip
            fx, fy, fz = -drag * v[0], press, -drag * v[2]
            r = feet[i] - centers[body]
            outer[body, 0], outer[body, 1], outer[body, 2] = fx, fy, fz
            outer[body, 3], outer[body, 4], outer[body, 5] = (
                r[1] * fz - r[2] * fy,
                r[2] * fx - r[0] * fz,
                r[0] * fy - r[1] * fx,
            )

    return act


# comparison


@dataclass(frozen=True)
class Cheapest:
    """The cheapest setting of a program within the error limit."""

    setting: float
    error: float
    seconds: float
    steps: int
    switchings: int = 0
    balance: float = 0.0


def ours(robot: Robot, duration: float, exact: np.ndarray, error: float) -> Cheapest:
    """Our run by tolerance."""
    equations = dl.derive(robot.driven(), "denoc")
    times = np.linspace(0, duration, exact.shape[1])
    for tolerance in TOLERANCES:
        options = {"times": times, "integrator": "dop853", "rtol": tolerance, "atol": tolerance}
        equations.simulate(**options)  # compiles
        run, took = timed(lambda options=options: equations.simulate(**options))
        off = float(np.abs(run.q - exact).max())
        if off <= error:
            return Cheapest(tolerance, off, took.cpu, run.steps, len(run.switchings), run.energy_error)
    raise SystemExit(f"{robot.name}: no tolerance of dalembert reaches {error}")


def theirs(robot: Robot, duration: float, exact: np.ndarray, error: float) -> Cheapest:
    """MuJoCo's run by step."""
    peer = Peer(robot)
    peer.run(0.1, STEPS[0])
    for step in STEPS:
        found, took = timed(lambda step=step: peer.run(duration, step))
        off = float(np.abs(found - exact).max())
        if off <= error:
            return Cheapest(step, off, took.cpu, round(duration / step))
    raise SystemExit(f"{robot.name}: no step of MuJoCo's reaches {error}")


def row(name: str, duration: float, error: float) -> dict[str, Any]:
    """A robot in both programs."""
    robot = robot_of(name)
    times = np.linspace(0, duration, round(duration * SAMPLES) + 1)
    exact = dl.derive(robot.driven(), "denoc").simulate(
        times=times.tolist(), integrator="dop853", rtol=EXACT, atol=EXACT
    )
    mine, other = (simulator(robot, duration, exact.q, error) for simulator in (ours, theirs))
    return {
        "robot": name,
        "walked": float(np.linalg.norm(exact.q[:3, -1] - exact.q[:3, 0])),
        "ours": mine,
        "mujoco": other,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=list(GAITS), choices=list(GAITS))
    parser.add_argument("--duration", type=float, default=10.0)
    parser.add_argument("--error", type=float, default=1e-4)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row(name, options.duration, options.error) for name in options.robots]
    if options.json:
        print(json.dumps(rows, default=vars))
        return
    table = Table(box=SIMPLE_HEAD, title=f"walking for {options.duration:g} s, errors up to {options.error:g}")
    for head in (
        "robot",
        "way, m",
        "tolerance",
        "error",
        "steps",
        "switchings",
        "balance",
        "CPU, s",
        "MuJoCo's step",
        "error",
        "CPU, s",
        "ratio",
    ):
        table.add_column(head, justify="left" if head == "robot" else "right")
    for each in rows:
        mine, other = each["ours"], each["mujoco"]
        numbers = [
            f"{each['walked']:.3f}",
            f"{mine.setting:g}",
            f"{mine.error:.1e}",
            str(mine.steps),
            str(mine.switchings),
        ]
        numbers += [
            f"{mine.balance:.0e}",
            f"{mine.seconds:.2f}",
            f"{other.setting:g}",
            f"{other.error:.1e}",
            f"{other.seconds:.2f}",
        ]
        table.add_row(each["robot"], *numbers, f"{other.seconds / mine.seconds:.2f}")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
