"""Public objects are immutable values that pickle and copy, also to another process with identical results."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from sympy import symbols
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.model.immutable import Frozen
from dalembert.simulation.workspace import forget_workspaces, setup, workspace_of


def there_and_back(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301 (our own bytes)


WAYS = pytest.mark.parametrize("way", [there_and_back, copy.deepcopy, copy.copy])


def same_run(run, other) -> bool:
    names = ("t", "q", "qd", "qdd", "v", "energy", "momenta", "violation", "multipliers", "reactions")
    works = np.array_equal(list(run.work.values()), list(other.work.values())) and list(run.work) == list(other.work)
    return works and all(np.array_equal(getattr(run, name), getattr(other, name)) for name in names)


# the description


@pytest.mark.parametrize("name", dl.gallery.names())
def test_descriptions_compare_hash_and_pickle_by_content(name):
    model = dl.load(name)
    value = model.description
    again = there_and_back(value)
    assert again == value
    assert hash(again) == hash(value)
    assert again.content == value.content
    assert dl.load(name).description == value
    assert model.note("something else").description != value
    assert value.content != model.description.content


def test_description_is_immutable():
    value = dl.load("cart-pendulum").description
    with pytest.raises(AttributeError):
        value.bodies = ()
    with pytest.raises(AttributeError):
        value.limits.x = 1
    with pytest.raises(TypeError):
        value.limits["x"] = 1  # pyright: ignore[reportIndexIssue]


def test_description_does_not_follow_later_changes_of_the_model():
    model = dl.Model("m").coordinates("x")
    before = model.description
    model.body("b", joint=model.prismatic((1, 0, 0), "x"), mass=1)
    assert before.bodies == ()
    assert len(model.description.bodies) == 1
    other = dl.Model.of(model.description).coordinates("y")
    assert model.coordinate_names == ("x",)
    assert other.coordinate_names == ("x", "y")


def test_misspelled_attributes_of_a_model_are_reported():
    model = dl.Model("m")
    with pytest.raises(AttributeError, match=r"no element 'duratoin' to set\. Did you mean 'duration'"):
        model.duratoin = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError, match=r"no attribute 'bodeis'\. Did you mean 'bodies'"):
        _ = model.bodeis  # pyright: ignore[reportAttributeAccessIssue]


def test_equal_models_share_compiled_functions():
    first, second = (dl.derive(dl.load("simple-pendulum"), "kane") for _ in range(2))
    assert first == second
    assert first.kernel is second.kernel
    longer = dl.derive(dl.load("simple-pendulum").with_parameters(l=3.0), "kane")
    assert longer != first
    assert longer.kernel is not first.kernel


def test_cleared_cache_is_rebuilt():
    model = dl.load("simple-pendulum")
    space = workspace_of(setup(model))
    assert workspace_of(setup(model)) is space
    forget_workspaces()
    assert workspace_of(setup(model)) is not space


# equations and runs


@WAYS
@pytest.mark.parametrize("key", ["lagrange", "volterra_reduced", "hamilton", "newton_euler"])
def test_equations_pickle_and_copy(way, key):
    model = dl.load("cart-pendulum")
    eom = dl.derive(model, key).with_parameters(m1=2.0)
    other = way(eom)
    assert other == eom
    assert hash(other) == hash(eom)
    assert other.parameters == eom.parameters
    q, qd = model.initial
    assert np.array_equal(other.accelerations(q, qd), eom.accelerations(q, qd))


@WAYS
@pytest.mark.parametrize("integrator", ["taylor", "dop853", "rk45", "rk4", "radau", "ida", "algorithm4"])
def test_runs_pickle_with_dense_output(way, integrator):
    run = dl.derive(dl.load("double-pendulum"), "lagrange").simulate(0.3, samples=4, integrator=integrator, dense=True)
    other = way(run)
    assert same_run(run, other)
    assert np.array_equal(run.at(0.123), other.at(0.123))
    assert (other.status, other.notes, other.integrator) == (run.status, run.notes, run.integrator)


def test_evidence_pickles():
    model = dl.load("simple-pendulum")
    table = there_and_back(dl.compare(model, ["lagrange", "kane"], duration=0.5, samples=6))
    assert [row.formalism for row in table] == ["lagrange", "kane"]
    assert table.runs["kane"].energy_error < 1e-12
    agreement = dl.verify(model, states=5, engines=["python"])
    assert there_and_back(agreement) == agreement == copy.deepcopy(agreement)
    proof = dl.prove(model)
    assert there_and_back(proof) == proof
    assert there_and_back(dl.mobility(model)) == dl.mobility(model)


def _elsewhere(eom):
    return eom.simulate(0.4, samples=5)


def test_run_in_another_process_is_bit_identical():
    eoms = [dl.derive(dl.load("cart-pendulum"), key) for key in ("lagrange", "volterra_reduced")]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(_elsewhere, eoms))
    for eom, run in zip(eoms, found, strict=True):
        assert same_run(run, _elsewhere(eom))


def test_sympy_symbols_pickle():
    m, k = symbols("m k", positive=True)
    theta: Any = dynamicsymbols("theta")
    model = dl.Model.from_energies(
        "pendulum", coordinates=[theta], kinetic=m * k**2 * theta.diff() ** 2 / 2, parameters={m: 1.0, k: 0.5}
    )
    eom = there_and_back(dl.derive(model, "lagrange"))
    assert eom.mass_matrix[0, 0] == m * k**2


# other values of parameters


def test_parameters_by_name_or_symbol():
    m, k = symbols("m k", positive=True)
    x: Any = dynamicsymbols("x")
    model = dl.Model.from_energies(
        "m", coordinates=[x], kinetic=m * x.diff() ** 2 / 2, potential=k * x**2, parameters={m: 1, k: 2}
    )
    eom = dl.derive(model, "lagrange").with_parameters({k: 8.0})
    assert eom.accelerations([1.0], [0.0]) == pytest.approx([-16.0])
    assert model.with_parameters({m: 4}).parameter_values == {"m": 4.0, "k": 2.0}
    assert eom.with_parameters(m="k/2").parameters["m"] == 1.0


def test_values_that_cannot_change_the_structure_reuse_all_facts(monkeypatch):
    eom = dl.derive(dl.load("cart-pendulum"), "volterra_reduced")

    def fail(*_):
        raise AssertionError("the structure was found again")

    eom.with_parameters(m1=2.0)
    monkeypatch.setattr("dalembert.simulation.bound_equations.violated_fact", fail)
    assert eom.with_parameters(m1=3.0, g=1.6).parameters["m1"] == 3.0
    for change in ({"m1": -1.0}, {"m2": 0.0}, {"l": 0.7}):  # another sign, none, and a parameter of the constraint
        with pytest.raises((AssertionError, dl.ModelError)):
            eom.with_parameters(change)


def test_values_that_remove_inertia_are_reported_on_use():
    model = dl.Model("m").parameters(a=2.0, b=1.0).coordinates("x")
    model.body("block", joint=model.prismatic((1, 0, 0), "x"), mass="a - b").force("block", (1, 0, 0))
    eom = dl.derive(model, "lagrange").with_parameters(b=2.0)
    with pytest.raises(dl.SingularError, match="'u1' has no inertia"):
        eom.accelerations([0.0], [0.0])


def test_negative_mass_is_rejected():
    model = dl.load("simple-pendulum")
    name = next(iter(model.bodies[0].mass.free_symbols)).name
    with pytest.raises(dl.ModelError, match="mass"):
        dl.derive(model, "lagrange").with_parameters({name: -1.0})


# frozen mappings


def test_frozen_mapping_compares_hashes_and_merges():
    one = Frozen(x=1)
    assert one == {"x": 1}
    assert hash(one | {"y": 2}) == hash(Frozen({"x": 1, "y": 2}))
    assert there_and_back(one) == copy.deepcopy(one) == one
    with pytest.raises(AttributeError):
        one.y = 2


# files


@pytest.mark.parametrize(
    ("name", "key", "options"),
    [
        ("cart-pendulum", "volterra_reduced", {"integrator": "taylor", "dense": True}),
        ("rolling-disk", "kane", {"integrator": "dop853", "dense": True}),
        ("simple-pendulum", "hamilton", {"integrator": "rk4"}),
        ("four-bar", "kane", {"integrator": "taylor"}),
    ],
)
def test_saved_run_is_loaded_without_loss(name, key, options, tmp_path):
    eom = dl.derive(dl.load(name), key)
    run = eom.simulate(1.2, samples=13, **options)
    other = dl.load_run(run.save(tmp_path / "run.nc"))
    assert same_run(run, other)
    assert other.status == run.status
    assert (other.notes, other.integrator, other.cpu_seconds) == (run.notes, run.integrator, run.cpu_seconds)
    assert (other.steps, other.evaluations) == (run.steps, run.evaluations)
    if options.get("dense"):
        assert np.array_equal(other.at(0.77), run.at(0.77))


def test_parameters_and_stabilization_are_saved(tmp_path):
    eom = dl.derive(dl.load("cart-pendulum"), "lagrange")
    run = eom.simulate(0.5, samples=6, stabilization=(4.0, 4.0), parameters={"m1": 2.0})
    other = dl.load_run(run.save(tmp_path / "run.nc"))
    assert same_run(run, other)
    assert other.parameters == run.parameters


def test_files_that_are_not_runs_are_reported(tmp_path):
    broken = tmp_path / "x.nc"
    broken.write_bytes(b"nothing")
    with pytest.raises(dl.InputError, match=r"x\.nc' cannot be read as a run"):
        dl.load_run(broken)
    with pytest.raises(dl.InputError, match=r"none\.nc' cannot be read as a run"):
        dl.load_run(tmp_path / "none.nc")
    run = dl.simulate("simple-pendulum", 0.2, samples=3)
    run.to_xarray().to_netcdf(tmp_path / "plain.nc", engine="h5netcdf")
    with pytest.raises(dl.InputError, match="it has no checksum at its end"):
        dl.load_run(tmp_path / "plain.nc")


def test_new_process_reads_a_saved_run(tmp_path):
    run = dl.simulate("simple-pendulum", 0.4, samples=5)
    run.save(tmp_path / "run.nc")
    text = "import sys, dalembert as dl; run = dl.load_run(sys.argv[1]); print(repr(run.energy.tolist()))"
    result = subprocess.run(
        [sys.executable, "-c", text, str(tmp_path / "run.nc")], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == repr(run.energy.tolist())
