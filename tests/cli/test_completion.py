"""Shell completion, by the protocol between argcomplete and the shell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import dalembert
from dalembert.io import gallery


def complete(line: str, directory: str | os.PathLike[str]) -> set[str]:
    """The completions that the program writes for a command line with the cursor at its end."""
    answer = os.path.join(directory, ".completions")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": answer,
        "_ARGCOMPLETE_SHELL": "bash",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    program = [sys.executable, "-c", "import sys; from dalembert.cli import main; sys.exit(main())"]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, cwd=directory, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with open(answer, encoding="utf-8") as file:
        return {each.rstrip() for each in file.read().split("\n") if each}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dalembert s", {"simulate", "sweep", "studio", "symmetries"}),
        ("dalembert derive --fo", {"--formalism", "--format"}),
        ("dalembert sweep --sam", {"--samples", "--sampling"}),
        ("dalembert derive double-pendulum --formalism vol", {"volterra", "volterra_reduced"}),
        ("dalembert derive double-pendulum --formalism kane,newt", {"kane,newton_euler"}),
        ("dalembert simulate double-pendulum --integrator rk", {"rk4", "rk45"}),
        ("dalembert sweep rope --sampling ", {"grid", "sobol", "random"}),
        ("dalembert export rope --format ju", {"julia"}),
        ("dalembert paper vo", {"volterra"}),
    ],
)
def test_names_are_completed(tmp_path, line, expected):
    assert complete(line, tmp_path) == expected


def test_models_are_completed_from_the_gallery_and_from_files(tmp_path):
    (tmp_path / "doubtful.toml").touch()
    (tmp_path / "double.txt").touch()
    expected = {name for name in gallery.names() if name.startswith("doub")} | {"doubtful.toml"}
    assert "double-pendulum" in expected
    assert complete("dalembert check doub", tmp_path) == expected
    assert complete("dalembert studio doub", tmp_path) == expected


def test_values_without_known_names_have_no_completions(tmp_path):
    (tmp_path / "1.toml").touch()
    assert complete("dalembert simulate rope --duration 1", tmp_path) == set()


def test_programs_that_do_not_complete_do_not_import_argcomplete():
    script = "import sys; from dalembert.cli import main; main(['--version']); print('argcomplete' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["dalembert", dalembert.__version__, "False"]
