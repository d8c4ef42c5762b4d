"""SIGKILL of a worker, the driver, a cluster worker: the sweep resumes with bit-identical results."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import dalembert as dl

SWEEP = {
    "model": "cart-pendulum",
    "vary": {"l": (0.1, 0.3), "m2": (0.3, 0.6)},
    "observe": ["max(x)", "energy"],
    "samples": "sobol",
    "runs": 1600,
    "duration": 10.0,
    "times": 21,
    "chunk": 50,
}
SCRIPT = """
import sys, json
import dalembert as dl
options = json.loads(sys.argv[1])
dl.sweep(options.pop("model"), options.pop("vary"), checkpoint=sys.argv[2], workers=2, **options)
"""


def run_sweep(**more):
    known = {**SWEEP, **more}
    return dl.sweep(known.pop("model"), known.pop("vary"), **known)


def children(parent):
    listing = subprocess.run(
        ["ps", "-ww", "--ppid", str(parent), "-o", "pid=,args="], capture_output=True, text=True, check=False
    )
    return [int(line.split()[0]) for line in listing.stdout.splitlines() if "analysis.worker_pool" in line]


def lines(folder):
    journal = folder / "journal.jsonl"
    return len(journal.read_bytes().splitlines()) if journal.exists() else 0


def waited_for(true, seconds=240):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def driver(folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, json.dumps(SWEEP), str(folder)], env=environment)


@pytest.mark.nightly
def test_a_killed_worker_is_replaced_without_loss(tmp_path):
    process = driver(tmp_path)
    try:
        assert waited_for(lambda: lines(tmp_path) >= 4)
        (first, *_) = children(process.pid)
        os.kill(first, signal.SIGKILL)
        assert process.wait(300) == 0
    finally:
        process.kill()
    assert lines(tmp_path) == 32
    assert run_sweep(checkpoint=tmp_path).equals(run_sweep(workers=1))


@pytest.mark.nightly
def test_a_killed_driver_loses_nothing_and_leaves_no_processes(tmp_path):
    process = driver(tmp_path)
    try:
        assert waited_for(lambda: lines(tmp_path) >= 6)
        workers = children(process.pid)
        assert workers
    finally:
        process.kill()
        process.wait()
    finished = lines(tmp_path)
    assert 6 <= finished < 32
    assert waited_for(lambda: not any(_alive(worker) for worker in workers), 60)
    made = []
    found = run_sweep(checkpoint=tmp_path, workers=1, progress=lambda fraction: made.append(fraction) or None)
    assert len(made) == 32 - finished
    assert found.equals(run_sweep(workers=1))


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.nightly
@pytest.mark.filterwarnings("default")
def test_a_killed_dask_worker_loses_nothing():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        known = run_sweep(workers=1)
        victim = []

        def strike(fraction):
            if fraction > 0.2 and not victim:
                victim.append(next(iter(client.run(os.getpid).values())))
                os.kill(victim[0], signal.SIGKILL)

        assert run_sweep(executor=client, progress=strike).equals(known)
        assert victim
