"""Pages of models in Chromium: body poses agree with Python, also between samples, and loops stay closed under manual input."""

import json

import numpy as np
import pytest

import dalembert as dl
from dalembert.display.scene.scene_builder import scene_of


def placed(page, names):
    """Position and rotation of bodies, as one row for each."""
    found = page.value(f"{json.dumps(names)}.map(name => dalembert.pose(name))")
    return np.array([[*pose["position"], *np.ravel(pose["rotation"])] for pose in found])


def expected(scene, names, q, t):
    poses = scene.kinematics.at(np.asarray(q, dtype=float)[:, None], np.array([t]))
    return np.array([[*poses[name][1][:, 0], *np.ravel(poses[name][0][:, :, 0])] for name in names])


@pytest.mark.parametrize(("name", "duration", "samples"), [("cart-pendulum", 1.0, 60), ("rolling-disk", 2.0, 60)])
def test_body_poses_of_a_run_agree_with_python(opened, name, duration, samples):
    scene = dl.simulate(name, duration, samples=samples + 1).scene()
    finer = dl.simulate(name, duration, samples=2 * samples + 1)  # every second one is between two samples of the page
    page = opened(scene.to_dict())
    names = [part.name for part in scene.bodies]
    for i in (0, 1, samples - 1, samples, 2 * samples):
        t = float(finer.t[i])
        page.value(f"dalembert.setTime({t!r})")
        np.testing.assert_allclose(placed(page, names), expected(scene, names, finer.q[:, i], t), atol=1e-6)


def test_setting_a_coordinate_keeps_the_loops_of_a_platform_closed(opened):
    scene = scene_of(dl.load("stewart-platform"))
    page = opened(scene.to_dict())
    names = [part.name for part in scene.bodies]
    for slider in scene.coordinates[:3]:
        goal = slider.start + 0.05
        assert page.value(f"dalembert.setCoordinate({json.dumps(slider.name)}, {goal!r})") is True
        q = page.value("dalembert.coordinates()")
        assert q[slider.name] == goal
        assert page.value("dalembert.residual()") < 1e-9
        assert scene.closure is not None
        values = np.array([q[each.name] for each in scene.coordinates])
        g = scene.closure.at(values[:, None], 0.0)[: len(scene.closure.program.outputs) // (len(values) + 1)]
        assert np.abs(g).max() < 1e-9
        np.testing.assert_allclose(placed(page, names), expected(scene, names, values, 0.0), atol=1e-12)
