"""`dalembert linearize` and `dalembert equilibrium`."""

import json

import numpy as np
import pytest

from dalembert.cli.entry_point import main


def run_main(capsys, *words):
    code = main(list(words))
    return code, capsys.readouterr()


@pytest.mark.nightly
def test_writes_an_animation_of_a_mode(capsys, tmp_path):
    code, _ = run_main(capsys, "linearize", "simple-pendulum", "--equilibrium", "--animate", str(tmp_path / "mode.png"))
    assert code == 0
    assert (tmp_path / "mode.png").read_bytes()[1:4] == b"PNG"


def test_modes_of_a_pendulum(capsys):
    words = ("linearize", "simple-pendulum", "--equilibrium", "--input", "theta", "--matrices")
    code, found = run_main(capsys, *words)
    assert code == 0
    assert "'simple-pendulum' about: equilibrium" in found.out
    assert "3.13209" in found.out  # √9.81
    assert "states: theta, dot(theta)" in found.out
    code, found = run_main(capsys, *words, "--json")
    data = json.loads(found.out)
    assert np.allclose(np.array(data["A"]), [[0, 1], [-9.81, 0]], atol=1e-12)
    assert data["modes"][0]["damping_ratio"] == 0


def test_equilibria_of_a_pendulum(capsys):
    code, found = run_main(capsys, "equilibrium", "simple-pendulum", "--guesses", "5")
    assert code == 0
    assert "stable: the smallest eigenvalue" in found.out
    code, found = run_main(
        capsys, "equilibrium", "simple-pendulum", "--fix", "theta", "--start", "theta=pi/6", "--json"
    )
    assert np.isclose(json.loads(found.out)[0]["holding_forces"]["theta"], 9.81 / 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("linearize", "simple-pendulum", "--start", "theta=1"), "is neither an equilibrium nor a steady motion"),
        (("equilibrium", "simple-pendulum", "--fix", "thta"), "there is no 'thta'"),
        (("linearize", "simple-pendulum", "--animate", "mode.doc"), "Expected a file name that ends in"),
    ],
)
def test_wrong_input(capsys, words, message):
    code, found = run_main(capsys, *words)
    assert code == 2
    assert message in found.err
