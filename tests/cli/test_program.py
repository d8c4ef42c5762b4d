"""Behavior of all commands: help, exit codes, errors, startup, pipes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

import dalembert
from dalembert import errors
from dalembert.analysis.sweep_spec import SAMPLES
from dalembert.cli import model_commands, parsers
from dalembert.cli.commands import COMMANDS, EXAMPLES, FORMULATIONS
from dalembert.cli.entry_point import _parsers
from dalembert.formalisms.catalog import KEYS

PROGRAM = [sys.executable, "-m", "dalembert"]


def test_version(run):
    found = run("--version")
    assert (found.code, found.out) == (0, f"dalembert {dalembert.__version__}\n")


def test_help_lists_every_command_and_the_exit_codes(run):
    found = run("--help")
    assert found.code == 0
    assert all(command in found.out for command in COMMANDS)
    assert "0 done, 1 computation failed, 2 invalid input" in found.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(run, command):
    found = run(command, "--help")
    assert found.code == 0
    assert f"  dalembert {command}" in found.out
    assert "--json" in found.out


@pytest.mark.parametrize("example", [example for examples in EXAMPLES.values() for example in examples])
def test_examples_are_valid_command_lines(example):
    program, *words = shlex.split(example)
    assert program == "dalembert"
    assert _parsers(words[0])[0].parse_args(words).command == words[0]


@pytest.mark.parametrize(
    "example",
    [
        EXAMPLES["check"][0],
        EXAMPLES["derive"][3],
        EXAMPLES["equilibrium"][1],
        EXAMPLES["linearize"][1],
        EXAMPLES["export"][1],
        EXAMPLES["paper"][0],
    ],
)
def test_examples_run(run, example):
    assert run(*shlex.split(example)[1:]).code == 0


def test_example_of_fit_recovers_the_simulated_parameters(run):
    simulate, fit, *_ = EXAMPLES["fit"]
    assert run(*shlex.split(simulate)[1:]).code == 0
    found = run(*shlex.split(fit)[1:], "--json")
    assert (found.code, found.err) == (0, "")


def test_names_known_without_imports_are_those_of_the_library():
    assert tuple(FORMULATIONS) == KEYS
    assert parsers.SAMPLING == SAMPLES


def test_options_have_the_same_names_in_all_commands():
    for name in COMMANDS:
        words = [option for each in _parsers(name)[1]._actions for option in each.option_strings]
        assert not {"--to", "--film", "--keep", "--seek", "--moving", "--times", "--seconds"} & set(words)
        assert "--json" in words
        assert ("-o" in words) == ("--output" in words)


def test_help_of_derive_explains_formulations_and_formats(run):
    text = run("derive", "--help").out
    assert "A formulation is a method of mechanics" in text
    for key in KEYS:
        assert f"  {key}  " in text
    for form in ("text", "latex", "html", "json"):
        assert f"  {form} " in text


def test_without_a_command_the_help_goes_to_stderr(run):
    found = run()
    assert (found.code, found.out) == (2, "")
    assert "usage: dalembert" in found.err


def test_unknown_command_suggests_the_nearest(run):
    found = run("simulat", "cart-pendulum")
    assert found.code == 2
    assert found.err.startswith("error: unknown command 'simulat'. Did you mean 'simulate'?")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check"], "dalembert check: the following arguments are required: MODEL."),
        (
            ["check", "cart-pendulum", "--colour"],
            "dalembert check: unknown option '--colour'. Known names: --help, --json, --with.",
        ),
        (["compare", "cart-pendulum", "--durat", "1"], "unknown option '--durat'. Did you mean '--duration'?"),
        (["--jsn"], "dalembert: unknown option '--jsn'. Known names: --help, --version."),
        (["sweep", "cart-pendulum", "--vry=l=1,2"], "dalembert sweep: unknown option '--vry'. Did you mean '--vary'?"),
        (["check", "cart-pendulum", "again"], "dalembert check: unexpected argument 'again'. Remove"),
        (["check", "cart-pendulum", "-x"], "dalembert check: unexpected argument '-x'. Remove"),
        (["check", "cart-pendulm"], "there is no model 'cart-pendulm'. Did you mean 'cart-pendulum'?"),
        (["check", "nothing.toml"], "nothing.toml: there is no such file."),
        (["check", "x" * 5000], "there is no model"),
    ],
)
def test_invalid_command_lines_are_input_errors(run, words, message):
    found = run(*words)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("error: ")
    assert found.err.count("error:") == 1
    assert message in found.err


@pytest.mark.parametrize("words", [["check"], ["check", "nothing"], ["derive", "nothing"], ["compare", "nothing"]])
def test_errors_as_json(run, words):
    found = run(*words, "--json")
    assert found.code == 2
    assert found.data["kind"] == "InputError"
    assert found.data["problems"] == []
    assert found.err == f"error: {found.data['error']}\n"


@pytest.mark.parametrize("words", [["--format", "json"], ["--format=json"]])
def test_errors_of_derive_as_json_by_its_format(run, words):
    assert run("derive", "nothing", *words).data["kind"] == "InputError"


def test_control_characters_do_not_reach_the_terminal(run):
    found = run("check", "\x1b[31mred")
    assert "\x1b" not in found.err
    assert "\ufffd[31mred" in found.err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (errors.SingularError("the matrix is singular."), 1, "the matrix is singular."),
        (errors.EngineError("not installed."), 1, "not installed."),
        (errors.NotApplicableError("cannot treat it."), 2, "cannot treat it."),
        (MemoryError(), 1, "not enough memory."),
        (OSError(28, "No space left on device", "run.nc"), 1, "run.nc: No space left on device."),
        (KeyboardInterrupt(), 130, "interrupted by the user."),
    ],
)
def test_exit_codes_of_failures(run, monkeypatch, error, code, message):
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr(model_commands, "check", fail)
    found = run("check", "cart-pendulum", "--json")
    assert found.code == code
    assert found.data["error"].startswith(message)
    assert found.err == f"error: {found.data['error']}\n"


def test_help_does_not_import_heavy_packages():
    script = (
        "import sys; from dalembert.cli import main; main(['--help'])\n"
        "print(sorted({'sympy', 'matplotlib', 'xarray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_module_runs_as_a_program():
    done = subprocess.run([*PROGRAM, "check", "nothing"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no model 'nothing'.")


def test_only_the_result_on_a_pipe():
    words = ["simulate", "simple-pendulum", "--duration", "1", "--engine", "python", "--json"]
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True, env={**os.environ, "FORCE_COLOR": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["model"] == "simple-pendulum"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Windows behave differently")
@pytest.mark.parametrize("words", [["gallery", "cart-pendulum"], ["check", "three-bodies", "--json"]])
def test_broken_pipe_prints_nothing(words):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PROGRAM, *words], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_interrupt_prints_an_error():
    script = (
        # background jobs of a shell ignore interrupts, and their children inherit that
        "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from dalembert.cli import main, model_commands\n"
        "def work(arguments): print('ready', flush=True); time.sleep(60)\n"
        "model_commands.check = work; sys.exit(main(['check', 'cart-pendulum']))"
    )
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "error: interrupted by the user.\n"


@pytest.mark.parametrize(
    "words",
    [
        ["check", "cart-pendulum"],
        pytest.param(["derive", "double-pendulum"], marks=pytest.mark.slow(4)),
        ["gallery", "cart-pendulum"],
    ],
)
def test_terminals_without_unicode(words):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*PROGRAM, *words], capture_output=True, env=environment)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert (b"this terminal cannot display all characters" in done.stderr) == (words[0] == "derive")
