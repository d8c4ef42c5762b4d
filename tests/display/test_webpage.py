"""The page is escaped, well formed and complete."""

import base64
import hashlib
import json
import re

import pytest

import dalembert as dl
from dalembert.display import video
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.viewer import is_built

EVIL = "</script><script>alert(1)</script><!-- "


@pytest.fixture
def viewer(tmp_path, monkeypatch):
    """A viewer of three lines instead of the built one."""
    (tmp_path / "viewer.js").write_text("window.dalembert = {ready: true};", encoding="utf-8")
    (tmp_path / "viewer.css").write_text("body { margin: 0; }", encoding="utf-8")
    (tmp_path / "math.css").write_text("math { margin: 0; }", encoding="utf-8")
    monkeypatch.setattr("dalembert.display.viewer.files", lambda _: tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def scene():
    model = dl.Model(EVIL, description=EVIL + "\u2028", gravity=(0, -9.81, 0)).coordinates("theta")
    model.body("bob", joint=model.revolute((0, 0, 1), "theta"), mass=1, center=(0, -1, 0), description=EVIL)
    return scene_of(model)


def test_model_strings_are_escaped(viewer, scene):
    html = video.page(scene)
    assert html.lower().count("<script") == 2
    assert html.lower().count("</script>") == 2
    assert "alert(1)</script>" not in html
    data = re.search(r'id="dalembert-data">(.*?)</script>', html, re.S)
    assert data is not None
    assert "<" not in data[1]
    assert "\u2028" not in data[1]
    assert json.loads(data[1])["model"]["name"] == EVIL


def test_policy_allows_only_the_viewer(viewer, scene):
    html = video.page(scene)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        inner = re.findall(rf"<{element}>(.*?)</{element}>", html, re.S)
        (content,) = inner
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    assert "http" not in html.split("dalembert-data")[0].replace("http-equiv", "")


def test_tabs_are_templates(viewer, scene):
    html = video.page(scene, tabs=[video.PageTab("Equations", "<math><mi>q</mi></math>")], title="<b>")
    assert '<template id="dalembert-tab-0"><math><mi>q</mi></math></template>' in html
    assert '"tabs":[{"title":"Equations"}]' in html
    assert "<title>&lt;b&gt;</title>" in html


def test_missing_viewer_reports_how_to_build_it(tmp_path, monkeypatch, scene):
    monkeypatch.setattr("dalembert.display.viewer.files", lambda _: tmp_path)
    assert not is_built()
    with pytest.raises(dl.InputError, match=r"viewer.js is missing. Build it once: pip install -e ."):
        video.page(scene)


def test_viewer_that_would_end_its_element_is_rejected(viewer, scene):
    (viewer / "viewer.js").write_text("'</script>'", encoding="utf-8")
    with pytest.raises(dl.InputError, match="cannot be embedded in a page"):
        video.page(scene)


def test_notebook_gets_the_page_in_an_iframe(viewer, scene):
    frame = video.frame(scene, height=300)
    assert frame.startswith('<iframe sandbox="allow-scripts')
    assert frame.count("<") == 2  # the complete page is escaped
    assert 'height="300"' in frame
