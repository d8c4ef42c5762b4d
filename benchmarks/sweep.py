"""Many runs of the cart-pendulum: lanes and cores compared with single runs, SciPy and joblib, and the cost model of a sweep.

    python benchmarks/sweep.py [--runs 1000 10000 100000] [--alone 20] [--peer 8] [--workers 2] [--dask [CHUNKS]] [--json]

Every run is 10 s long, with other lengths and masses, at the tolerances of `dop853`; 51 samples are evaluated, and the
largest x and the last energy are recorded. All seconds are CPU seconds of this process and its workers. `--alone` runs are
computed one by one by `simulate`. `--peer` runs use SciPy's `solve_ivp`, DOP853 at the same tolerances, on the equations of
SymPy's KanesMethod through `lambdify`, distributed by joblib; only `solve_ivp` is counted. The parts of the cost model are
measured first; then its predictions for `--runs` are compared with the measured times; wall times are compared with the last
of them. `--simulated` workers wait as long as a chunk takes instead of computing it. `--dask` computes chunks of 1000 runs
with our workers and with a local cluster of the same size, each after its start, which is reported separately: with the
default configuration, and without the profiler that samples its threads a hundred times per second and with a slower event
loop tick. Its timers continue while a loaded machine delays the work, so its CPU time is also reported with timers for the
time of the work alone.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import dalembert as dl
from dalembert.analysis import sweep, worker_pool
from dalembert.analysis._evaluate_chunk import ChunkResult, evaluate_chunk
from dalembert.analysis.sweep import CheckpointStore
from dalembert.analysis.sweep_spec import Points, SweepSpec

MODEL, DURATION, SAMPLES, CHUNK = "cart-pendulum", 10.0, 51, 1000
VARY = {"l": (0.15, 0.25), "m2": (0.4, 0.6)}
OBSERVE = ["max(x)", "final(energy)"]
POSTURE = (0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7, 0.02, 0.02)  # of the Panda, which falls from there
PANDA = {"panda_joint2": (-0.8, -0.2), "panda_joint4": (-2.3, -1.7)}
TOLERANCE = 1e-10
FEW_TIMERS = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "500ms"}
_COMPARED = ("CPU s per chunk", "wall s per chunk")
_IDLE = 5.0  # seconds during which an idle cluster is observed


def swept_panda(runs: int, **more: Any) -> Any:
    """The Panda of example-robot-data with its mimic joint and joint friction, for 1 s."""
    import robots

    model = dl.load(robots.path_of("panda")).copy().start(list(POSTURE), [0.0] * len(POSTURE))
    options = {"samples": "sobol", "runs": runs, "duration": 1.0, "times": 11, "chunk": CHUNK, **more}
    return dl.sweep(model, PANDA, observe=["max(panda_joint4)", "final(energy)"], **options)


def panda(runs: int, count: int) -> dict[str, float]:
    """A sweep of the Panda: the first one, with derivation and machine code, and a large one."""
    first = measure_time(lambda: swept_panda(2, workers=1))[0]
    used, wall = measure_time(lambda: swept_panda(runs, workers=count))
    return {"s once": first, "runs": runs, "CPU s": used, "wall s": wall, "ms of CPU per run": used / runs * 1e3}


def swept(runs: int, **more: Any) -> Any:
    options = {"samples": "sobol", "runs": runs, "duration": DURATION, "times": SAMPLES, "chunk": CHUNK, **more}
    return dl.sweep(MODEL, VARY, observe=OBSERVE, **options)


def spec_of(runs: int) -> SweepSpec:
    """The spec alone, without a run."""
    with mock.patch.object(sweep, "_evaluated", lambda spec, *_: spec):
        return swept(runs)


def cpu() -> float:
    """CPU seconds of this process and of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def measure_time(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall seconds."""
    wall, before = time.perf_counter(), cpu()
    work()
    return cpu() - before, time.perf_counter() - wall


def best(work: Callable[[], Any], rounds: int = 3) -> float:
    return min(measure_time(work)[0] for _ in range(rounds))


# parts of the cost model


def parts(count: int) -> dict[str, float]:
    """Cost of a chunk, a run, the driver, the checkpoint and the start of a worker."""
    first = measure_time(lambda: swept(2, workers=1))[0]  # imports, derivation, machine code
    spec = spec_of(100_000)
    points = Points(spec.variation)(0, CHUNK)
    evaluate_chunk(spec, points[:, :64])  # compiles
    sizes = (64, 256, CHUNK)
    times = [best(lambda n=n: evaluate_chunk(spec, points[:, :n])) for n in sizes]
    run, chunk = np.polyfit(sizes, times, 1)
    steps = dl.derive(MODEL).simulate(DURATION, samples=SAMPLES, integrator="dop853").steps
    found = evaluate_chunk(spec, points)
    with tempfile.TemporaryDirectory() as folder:
        store = CheckpointStore(spec, Path(folder) / "sweep")
        store_time = best(lambda: [store.store(i, found) for i in range(20)]) / 20
        store.close()
        journal = (Path(folder) / "sweep" / "journal.jsonl").stat().st_size / 60
    many = spec_of(100 * CHUNK)
    with ThreadPoolExecutor(count) as pool, mock.patch.object(worker_pool, "evaluate_chunk", return_value=found):
        driver_time = best(lambda: list(worker_pool.chunk_results(many, range(many.chunks), pool, None))) / many.chunks
    two_runs = spec_of(2)
    start_time = measure_time(lambda: list(worker_pool.by_processes(two_runs, [0], 1)))[0]
    return {
        "s once, the first sweep": first,
        "steps per run": steps,
        "µs per run": run * 1e6,
        "ns per step": run / steps * 1e9,
        "ms per chunk besides": max(chunk, 0.0) * 1e3,
        "ms per chunk, driver": driver_time * 1e3,
        "ms per chunk, checkpoint": store_time * 1e3,
        "bytes per run": 8.0 * (spec.numbers + len(VARY)),
        "bytes per chunk, journal": journal,
        "s per worker started": start_time,
    }


def predicted(part: dict[str, float], runs: int, count: int) -> float:
    """CPU seconds of the cost model, in a process that has run a sweep before."""
    chunks = math.ceil(runs / CHUNK)
    each = part["ms per chunk besides"] + part["ms per chunk, driver"] + part["ms per chunk, checkpoint"]
    started = count if count > 1 and chunks > 1 else 0
    return started * part["s per worker started"] + chunks * each * 1e-3 + runs * part["µs per run"] * 1e-6


def checked(part: dict[str, float], sizes: list[int], count: int) -> list[dict[str, float]]:
    """Measured times of sweeps compared with the cost model."""
    rows = []
    for runs in sizes:
        with tempfile.TemporaryDirectory() as folder:
            took, wall = measure_time(lambda n=runs, at=folder: swept(n, workers=count, checkpoint=Path(at) / "sweep"))
        rows.append({"runs": runs, "CPU s": took, "predicted": predicted(part, runs, count), "wall s": wall})
    return rows


# other programs


def alone(count: int) -> tuple[float, float]:
    """CPU and wall seconds of a run with `simulate`, including its observables."""
    eom, spec = dl.derive(MODEL), spec_of(count + 1)
    points = Points(spec.variation)(0, count + 1).T.tolist()

    def one(length: float, mass: float) -> tuple[float, float]:
        changed = {"l": length, "m2": mass}
        run = eom.simulate(DURATION, samples=SAMPLES, integrator="dop853", parameters=changed)
        return float(run["x"].max()), float(run.energy[-1])

    one(*points[0])
    took, wall = measure_time(lambda: [one(*point) for point in points[1:]])
    return took / count, wall / count


def peer_run(length: float, mass: float) -> tuple[float, float, float]:
    """CPU and wall seconds of `solve_ivp`, and the largest x."""
    from scipy.integrate import solve_ivp

    import peers

    derived = peers.kane(peers.MODELS[MODEL]())
    model = dl.load(MODEL)
    values = {**model.parameter_values, "l": length, "m2": mass}
    rates, start = derived.compile(values), derived.start(*model.initial, values)
    times = np.linspace(0.0, DURATION, SAMPLES)
    options = {"method": "DOP853", "t_eval": times, "rtol": TOLERANCE, "atol": 1e-12}
    begun, wall = time.process_time(), time.perf_counter()
    found = solve_ivp(rates, (0.0, DURATION), start, **options)
    return time.process_time() - begun, time.perf_counter() - wall, float(found.y[2].max())


def peer(count: int, processes: int) -> tuple[float, float, float]:
    """CPU and wall seconds of a run by SciPy and joblib, and the largest difference from ours."""
    from joblib import Parallel, delayed

    spec = spec_of(count)
    points = Points(spec.variation)(0, count)
    found = Parallel(n_jobs=processes)(delayed(peer_run)(*point) for point in points.T.tolist())
    ours = evaluate_chunk(spec, points).columns["max(x)"]
    took, wall, x = np.array(found).T
    return float(took.mean()), float(wall.mean()), float(np.abs(ours - x).max())


@contextmanager
def dask_cluster(count: int, settings: dict[str, Any]) -> Iterator[Any]:
    from dask import config
    from distributed import Client, LocalCluster

    options = {"n_workers": count, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        config.set(settings),
        LocalCluster(host="127.0.0.1", **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def clocked(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """The result of `work` and its CPU seconds."""
    begun = time.thread_time()
    found = work(*arguments)
    return found, time.thread_time() - begun


class Clocked:
    """An executor that adds up the CPU seconds of the work itself."""

    def __init__(self, executor: Any, count: int) -> None:
        self._executor, self._max_workers, self.seconds = executor, count, 0.0

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """See `concurrent.futures.Executor.submit`."""
        out: Future[Any] = Future()

        def done(future: Future[Any]) -> None:
            found, seconds = future.result()
            self.seconds += seconds
            out.set_result(found)

        self._executor.submit(clocked, work, *arguments).add_done_callback(done)
        return out


def own(count: int, chunks: int) -> dict[str, float]:
    """CPU seconds of a sweep with our worker processes, and of their start."""
    small = replace(spec_of(count), chunk_size=1)
    start, ready = measure_time(lambda: list(worker_pool.by_processes(small, range(count), count)))
    took, wall = measure_time(lambda: swept(chunks * CHUNK, workers=count))
    return {
        "CPU s to start": start,
        "wall s to start": ready,
        "CPU s per chunk": (took - start) / chunks,
        "wall s per chunk": (wall - ready) / chunks,
    }


def dask(count: int, chunks: int, settings: dict[str, Any]) -> dict[str, float]:
    """The same for a local Dask cluster, and the overhead of its processes beyond the work itself."""
    begun, wall = time.process_time(), time.perf_counter()
    with dask_cluster(count, settings) as client:

        def used() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        swept(4 * count * 64, executor=client, chunk=64)  # workers import and compile
        start, ready = used() - begun, time.perf_counter() - wall
        before, wall = used(), time.perf_counter()
        time.sleep(_IDLE)
        idle = (used() - before) / (time.perf_counter() - wall)
        executor = Clocked(client.get_executor(), count)
        before, wall = used(), time.perf_counter()
        swept(chunks * CHUNK, executor=executor)
        wall, took = (time.perf_counter() - wall) / chunks, (used() - before) / chunks
    work = executor.seconds / chunks
    quiet = took - idle * (wall - work / count)
    return {
        "CPU s to start": start,
        "wall s to start": ready,
        "CPU s per chunk": took,
        "of it work": work,
        "wall s per chunk": wall,
        "CPU s per second when idle": idle,
        "CPU % more than the work": 100 * (took / work - 1),
        "with timers for the time of the work": 100 * (quiet / work - 1),
    }


def compare_with_dask(count: int, chunks: int, rounds: int = 2) -> dict[str, dict[str, float]]:
    """All variants in turn, with the best round of each; the overhead of Dask is computed from these."""
    variants = {
        "workers of our own": lambda: own(count, chunks),
        "Dask as it comes": lambda: dask(count, chunks, {}),
        "Dask with few timers": lambda: dask(count, chunks, FEW_TIMERS),
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, variant in variants.items():
            found[name].append(variant())
    out = {name: min(rows, key=lambda row: row["CPU s per chunk"]) for name, rows in found.items()}
    ours, *others = out.values()
    for row in others:
        row |= {f"{key.split()[0]} % more than our workers": 100 * (row[key] / ours[key] - 1) for key in _COMPARED}
    return out


def simulated(part: dict[str, float], count: int, rounds: int = 3) -> dict[str, float]:
    """Wall seconds of this number of simulated workers, compared with the cost model."""
    chunk = (CHUNK * part["µs per run"] + 1e3 * part["ms per chunk besides"]) * 1e-6
    many = spec_of(rounds * count * CHUNK)
    found = ChunkResult({name: np.zeros(CHUNK) for name in OBSERVE}, {})

    def waits(*_: Any) -> ChunkResult:
        time.sleep(chunk)
        return found

    with ThreadPoolExecutor(count) as pool, mock.patch.object(worker_pool, "evaluate_chunk", waits):
        used, wall = measure_time(lambda: list(worker_pool.chunk_results(many, range(many.chunks), pool, None)))
    driver = many.chunks * part["ms per chunk, driver"] * 1e-3
    return {"workers": count, "wall s": wall, "predicted": max(rounds * chunk, driver), "driver CPU s": used}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--alone", type=int, default=20)
    parser.add_argument("--peer", type=int, default=8)
    parser.add_argument("--panda", type=int, default=0, metavar="RUNS", help="also a sweep of the Panda")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--simulated", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--dask", type=int, nargs="?", const=20, default=0, metavar="CHUNKS")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    part = parts(options.workers)
    out: dict[str, Any] = {"parts": part, "sweeps": checked(part, options.runs, options.workers)}
    per_run = (
        out["sweeps"][-1]["wall s"] / options.runs[-1] if options.runs else math.nan
    )  # s per run, all cores, start included
    if options.panda:
        out["panda"] = panda(options.panda, options.workers)
    if options.alone:
        took, wall = alone(options.alone)
        out["one by one"] = {
            "runs": options.alone,
            "µs per run": took * 1e6,
            "lanes are faster": took * 1e6 / part["µs per run"],
            "lanes and cores are faster, wall": wall / per_run,
        }
    if options.peer:
        took, wall, off = peer(options.peer, options.workers)
        out["SciPy and joblib"] = {
            "runs": options.peer,
            "ms per run": took * 1e3,
            "times ours": took * 1e6 / part["µs per run"],
            "times ours, wall on as many cores": wall / options.workers / per_run,
            "largest difference of x": off,
        }
    if options.dask:
        out |= compare_with_dask(options.workers, options.dask)
    out["simulated workers"] = [simulated(part, count) for count in options.simulated]
    print(json.dumps(out, indent=2) if options.json else format_results(out))


def format_results(out: dict[str, Any]) -> str:
    """The results as lines of text."""
    lines = []
    for title, found in out.items():
        lines.append(title)
        for row in found if isinstance(found, list) else [found]:
            lines.append("    " + ", ".join(f"{name}: {value:.4g}" for name, value in row.items()))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
