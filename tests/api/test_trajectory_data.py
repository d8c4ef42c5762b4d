"""Access to a run does not derive or compile anything, after simulate and after loading in a new process."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as dl

# what derives and what compiles: calling any of these while a run is read is an error
FORBIDDEN = (
    ("dalembert.formalisms.catalog", "find"),
    ("dalembert.simulation.workspace", "CompiledEquations.derived"),
    ("dalembert.simulation.workspace", "workspace_of"),
    ("dalembert.mechanics.system", "system_of"),
    ("dalembert.mechanics.facts", "facts_of"),
    ("dalembert.mechanics.motion", "move"),
    ("dalembert.mechanics.motion", "move_symbols"),
    ("dalembert.recursive.link_states", "moving"),
    ("dalembert.codegen.program", "program_of"),
    ("dalembert.codegen.function", "compile_function"),
    ("dalembert.codegen.function", "function_of"),
    ("dalembert.codegen.function", "CompiledFunction.__call__"),
    ("dalembert.codegen.function", "NativeFunction.__call__"),
    ("dalembert.codegen.function", "PythonFunction.__call__"),
    ("dalembert.codegen.llvm._machine_code", "MachineCode.__init__"),
    ("dalembert.codegen._python_backend", "InterpretedProgram.__init__"),
    ("dalembert.simulation.integrators.integrate", "integrate"),
)
CASES = {
    "holonomic constraint": ("cart-pendulum", "volterra_reduced", 1.0),
    "loop": ("four-bar", "kane", 0.3),
    "tree by recursion": ("rope", "denoc", 0.02),
    "rigid contact": ("bouncing-ball", "lagrange", 1.0),
    "change of chart": ("heavy-top", "lagrange", 0.5),
}
LINKS = 70  # of the rope, enough for a recursive run


def forbid() -> None:
    """Make everything that derives or compiles raise, wherever its name was imported."""
    from importlib import import_module

    def raising(name):
        def fail(*arguments, **options):
            raise AssertionError(f"{name} was called while a run was read")

        return fail

    for module, name in FORBIDDEN:
        owner, _, attribute = name.rpartition(".")
        home = import_module(module)
        if owner:
            setattr(getattr(home, owner), attribute, raising(name))
            continue
        original = getattr(home, name)
        for each in [m for key, m in sys.modules.items() if key.startswith("dalembert")]:
            if getattr(each, name, None) is original:
                setattr(each, name, raising(name))


def read_everything(run, folder) -> None:
    """Read, plot and write every quantity of a run."""
    assert repr(run)
    assert str(run)
    _ = run.energy_error, run.constraint_error, run.momentum_error
    if run.knows_joints:
        for frame in ("world", "parent", "child"):
            run.joint_reactions(frame)
    if run.bodies is not None:
        body = run.bodies.names[-1]
        _ = run.pose(body), run.path(body, (0, 0, 0)), run.velocity(body), run.acceleration(body)
        run[body, "position"]
    for panel in ((), *((name,) for name in ("momenta", "phase", "drives", "joints", "multipliers", "reactions"))):
        try:
            run.plot(*panel)
        except dl.InputError as error:
            assert "Remove it" in str(error)  # noqa: PT017 (the run has no such panel)
    run.to_xarray()
    run.to_dataframe()
    assert run["kinetic"].shape == run.t.shape
    for suffix in (".nc", ".csv"):
        run.save(Path(folder) / f"again{suffix}")
    again = pickle.loads(pickle.dumps(run))  # noqa: S301 (our own bytes)
    assert np.array_equal(again.q, run.q)


def simulated(kind):
    name, formalism, duration = CASES[kind]
    model = dl.load(name, links=LINKS) if name == "rope" else dl.load(name)
    return dl.derive(model, formalism).simulate(duration, samples=11, integrator="dop853", dense=True)


def in_fresh_process(text, *arguments):
    """Run Python with the functions of this module."""
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_trajectory_data import *\n"
    found = subprocess.run(
        [sys.executable, "-c", here + text, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr[-2000:]


@pytest.mark.parametrize("kind", CASES)
def test_reading_a_run_derives_and_compiles_nothing(kind, tmp_path):
    """In separate processes, where the functions that derive are replaced."""
    simulated(kind).save(tmp_path / "run.nc")
    in_fresh_process("run = simulated(sys.argv[1]); forbid(); read_everything(run, sys.argv[2])", kind, tmp_path)
    loaded = "forbid(); run = dl.load_run(sys.argv[1] + '/run.nc'); read_everything(run, sys.argv[1])"
    in_fresh_process(loaded, tmp_path)


@pytest.mark.parametrize("kind", CASES)
def test_saved_run_contains_the_same_data(kind, tmp_path):
    run = simulated(kind)
    again = dl.load_run(run.save(tmp_path / "run.nc"))
    assert type(again) is type(run)
    for name, value in vars(run).items():
        other = getattr(again, name)
        if isinstance(value, np.ndarray):
            assert np.array_equal(other, value, equal_nan=True), name
        elif name in ("work", "powers", "inputs", "loads", "efforts") and value is not None:
            assert list(other) == list(value), name
            assert all(np.array_equal(other[key], value[key]) for key in value), name
        elif name in ("description", "model", "formalism", "notes", "segments", "constraint_names", "status", "steps"):
            assert other == value, name
    if run.joints is not None:
        assert again.joints is not None
        assert list(again.joints) == list(run.joints)
        for key, joint in run.joints.items():
            assert np.array_equal(again.joints[key].force, joint.force)
            assert np.array_equal(again.joints[key].moment, joint.moment)
    if run.bodies is not None:
        for name, value in vars(run.bodies).items():
            assert np.array_equal(getattr(again.bodies, name), value), name
    middle = float(run.t[3] + run.t[4]) / 2
    assert np.array_equal(again.at(middle), run.at(middle))


def test_large_model_error_names_evaluate():
    eom = dl.derive(dl.load("rope", links=LINKS), "denoc")
    run = eom.simulate(0.01, samples=3)
    with pytest.raises(dl.InputError, match=r"pose: .* has 70 bodies, more than the 40 .* run = eom\.evaluate\(run\)"):
        run.pose("rod70")
    full = eom.evaluate(run)
    expected = dl.kinematics(dl.load("rope", links=LINKS)).position(run.q, "rod70", t=run.t)
    np.testing.assert_allclose(full.path("rod70"), expected, atol=1e-12)


def test_equations_of_another_model_are_rejected():
    run = dl.simulate("simple-pendulum", 0.1, samples=2)
    with pytest.raises(dl.InputError, match="evaluate: the run belongs to 'simple-pendulum' by lagrange"):
        dl.derive("double-pendulum").evaluate(run)


@pytest.mark.parametrize("name", ["puma560", "floating-arm", "gyroscope", "stewart-platform", "bead-on-wire"])
def test_body_motions_equal_the_kinematics(name):
    run = dl.simulate(name, 0.05, samples=4, integrator="dop853")
    known, point = dl.kinematics(name), (0.1, -0.2, 0.3)
    if len(known.speed_names) != len(run.qd):
        pytest.skip("its velocities are not rates")
    assert run.bodies is not None
    for body in run.bodies.names:
        close: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11 * max(1.0, float(np.abs(run.qdd).max()))}
        state = (run.q, run.qd, body, point, run.t)
        np.testing.assert_allclose(run.path(body, point), known.position(run.q, body, point, run.t), **close)
        np.testing.assert_allclose(run.velocity(body, point), known.velocity(*state), **close)
        expected = known.acceleration(run.q, run.qd, run.qdd, body, point, run.t)
        np.testing.assert_allclose(run.acceleration(body, point), expected, **close)
