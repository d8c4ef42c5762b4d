"""Reports opened from a file in Chromium, without network access."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_viewer import colors

import dalembert as dl
from dalembert.cli.entry_point import main

MODELS = {
    "cart-pendulum": "volterra_reduced",
    "stewart-platform": "denoc",
    "biped": "denoc",
    "three-bodies": "kane",
    "rolling-disk": "lagrange",
    "double-pendulum-urdf": "hamilton",
}


# the arm of Franka Emika by its published table, modified convention: a, alpha in degrees, d; masses are round numbers
PANDA = [
    (0, 0, 0.333),
    (0, -90, 0),
    (0, 90, 0.316),
    (0.0825, 90, 0),
    (-0.0825, -90, 0.384),
    (0, 90, 0),
    (0.088, 90, 0.107),
]


def panda(folder: Path) -> Path:
    """The arm as a URDF file with the names of its manufacturer."""
    body = "mass = 2.5\ncenter = [0, 0, -0.1]\ninertia = [0.02, 0.02, 0.01]"
    rows = [
        f'[[link]]\nname = "panda_link{i}"\na = {a}\nalpha = {alpha}\nd = {d}\n{body}'
        for i, (a, alpha, d) in enumerate(PANDA, 1)
    ]
    table = 'convention = "mdh"\nname = "panda"\nunit = "deg"\ngravity = [0, 0, -9.81]\n\n' + "\n\n".join(rows)
    (folder / "panda.toml").write_text(table, encoding="utf-8")
    assert main(["export", str(folder / "panda.toml"), "-o", str(folder / "panda.urdf")]) == 0
    return folder / "panda.urdf"


def test_a_report_of_a_robot_from_urdf(browser, tmp_path):
    looked_at(panda(tmp_path), "denoc", browser, tmp_path)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name == "stewart-platform" else ()) for name in MODELS]
)
def test_a_report_opens_and_agrees_with_python(name, browser, tmp_path):
    looked_at(name, MODELS[name], browser, tmp_path)


def looked_at(name, formalism, browser, tmp_path):
    """Open the report of a model and compare its bodies with Python."""
    run = dl.derive(name, formalism).simulate(0.4, samples=25)
    page = browser.open(dl.report(run, evidence=False, budget=0.5).save(tmp_path / "report.html"))
    kinematics = dl.kinematics(name)
    for k in (0, 7, len(run.t) - 1):
        page.value(f"dalembert.setTime({float(run.t[k])!r})")
        for body, pose in kinematics.poses(run.q[:, k], run.t[k]).items():
            found = page.value(f"dalembert.pose({json.dumps(body)})")
            size = 1 + np.abs(pose.position).max()
            np.testing.assert_allclose(found["position"], pose.position, atol=1e-6 * size)
            np.testing.assert_allclose(found["rotation"], pose.rotation, atol=1e-6)
    page.frame()
    assert colors(page) > 12  # the canvas is not blank
    for tab in ("Overview", "Equations", "Evidence", "Model", "Sources"):
        page.value(f"[...document.querySelectorAll('[role=tab]')].find(x => x.textContent.trim() === '{tab}').click()")
        page.frame()
        assert (
            page.value("[...document.querySelectorAll('[role=tabpanel]')].find(x => !x.hidden).textContent.length") > 40
        )
    assert page.value("document.querySelectorAll('.prose math').length") > 0
    assert page.complaints() == []
    assert page.requests() == []
    page.close()


def test_a_report_of_a_model_with_markup_in_its_name(browser, tmp_path: Path):
    model = dl.Model("<script>alert(1)</script>", gravity=(0, -9.81, 0)).parameters(m=1.0).coordinate("x", start=1.0)
    model.body("bob", description="<b>bob</b>", joint=model.prismatic(axis=(1, 0, 0), displacement="x"), mass="m")
    page = browser.open(dl.report(dl.simulate(model, 0.5, samples=6), evidence=False).save(tmp_path / "x.html"))
    assert page.value("document.querySelector('h1').textContent") == "<script>alert(1)</script>"
    assert page.value("document.querySelectorAll('script').length") == 2
    assert page.complaints() == []
    page.close()
