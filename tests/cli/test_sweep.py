"""`dalembert sweep`: files, summaries, reasons of failures, and a running Dask scheduler."""

import csv
import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import dalembert as dl

SOME = ("sweep", "simple-pendulum", "--vary", "m=2,-1,1", "--duration", "0.5", "--samples", "3", "--workers", "1")


@pytest.mark.slow(6)
def test_writes_rows_reasons_summary_and_plot(run, tmp_path):
    words = (
        *SOME,
        "--observe",
        "final(theta)",
        "--observe",
        "E=m*energy",
        "--output",
        "found.csv",
        "--plot",
        "found.svg",
    )
    found = run(*words, "--json")
    assert (found.code, found.err) == (0, "")
    with open("found.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    direct = dl.sweep("simple-pendulum", {"m": [2, -1, 1]}, observe="final(theta)", duration=0.5, times=3, workers=1)
    for row in rows:
        here = direct.sel(m=float(row["m"]))
        assert row["reason"] == str(here["reason"].values)
        assert row["final(theta)"] == ("" if row["m"] == "-1.0" else repr(float(here["final(theta)"])))
    assert found.data["failed"] == 1
    assert "mass" in found.data["reasons"][0]
    assert found.data["summary"]["final(theta)"]["mean"] == direct["final(theta)"].mean()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found.csv", "found.svg"]
    figure: Any = dl.plot_sweep(direct)
    assert [line.get_xdata().tolist() for line in figure.axes[0].lines if len(line.get_xdata()) > 1] == [[1.0, 2.0]]


def test_unavailable_file_format_is_refused_before_running(run, monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = run(*SOME, "--observe", "theta", "--output", "found.parquet")
    assert found.code == 1
    assert "Install pyarrow, or choose .csv or .nc" in found.err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def scheduler(tmp_path):
    """The address of a Dask scheduler with two workers, each in its own process."""
    distributed = pytest.importorskip(
        "distributed", reason="Dask is not installed: pip install dalembert[cluster] installs it"
    )
    scheduler_file = tmp_path / "scheduler.json"
    paths = os.pathsep.join(path for path in sys.path if path)
    options = {"env": {**os.environ, "PYTHONPATH": paths}, "stderr": subprocess.DEVNULL}
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    join = [sys.executable, "-m", "distributed.cli.dask_worker", "--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
    where = ["--scheduler-file", str(scheduler_file)]
    processes = [subprocess.Popen([*begin, "--no-dashboard", *where], **options)]
    try:
        while not scheduler_file.exists():
            assert processes[0].poll() is None
            time.sleep(0.1)
        processes.append(subprocess.Popen([*join, "--local-directory", str(tmp_path), *where], **options))
        with distributed.Client(scheduler_file=str(scheduler_file), timeout="60s") as client:
            client.wait_for_workers(2, timeout=120)
            address = client.scheduler.address
        yield address
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(60)


@pytest.mark.nightly
@pytest.mark.filterwarnings("default")
def test_cluster_sweep_resumes_after_the_driver_is_killed(run, scheduler, tmp_path):
    words = ["sweep", "cart-pendulum", "--vary", "l=0.1:0.3", "--vary", "m2=0.3:0.6", "--sampling", "sobol"]
    words += ["--runs", "6400", "--samples", "11", "--duration", "10", "--observe", "max(x)", "--observe", "energy"]
    cluster = [*words, "--output", "found.nc", "--cluster", scheduler]
    paths = os.pathsep.join(path for path in sys.path if path)
    driver = subprocess.Popen([sys.executable, "-m", "dalembert", *cluster], env={**os.environ, "PYTHONPATH": paths})
    journal, end = tmp_path / "found.nc.sweep" / "journal.jsonl", time.monotonic() + 240
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 5):
        assert driver.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert 5 <= journal.read_bytes().count(b"\n") < 64
    before = journal.read_bytes()
    again = run(*cluster, "--checkpoint", "found.nc.sweep", "--json")
    assert again.code == 0
    assert again.data["failed"] == 0
    assert journal.read_bytes().startswith(before)
    assert journal.read_bytes().count(b"\n") == 64
    known = dl.sweep(
        "cart-pendulum",
        {"l": (0.1, 0.3), "m2": (0.3, 0.6)},
        observe=["max(x)", "energy"],
        samples="sobol",
        runs=6400,
        times=11,
        duration=10.0,
    )
    columns = [np.lib.format.open_memmap(journal.parent / f"{i}.npy", mode="r") for i in range(2)]
    assert np.array_equal(columns[0], known["max(x)"].values)
    assert np.array_equal(columns[1], known["energy"].values)


@pytest.mark.nightly
@pytest.mark.filterwarnings("default")
def test_unreachable_scheduler_is_reported(run):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install dalembert[cluster] installs it")
    found = run(*SOME[:-2], "--observe", "theta", "--output", "found.nc", "--cluster", "tcp://127.0.0.1:9")
    assert found.code == 1
    assert "no Dask scheduler responds at 'tcp://127.0.0.1:9'" in found.err
