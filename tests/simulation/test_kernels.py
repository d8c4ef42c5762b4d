"""Compiled equations: results are equal for single states and batches, both engines, and cached code."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import dalembert as dl
from dalembert.codegen.function import NativeFunction
from dalembert.codegen.program import program_of
from dalembert.errors import EngineError, InconsistentStateError, InputError
from dalembert.formalisms import catalog
from dalembert.mechanics import state_batch
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.graph import GRAPH

ENGINES = ("native", "python")
# Dirac's equations do not support the nonholonomic constraints of these models
by_every_formalism = pytest.mark.parametrize("key", [key for key in catalog.KEYS if key != "dirac"])
on_every_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(scope="module")
def cart():
    return dl.load("cart-pendulum")


@pytest.fixture(scope="module")
def states(cart):
    return state_batch.consistent_states(cart, 9, seed=4)


@on_every_engine
@by_every_formalism
def test_batch_equals_single_states(cart, states, key, engine):
    eom = dl.derive(cart, key, engine=engine)
    for ask in (eom.accelerations, eom.reactions, eom.multipliers):
        together = ask(states.q, states.qd, states.t)
        alone = [ask(q, qd, t) for q, qd, t in zip(states.q.T, states.qd.T, states.t, strict=True)]
        assert together.shape == (len(alone[0]), 9)
        assert np.allclose(together, np.transpose(alone), rtol=1e-12, atol=1e-12)


@by_every_formalism
def test_both_engines_agree(cart, states, key):
    fast, portable = (dl.derive(cart, key, engine=engine) for engine in ENGINES)
    assert (fast.engine, portable.engine) == ENGINES
    for name in ("accelerations", "reactions"):
        found = [getattr(eom, name)(states.q, states.qd, states.t) for eom in (fast, portable)]
        assert np.allclose(*found, rtol=1e-11, atol=1e-11)


def test_batch_of_one_state_or_none(cart):
    eom = dl.derive(cart, "kane")
    q, qd = cart.initial
    assert np.allclose(eom.accelerations(q[:, None], qd[:, None])[:, 0], eom.accelerations(q, qd))
    assert eom.accelerations(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)


# parameters


@on_every_engine
@by_every_formalism
def test_parameters_change_without_recompilation(cart, states, key, engine):
    values = {"m2": 0.8, "l": 0.35, "tau": 0.1}
    first = dl.derive(cart, key, engine=engine)
    changed = first.with_parameters(values)
    assert changed.kernel is first.kernel
    derived_again = dl.derive(cart.with_parameters(values), key, engine=engine)
    q, qd, t = states.q, states.qd, states.t
    assert np.allclose(changed.accelerations(q, qd, t), derived_again.accelerations(q, qd, t), rtol=1e-11)
    assert not np.allclose(changed.accelerations(q, qd, t), first.accelerations(q, qd, t), rtol=1e-3)
    assert changed.parameters == first.parameters | values
    assert first.parameters["l"] == 0.2


def test_parameters_of_one_simulation(cart):
    eom = dl.derive(cart, "volterra_reduced")
    heavy = eom.simulate(0.5, samples=3, parameters={"m1": 4.0})
    again = dl.derive(cart.with_parameters(m1=4.0), "volterra_reduced").simulate(0.5, samples=3)
    assert np.allclose(heavy.q, again.q, rtol=1e-12)
    assert heavy.energy[0] == pytest.approx(again.energy[0])
    assert not np.allclose(heavy.q, eom.simulate(0.5, samples=3).q, rtol=1e-6)


def test_unknown_parameter_lists_known_names(cart):
    with pytest.raises(InputError, match=r"there is no parameter 'm3'\. Known names: g, l, m1, m2, tau\."):
        dl.derive(cart, "kane", engine="python").with_parameters(m3=1.0)


# disk cache of compiled code

SCRIPT = """
import sys
import dalembert as dl
model = dl.load("simple-pendulum")
eom = dl.derive(model, "kane")
print(float(eom.accelerations([0.3], [0.1])[0]), float(eom.simulate(0.1, samples=2).q[0, 1]))
"""


def test_next_process_reuses_compiled_code(tmp_path):
    def run():
        command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
        environment = os.environ | {"DALEMBERT_CACHE": str(tmp_path)}
        printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        return printed, {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    first, again = run(), run()
    assert first[1]
    assert again == first


def test_corrupt_cache_file_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    program = program_of(vector(GRAPH.symbols(["x"]) * 3), ["x"])
    assert NativeFunction(program)(np.array([2.0]), np.zeros(0)) == [6.0]
    (cached,) = tmp_path.iterdir()
    cached.write_bytes(b"spoilt" + cached.read_bytes()[6:])
    assert NativeFunction(program)(np.array([2.0]), np.zeros(0)) == [6.0]
    assert not cached.read_bytes().startswith(b"spoilt")


def test_read_only_cache_is_ignored(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "file"))
    program = program_of(vector(GRAPH.symbols(["x"]) * 5), ["x"])
    assert NativeFunction(program)(np.array([2.0]), np.zeros(0)) == [10.0]


# invalid input


def test_unknown_engine_suggests_the_nearest(cart):
    with pytest.raises(InputError) as caught:
        dl.derive(cart, engine="natife")
    assert str(caught.value) == ("there is no engine 'natife'. Did you mean 'native'? Expected 'native' or 'python'.")


@pytest.fixture
def without(monkeypatch):
    """Hide packages as if they were not installed."""

    def leave_out(*names):
        found = importlib.util.find_spec
        monkeypatch.setattr(
            "importlib.util.find_spec", lambda name, *rest: None if name in names else found(name, *rest)
        )

    return leave_out


def test_python_engine_without_llvm(cart, without):
    without("llvmlite")
    eom = dl.derive(cart, "kane")
    assert eom.engine == "python"
    assert eom.simulate(0.1, samples=2).integrator == "dop853"
    assert dl.verify(dl.load("simple-pendulum"), states=3).engines == ("python",)
    with pytest.raises(EngineError) as caught:
        dl.derive(cart, engine="native")
    assert str(caught.value) == (
        "the engine 'native' needs llvmlite, which is not installed. Use engine='python', or install llvmlite."
    )


@pytest.mark.parametrize(
    ("q", "qd", "message"),
    [
        ([0, 0], [0, 0], "q has shape (2,). Expected (3,) for one state or (3, batch), the same for q and qd"),
        ([0, 0, 0], [0, 0], "qd has shape (2,). Expected (3,) for one state or (3, batch)"),
        ([0, 0, 0], [[0, 0]] * 3, "qd has shape (3, 2). Expected (3,) for one state"),
        ([0, float("nan"), 0], [0, 0, 0], "q contains values that are not finite. Expected finite numbers."),
        ([0, 0, 0], [0, 0, float("inf")], "qd contains values that are not finite. Expected finite numbers."),
    ],
)
def test_rejects_states_of_wrong_shape(cart, q, qd, message):
    with pytest.raises(InputError) as caught:
        dl.derive(cart, "kane", engine="python").accelerations(q, qd)
    assert message in str(caught.value)


def test_rejects_velocities_that_violate_a_constraint(cart):
    eom = dl.derive(cart, "kane", engine="python")
    with pytest.raises(InconsistentStateError) as caught:
        eom.accelerations([0, 0, 0], [1.0, 1.0, 0])
    assert "the state does not satisfy the constraints at velocity level: the rate of 'theta" in str(caught.value)
    good, bad = [1.0, -1.0, 0.0], [1.0, 1.0, 0.0]
    with pytest.raises(InconsistentStateError, match="state 1 of the batch does not satisfy"):
        eom.accelerations(np.zeros((3, 2)), np.transpose([good, bad]))
