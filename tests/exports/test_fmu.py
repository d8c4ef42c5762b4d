"""Equations as FMUs: FMPy reads them, evaluates their derivatives and simulates them."""

from __future__ import annotations

import ctypes
import subprocess
import zipfile
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from exported_code import GCC

import dalembert as dl
from dalembert.api.export import source_of
from dalembert.io.code._fmi import fmu_files
from dalembert.mechanics import state_batch


def test_the_description_names_states_parameters_and_outputs():
    files = fmu_files(source_of(dl.derive("cart-pendulum", "kane", engine="python")), "cart")
    root: Any = ElementTree.fromstring(files["modelDescription.xml"])
    assert root.get("instantiationToken") in files["sources/fmi3.c"]
    variables: dict[str, Any] = {each.get("name"): each for each in root.findall("ModelVariables/Float64")}
    assert list(variables)[:6] == ["time", "theta1", "theta2", "x", "u1", "u2"]
    assert variables["der(u1)"].get("derivative") == variables["u1"].get("valueReference")
    assert float(variables["l"].get("start")) == 0.2
    assert {"ddot(x)", "lambda(wheel)", "rod2.x", "rod2.R33"} <= set(variables)
    assert [int(each.get("valueReference")) for each in variables.values()] == list(range(len(variables)))
    assert all(
        root.find(kind).get("providesDirectionalDerivatives") == "true" for kind in ("ModelExchange", "CoSimulation")
    )
    listed = {each.get("valueReference") for each in root.findall("ModelStructure/Output")}
    assert listed == {each.get("valueReference") for each in variables.values() if each.get("causality") == "output"}


def test_the_description_lists_omitted_events():
    model = dl.load("simple-pendulum").copy().event("down", "theta", stop=True)
    files = fmu_files(source_of(dl.derive(model, "kane", engine="python")), "pendulum")
    root: Any = ElementTree.fromstring(files["modelDescription.xml"])
    assert "The event 'down' is not part of this code." in root.get("description")


@pytest.mark.nightly
@pytest.mark.parametrize("formalism", ["lagrange", "volterra_reduced"])
@pytest.mark.parametrize("name", ["cart-pendulum", "three-bodies", "four-bar", "kuka-kr5"])
def test_an_fmu_agrees_with_the_package(name, formalism, tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed: make exports installs it")
    from fmpy.validation import validate_fmu  # pyright: ignore[reportMissingImports]

    eom = dl.derive(name, formalism)
    (path,) = dl.export(eom, "fmu", tmp_path / "model.fmu")
    assert validate_fmu(str(path)) == []
    about = fmpy.read_model_description(str(path))
    references = {each.name: each.valueReference for each in about.modelVariables}
    fmu = fmpy.instantiate_fmu(fmpy.extract(str(path), str(tmp_path / "fmu")), about, "ModelExchange")
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    states, n = state_batch.consistent_states(eom.model, 100), len(eom.model.coordinate_names)
    v, constants = eom.kernel.start(states.q, states.qd, 0.0, eom.values)
    for k in range(100):
        y = np.concatenate([states.q[:, k], v[:, k]])
        p = np.concatenate([eom.values, constants[:, k]])
        for key, value in zip(source_constants(eom), constants[:, k], strict=True):
            fmu.setFloat64([references[key]], [value])
        fmu.setContinuousStates(pointer(y), len(y))
        want = eom.kernel.state_rates(y, 0.0, p)[: len(y)]
        found = np.zeros(len(y))
        fmu.getContinuousStateDerivatives(pointer(found), len(y))
        assert np.abs(found - want).max() < 1e-12 * max(1.0, np.abs(want).max())
        qdd = fmu.getFloat64([references[f"ddot({x})"] for x in eom.model.coordinate_names])
        want = eom.accelerations(states.q[:, k], states.qd[:, k])
        assert np.abs(np.array(qdd) - want).max() < 1e-12 * max(1.0, np.abs(want).max())
        assert len(qdd) == n
    require_slopes(fmu, about)
    fmu.terminate()
    fmu.freeInstance()


def require_slopes(fmu, about) -> None:
    """Outputs and rates along time, states and parameters at once, against differences of the FMU itself."""
    knowns = [v.valueReference for v in about.modelVariables if v.initial == "exact"]
    unknowns = [v.valueReference for v in about.modelVariables if v.causality in ("output", "local")]
    at, seed = np.array(fmu.getFloat64(knowns)), np.random.default_rng(4).uniform(-1, 1, len(knowns) + 1)

    def there(h: float) -> np.ndarray:
        fmu.setTime(0.2 + h * seed[0])
        fmu.setFloat64(knowns, (at * (1 + h * seed[1:])).tolist())
        return np.array(fmu.getFloat64(unknowns))

    # the error of these differences is of fourth order
    h = 1e-4
    want = (8 * (there(h) - there(-h)) - (there(2 * h) - there(-2 * h))) / (12 * h)
    there(0.0)
    found = np.array(fmu.getDirectionalDerivative(unknowns, [0, *knowns], [seed[0], *(at * seed[1:])]))
    assert np.abs(found - want).max() < 1e-8 * np.abs(want).max()


@pytest.mark.nightly
def test_directional_derivatives_of_an_fmu_are_the_jacobian(tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed: make exports installs it")
    model = dl.load("cart-pendulum").copy().force("cart", ("m1*sin(3*t)", 0, 0), name="push")
    eom = dl.derive(model, "kane")
    (path,) = dl.export(eom, "fmu", tmp_path / "model.fmu")
    about = fmpy.read_model_description(str(path))
    fmu = fmpy.instantiate_fmu(fmpy.extract(str(path), str(tmp_path / "fmu")), about, "ModelExchange")
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    fmu.setTime(0.3)
    y = np.array(source_of(eom).initial)
    states, rates = range(1, 1 + len(y)), range(1 + len(y), 1 + 2 * len(y))
    want = replace(eom.kernel, mode="fused").state_slopes(y, 0.3, eom.values)[: len(y), : len(y)]
    found = [fmu.getDirectionalDerivative(rates, [state], [1.0]) for state in states]
    assert np.abs(np.array(found).T - want).max() < 1e-12 * np.abs(want).max()
    require_slopes(fmu, about)
    fmu.terminate()
    fmu.freeInstance()


def pointer(values: np.ndarray) -> object:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def source_constants(eom: dl.Equations) -> list[str]:
    return [str(x) for x in eom.form.constants.symbols]


@pytest.mark.nightly
def test_an_fmu_simulation_agrees_with_the_package(tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed: make exports installs it")
    eom = dl.derive("four-bar", "kane")
    (path,) = dl.export(eom, "fmu", tmp_path / "four-bar.fmu")
    run = eom.simulate(2.0, samples=21, project=False)
    for kind, close in (("CoSimulation", 1e-8), ("ModelExchange", 1e-5)):
        found = fmpy.simulate_fmu(
            str(path), fmi_type=kind, stop_time=2.0, output_interval=0.1, relative_tolerance=1e-11
        )
        assert max(np.abs(found[x] - run[x]).max() for x in ("q1", "q2", "q3")) < close
    (again,) = dl.export(eom, "fmu", tmp_path / "again" / "four-bar.fmu")
    assert again.read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    for name in ("four_bar.c", "fmi3.c"):
        subprocess.run([*GCC, "-c", name, "-o", "out.o"], cwd=tmp_path / "sources", check=True)
