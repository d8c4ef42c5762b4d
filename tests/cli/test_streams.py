"""Closed and full streams, a missing home directory, a full disk: error message and documented exit code."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

SHORT = ("--duration", "0.1", "--samples", "3", "--integrator", "rk4")


def dalembert(*words, **options):
    command = [sys.executable, "-m", "dalembert", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=120, **options)


def closed(number):
    return lambda: os.close(number)


@pytest.mark.slow(4)
@pytest.mark.parametrize("words", [("gallery",), ("gallery", "--json")])
def test_closed_stdout(words):
    found = dalembert(*words, preexec_fn=closed(1))
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("words", [("gallery",), pytest.param(("gallery", "--json"), marks=pytest.mark.slow(3))])
def test_full_stdout(words):
    with open("/dev/full", "w") as full:
        found = dalembert(*words, stdout=full)
    assert found.returncode == 1
    assert found.stderr.startswith("error: ")
    assert "No space left on device" in found.stderr
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize("home", [None, "/no/such/place", "/dev/null"])
def test_without_a_home_directory(home, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    if home is not None:
        environment["HOME"] = home
    found = dalembert(
        *("simulate", "simple-pendulum", *SHORT, "--json"), env=environment, cwd=tmp_path, stdout=subprocess.PIPE
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("{\n")


@pytest.mark.parametrize("suffix", ["nc", pytest.param("csv", marks=pytest.mark.slow(6))])
def test_full_disk_is_reported(suffix, tmp_path):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    path = tmp_path / f"run.{suffix}"
    words = ("simulate", "simple-pendulum", "--integrator", "rk4", "--duration", "1", "--samples", "2000")
    found = dalembert(*words, "--output", str(path), preexec_fn=small, stdout=subprocess.PIPE)
    assert (found.returncode, found.stdout) == (1, "")
    assert "cannot write the file (File too large). Choose another path or free disk space." in found.stderr
    assert list(Path(tmp_path).iterdir()) == []
