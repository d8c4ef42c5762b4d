"""Videos, snapshots and pages of runs."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import dalembert as dl
from dalembert.cli.entry_point import main
from dalembert.display import video
from dalembert.display._renderer import SceneRenderer


@pytest.fixture(scope="module")
def run():
    return dl.simulate("simple-pendulum", 1.0, samples=11)


def colored_share(image: np.ndarray) -> float:
    """Fraction of pixels that are neither white nor gray."""
    rgb = image[..., :3].astype(float)
    return float((np.ptp(rgb, axis=-1) > 40).mean())


def test_snapshots_show_the_mechanism(run, tmp_path):
    output = run.animate(tmp_path / "a.png", frames=3)
    with Image.open(tmp_path / "a.png") as picture:
        image = np.asarray(picture.convert("RGB"))
    assert image.shape[1] == 3 * image.shape[0]
    panels = np.split(image, 3, axis=1)
    assert all(0.005 < colored_share(panel) < 0.5 for panel in panels)
    assert not np.array_equal(panels[0], panels[2])
    assert output.scene.name == "simple-pendulum"


def test_gif_has_frames_and_duration(run, tmp_path):
    run.animate(tmp_path / "a.gif", fps=5, speed=0.5, pixels=96)
    gif: Any
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 11
        assert gif.info["duration"] * gif.n_frames == pytest.approx(2000, rel=0.1)
        assert gif.size == (96, 96)


def test_spatial_models_are_lit_surfaces():
    scene = dl.animate("three-bodies").scene
    figure = video.Video(scene).snapshots(dpi=40)
    (axis,) = figure.axes
    (image,) = axis.get_images()
    data = np.asarray(image.get_array())
    assert 0.02 < (data[..., 3] > 0.5).mean() < 0.9
    assert len(np.unique((data[..., :3] * 12).astype(int).reshape(-1, 3), axis=0)) > 6  # shades


def test_point_is_drawn_at_its_position(run):
    scene = run.scene()
    figure = video.Video(scene).snapshots(1)
    (axis,) = figure.axes
    lens = SceneRenderer(scene)._projection(axis, next(video.Video(scene).moments(run.t[:1])))
    # from the front, x is to the right and y upwards
    assert np.allclose(lens(scene.view.target + np.array([1.0, 2.0, 0.0]))[:2], [1.0, 2.0])


def test_mp4_without_ffmpeg_reports_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(dl.DalembertError, match=r"need the program ffmpeg.*apt install ffmpeg"):
        run.animate(tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_mp4(run, tmp_path):
    run.animate(tmp_path / "a.mp4", fps=5, pixels=96)
    assert b"ftyp" in (tmp_path / "a.mp4").read_bytes()[:16]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "a.avi"}, r"cannot be saved as '.avi'. Expected the suffix .html, .mp4"),
        ({"fps": 0}, "animate, fps: got 0. Expected a positive number"),
        ({"frames": -1}, "animate, frames: got -1"),
    ],
)
def test_invalid_settings_are_rejected(run, options, message):
    with pytest.raises(dl.InputError, match=message):
        run.animate(**options)


def test_model_without_run_has_no_video(tmp_path):
    with pytest.raises(dl.InputError, match="a model without a run has no motion"):
        dl.animate("simple-pendulum", tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_run_displays_in_a_notebook(run, monkeypatch, tmp_path):
    monkeypatch.setattr("dalembert.display.viewer.files", lambda _: tmp_path)
    assert "<iframe" not in run._repr_html_()
    assert run.animate()._repr_html_() is None
    for name in ("viewer.js", "viewer.css", "math.css"):
        (tmp_path / name).write_text("", encoding="utf-8")
    output = run._repr_html_()
    assert "<table" in output
    assert "<iframe" in output
    run.animate(tmp_path / "a.html")
    assert "dalembert-data" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_energy_model_keeps_its_table():
    model = dl.Model.from_energies("bare", coordinates=["x"], kinetic="dot(x)**2/2").start([0], [1])
    run = dl.simulate(model, 1.0, samples=3)
    assert "<iframe" not in run._repr_html_()
    with pytest.raises(dl.InputError, match="nothing to draw"):
        run.animate()


def test_command_line_animates(tmp_path, capsys):
    out = Path(tmp_path / "a.png")
    assert main(["simulate", "simple-pendulum", "--duration", "0.5", "--samples", "6", "--animate", str(out)]) == 0
    assert out.read_bytes()[1:4] == b"PNG"
    assert "a.png" in capsys.readouterr().out
    assert main(["simulate", "simple-pendulum", "--animate", "a.txt"]) == 2
    assert "--animate a.txt" in capsys.readouterr().err
