"""Simulations, equilibria, modes and sweeps by the tasks of the page, and parameter sliders in a browser."""

import base64
import csv
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import dalembert as dl
from dalembert import errors
from dalembert.io import gallery
from dalembert.io.file_formats import loads
from dalembert.studio.folder import Folder
from dalembert.studio.payload import Payload
from dalembert.studio.tasks import equilibrium_task, simulate_task


def text_of(name: str) -> str:
    return (gallery.path(name) / "model.toml").read_text("utf-8")


def silent(*progress: object) -> None:
    """Ignore progress."""


def numbers(packed: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["f64"])).reshape(packed["shape"])


PENDULUM, FOUR_BAR = text_of("simple-pendulum"), text_of("four-bar")


# motions


def test_parameters_defined_by_formulas_have_no_sliders():
    found = simulate_task.simulation_options(Payload({"text": FOUR_BAR}), None, silent)
    assert [each["name"] for each in found["parameters"]] == ["a", "b", "c", "d", "m1", "m2", "m3", "g"]
    assert (found["duration"], found["samples"], found["integrator"]) == (10.0, 1001, "dop853")


def test_values_are_written_to_the_source_and_comments_preserved():
    given = {"text": FOUR_BAR, "parameters": {"a": 0.04, "m1": 2.5}, "start": {"q1": 0.25}, "rate": {"q2": -1.5}}
    text = simulate_task.write_values(Payload(given), None, silent)["text"]
    model = loads(text, "the text")
    assert (model.parameter_values["a"], model.parameter_values["m1"]) == (0.04, 2.5)
    assert (model.initial[0][0], model.initial[1][1]) == (0.25, -1.5)
    assert [line for line in FOUR_BAR.splitlines() if line.startswith("#")] == [
        line for line in text.splitlines() if line.startswith("#")
    ]


def test_value_without_an_entry_is_rejected():
    with pytest.raises(errors.InputError, match=r"no entry 'zz' in \[parameters\]"):
        simulate_task.write_values(Payload({"text": PENDULUM, "parameters": {"zz": 1.0}}), None, silent)


def test_pendulum_of_four_times_the_length_has_twice_the_period(tmp_path: Path, monkeypatch):
    derived = []
    derive = dl.derive
    monkeypatch.setattr(dl, "derive", lambda model, key: derived.append(model) or derive(model, key))
    given = {"text": PENDULUM, "samples": 21, "start": {"theta": 0.7}, "rate": {"theta": 0.0}, "save": False}
    length = loads(PENDULUM, "the text").parameter_values["l"]

    def angle(factor: float, duration: float) -> np.ndarray:
        values = {"parameters": {"l": factor * length}, "duration": duration}
        found = simulate_task.simulate(Payload(given | values), Folder(tmp_path), silent)
        assert found["run"] == ""
        assert found["parameters"]["l"] == factor * length
        return numbers(found["scene"]["run"]["q"])

    assert angle(4.0, 4.0) == pytest.approx(angle(1.0, 2.0), abs=1e-8)
    assert all(model is derived[0] for model in derived)  # only the source was derived
    assert not list(tmp_path.iterdir())


def test_run_is_saved_and_loops_are_closed_around_user_values(tmp_path: Path):
    given = {"text": FOUR_BAR, "duration": 0.1, "samples": 3, "start": {"q1": 0.5}, "parameters": {"a": 0.04}}
    found = simulate_task.simulate(Payload(given), Folder(tmp_path), silent)
    run = dl.load_run(Folder(tmp_path).run(found["run"]))
    assert run.q[0, 0] == pytest.approx(0.5, abs=1e-6)
    assert np.abs(run.violation).max() < 1e-9
    assert found["notes"][0].startswith("The initial state was projected onto the constraints")
    # the crank in the scene has the length of the slider
    crank = next(body for body in found["scene"]["bodies"] if body["name"] == "crank")
    assert max(size for shape in crank["shapes"] for size in shape["size"]) == pytest.approx(0.04, rel=0.2)


def test_model_of_energies_has_histories_and_no_bodies(tmp_path: Path):
    text = 'name = "ball"\ncoordinates.x = { start = 0.0, rate = 3.0 }\n[energies]\nkinetic = "dot(x)**2/2"\npotential = "2*x"\n'
    found = simulate_task.simulate(Payload({"text": text, "duration": 1.0, "samples": 5}), Folder(tmp_path), silent)
    t = np.linspace(0, 1, 5)
    assert numbers(found["scene"]["run"]["q"])[0] == pytest.approx(3 * t - t**2, abs=1e-9)
    assert [body["shapes"] for body in found["scene"]["bodies"]] == [[]]


# equilibria


def test_pendulum_has_two_equilibria_and_the_frequency_of_g_over_l(tmp_path: Path):
    model = loads(PENDULUM, "the text").parameter_values
    given = {"text": PENDULUM, "starts": 5}
    found = equilibrium_task.equilibria(Payload(given), Folder(tmp_path), silent)["equilibria"]
    assert {round(abs(each["q"]["theta"]), 6): each["stability"] for each in found} == {
        0.0: "stable",
        round(np.pi, 6): "unstable",
    }
    below = next(each for each in found if each["stability"] == "stable")
    state = {"text": PENDULUM, "start": below["q"], "rate": below["qd"], "parameters": {"l": 2.0}}
    modes = equilibrium_task.modes(Payload(state), Folder(tmp_path), silent)["modes"]
    assert modes[0]["frequency"] ** 2 == pytest.approx(model["g"] / 2.0)
    scene = equilibrium_task.mode(Payload(state | {"mode": 0, "size": 0.2}), Folder(tmp_path), silent)["scene"]
    swing = numbers(scene["run"]["q"])[0]
    assert (swing.max(), swing.min()) == pytest.approx((0.2, -0.2), abs=1e-3)


# sweeps

VARIED = {"text": PENDULUM, "duration": 0.5, "samples": 6, "vary": [{"name": "l", "low": 1.0, "high": 2.0, "count": 3}]}


def test_sweep_writes_a_file_and_returns_lines(tmp_path: Path):
    given = VARIED | {"observe": [{"formula": "final(theta)"}, {"formula": "max(energy)"}]}
    found = simulate_task.sweep(Payload(given), Folder(tmp_path), silent)
    assert (found["runs"], found["failed"], found["files"]) == (3, 0, ["simple-pendulum-sweep.csv"])
    rows = list(csv.DictReader((tmp_path / found["files"][0]).read_text().splitlines()))
    assert [float(row["l"]) for row in rows] == [1.0, 1.5, 2.0]
    (line,) = found["panels"][0]["lines"]
    assert line["y"] == pytest.approx([float(row["final(theta)"]) for row in rows])


def test_sweep_has_the_initial_state_of_a_run(tmp_path: Path):
    given = VARIED | {"observe": [{"formula": "initial(theta)"}], "start": {"theta": 0.125}}
    (line,) = simulate_task.sweep(Payload(given), Folder(tmp_path), silent)["panels"][0]["lines"]
    assert line["y"] == [0.125, 0.125, 0.125]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vary": [{"name": "l", "low": 1, "high": 2, "count": 200_000}, {"name": "m", "low": 1, "high": 2}]}, "runs"),
        ({"vary": []}, "0 names are varied"),
        ({"observe": []}, "0 formulas are observed"),
        ({"cluster": "tcp://127.0.0.1:1"}, r"dalembert\[cluster\]|no Dask scheduler"),
    ],
)
def test_invalid_sweep_is_rejected(tmp_path: Path, change: dict, message: str):
    given = VARIED | {"observe": [{"formula": "final(theta)"}]} | change
    with pytest.raises(errors.DalembertError, match=message):
        simulate_task.sweep(Payload(given), Folder(tmp_path), silent)
    assert not list(tmp_path.iterdir())


# in a browser


def moved(page: Page) -> None:
    """Simulate the first model, the four-bar."""
    for name in ("Motion", "Simulate"):
        page.get_by_role("tab", name=name, exact=True).click()
    page.get_by_role("button", name="Simulate", exact=True).click()
    expect(page.get_by_role("group", name="Playback")).to_be_visible()


@pytest.mark.nightly
def test_parameter_slider_simulates_again_in_the_same_stage(page: Page):
    moved(page)
    page.evaluate("document.querySelector('canvas').dataset.mine = 'yes'")
    page.get_by_role("button", name="Keep for comparison").click()
    slider = page.get_by_label("a in m", exact=True)
    slider.focus()
    page.keyboard.press("PageUp")
    expect(page.locator(".time-of-run")).to_contain_text("displayed after")
    expect(page.locator("canvas[data-mine=yes]")).to_be_visible()  # the same canvas, the animation continues
    expect(page.get_by_label("a in m, as a number")).not_to_have_value("0.038")
    # the previous run is displayed with the current one and can be hidden
    kept = page.get_by_role("list", name="Compared runs")
    expect(kept.get_by_role("button", name="as in the source", exact=True)).to_have_attribute("aria-pressed", "true")
    kept.get_by_role("button", name="as in the source", exact=True).click()
    expect(kept.get_by_role("button", name="as in the source", exact=True)).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Write to source").first.click()
    expect(page.get_by_role("button", name="Write to source").first).to_be_disabled()
    assert "a = { value = 0.038" not in page.evaluate("window.studio.text()")


@pytest.mark.nightly
def test_two_runs_are_overlaid(page: Page):
    moved(page)
    page.get_by_role("button", name="Keep for comparison").click()
    before = page.locator(".panel[open] .u-over").count()
    page.get_by_label("m1 in kg, as a number").fill("3")
    page.keyboard.press("Tab")
    expect(page.locator(".time-of-run")).to_contain_text("displayed after")
    page.get_by_role("button", name="Keep for comparison").click()
    assert page.get_by_role("list", name="Compared runs").get_by_role("listitem").count() == 2
    assert page.locator(".panel[open] .u-over").count() == before
    page.get_by_role("button", name="Phase portrait").click()
    expect(page.locator("canvas.phase")).to_be_in_viewport()


@pytest.mark.nightly
def test_cancelling_a_long_run_affects_nothing_else(page: Page):
    moved(page)
    page.get_by_label("Duration [s]").fill("100000")
    page.get_by_role("button", name="Simulate", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Simulation: cancelled.")).to_be_visible()
    expect(page.get_by_role("group", name="Playback")).to_be_visible()  # the previous run is still there
    page.get_by_label("Duration [s]").fill("1")
    page.get_by_role("button", name="Simulate", exact=True).click()
    expect(page.locator(".clock")).to_contain_text("/ 1.0")
