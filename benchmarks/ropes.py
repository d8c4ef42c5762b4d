"""Long ropes: cost over the number of links, ten seconds of falling, and MuJoCo at equal energy error.

    python benchmarks/ropes.py [--links 100 1000 10000] [--fall 1000] [--seconds 10] [--against 100:1 1000:0.05] [--json]

For each number of links, in a process of its own: CPU seconds to load and to derive, seconds to the first call with nothing on
disk, microseconds of forward and inverse dynamics per state, alone and in a batch, and the memory. The last line is the slope of
the times on log-log paper. `--fall` is the rope that falls `--seconds`. `--against` are numbers of links and seconds to fall for
MuJoCo, by RK4, without contacts and damping; its step is made shorter until its energy balance is as good as AGREED. Ours is so
at the default tolerances. Needs mujoco for the last part.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from measure import in_new_process, timed

AGREED = 1e-8  # energy balance, relative to the largest energies
BATCH, ROUNDS, LEAST = 64, 5, 0.05
LIMIT = 900.0  # seconds for one process
Row = dict[str, Any]


def grown(links: int, cache: str) -> Row:
    """Cost of a rope with this number of links."""
    os.environ["DALEMBERT_CACHE"] = cache
    import dalembert as dl

    dl.dynamics("simple-pendulum").forward(np.zeros(1), np.zeros(1), np.zeros(1))  # imports and initialization of LLVM
    model, loading = timed(lambda: dl.load("rope", links=links))
    equations, deriving = timed(lambda: dl.derive(model, "denoc"))
    row: Row = {"links": links, "load": loading.cpu, "derive": deriving.cpu}
    handle, draw = dl.dynamics(model), np.random.default_rng(1)
    for task in ("forward", "inverse"):
        for name, shape in (("one", (links,)), ("batch", (links, BATCH))):
            states = [0.3 * draw.normal(size=shape) for _ in range(3)]
            work = partial(getattr(handle, task), *states)
            _, first = timed(work)
            row |= {f"{task}_{name}": 1e6 * _shortest(work) / states[0][0].size, f"{task}_{name}_first": first.wall}
    run, falling = timed(lambda: equations.simulate(0.01, samples=2))
    row |= {"simulate": falling.cpu, "balance": balance(run.kinetic, run.potential)}
    return row | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _shortest(work: Callable[[], Any]) -> float:
    """CPU seconds of one call, the best of some rounds."""
    _, once = timed(work)
    calls, found = max(1, int(LEAST / max(once.cpu, 1e-6))), []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(calls):
            work()
        found.append((time.process_time() - begun) / calls)
    return min(found)


def balance(kinetic: np.ndarray, potential: np.ndarray) -> float:
    """The drift of the energy relative to the largest energies."""
    energy = kinetic + potential
    return float(np.abs(energy - energy[0]).max() / (np.abs(kinetic).max() + np.abs(potential).max()))


def fallen(links: int, seconds: float) -> Row:
    """A rope that falls."""
    import dalembert as dl

    equations = dl.derive(dl.load("rope", links=links), "denoc")
    equations.simulate(1e-4, samples=2)  # compiles
    run, took = timed(lambda: equations.simulate(seconds, samples=101))
    steps, calls = run.steps, run.evaluations
    error = balance(run.kinetic, run.potential)
    return {"links": links, "seconds": seconds, "cpu": took.cpu, "steps": steps, "calls": calls, "balance": error}


def fallen_in_mujoco(links: int, seconds: float) -> Row:
    """The same by MuJoCo's RK4, with the largest step whose energy error is at most AGREED."""
    import mujoco

    model = _mujoco_rope(mujoco, links)
    data, step = mujoco.MjData(model), 1e-3
    for _ in range(6):
        count = max(1, round(seconds / step))
        model.opt.timestep = seconds / count
        mujoco.mj_resetData(model, data)
        energies, begun = np.empty((count + 1, 2)), time.process_time()
        for k in range(count + 1):
            mujoco.mj_step(model, data)  # computes the energies at its start
            energies[k] = data.energy
        cpu, error = time.process_time() - begun, balance(energies[:, 1], energies[:, 0])
        if error <= AGREED:
            break
        step *= 0.9 * min(0.9, (AGREED / error) ** 0.25) if np.isfinite(error) else 0.25
    return {"links": links, "seconds": seconds, "cpu": cpu, "steps": count, "calls": 4 * count, "balance": error}


def _mujoco_rope(mujoco: Any, links: int) -> Any:
    spec, (m, length, width) = mujoco.MjSpec(), (0.05, 0.03, 0.01)
    spec.option.gravity, spec.option.integrator = [0, -9.81, 0], mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    inertia, body = [m * width**2 / 12, m * length**2 / 12, m * length**2 / 12], spec.worldbody
    for _ in range(links):
        center = [length / 2, 0, 0]
        body = body.add_body(pos=[length, 0, 0], mass=m, ipos=center, inertia=inertia, explicitinertial=True)
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
    return spec.compile()


def slope(rows: list[Row], key: str) -> float:
    """The slope of a time over the number of links, in logarithms."""
    return float(np.polyfit(np.log([row["links"] for row in rows]), np.log([row[key] for row in rows]), 1)[0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--fall", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--against", nargs="*", default=["100:1", "1000:0.05"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    out: dict[str, list[Row]] = {"sizes": [], "falls": [], "against": []}
    stream = sys.stderr if options.json else sys.stdout
    for links in options.links:
        with tempfile.TemporaryDirectory() as cache:
            out["sizes"].append(in_new_process(grown, links, cache, limit=LIMIT))
        print(_line(out["sizes"][-1]), file=stream, flush=True)
    if len(out["sizes"]) > 1:
        keys = ("load", "derive", "forward_one", "forward_batch", "inverse_one", "inverse_batch")
        print("slopes:", _line({key: slope(out["sizes"], key) for key in keys}), file=stream)
    if options.seconds > 0:
        out["falls"].append(in_new_process(fallen, options.fall, options.seconds, limit=LIMIT))
        print(_line(out["falls"][-1]), file=stream, flush=True)
    for pair in options.against:
        links, seconds = int(pair.split(":")[0]), float(pair.split(":")[1])
        rows = [in_new_process(work, links, seconds, limit=LIMIT) for work in (fallen, fallen_in_mujoco)]
        out["against"] += [{"by": by, **row} for by, row in zip(("dalembert", "mujoco"), rows, strict=True)]
        print(*map(_line, out["against"][-2:]), f"ratio {rows[1]['cpu'] / rows[0]['cpu']:.0f}", sep="\n", file=stream)
    if options.json:
        print(json.dumps(out, indent=1))


def _line(row: Row) -> str:
    return "  ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
    )


if __name__ == "__main__":
    main()
