"""The viewer in Chromium, from a file without network access, on scenes with closed-form motion."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from chromium import NO_WEBGL, chromium, found
from scenes import closed, four_bar, operations, polynomial_run

from dalembert.codegen._python_backend import InterpretedProgram
from dalembert.display.video import PageTab, page_of
from dalembert.display.viewer import bundle

EQUATION = (
    "<h2>Equations</h2><math display='block'><mi>m</mi><mover><mi>x</mi><mo>¨</mo></mover><mo>=</mo><mi>f</mi></math>"
)


def poses(page, names):
    return [page.value(f"dalembert.pose({json.dumps(name)})") for name in names]


def colors(page):
    """Number of different colors in 2000 pixels of the canvas."""
    return page.value(
        """(async () => {
          const image = new Image(); image.src = dalembert.snapshot(); await image.decode();
          const canvas = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height});
          const pen = canvas.getContext("2d"); pen.drawImage(image, 0, 0);
          const {data} = pen.getImageData(0, 0, image.width, image.height), step = 4 * Math.ceil(data.length / 8000);
          const seen = new Set();
          for (let i = 0; i < data.length; i += step) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
          return seen.size; })()"""
    )


def test_every_operation_of_a_program_agrees_with_python(opened):
    data, program = operations()
    page = opened(data)
    for a, b in ((0.37, 0.81), (0.9, 0.95), (0.1, 2.5)):
        page.value(f"dalembert.setCoordinate('a', {a}), dalembert.setCoordinate('b', {b})")
        expected = np.array(InterpretedProgram(program).one([a, b, 0.0]), dtype=float).reshape(-1, 12)
        names = [body["name"] for body in data["bodies"][1:]]
        got = np.array([[*p["position"], *np.ravel(p["rotation"])] for p in poses(page, names)], dtype=float)
        np.testing.assert_allclose(got, expected, rtol=4e-16, equal_nan=True)


def test_a_run_follows_its_quintic_interpolation(opened):
    data, coefficients = polynomial_run()
    page = opened(data, (PageTab("Equations", EQUATION),))
    for t in (0.0, 0.3, 0.45, 0.5, 0.77, 1.9, 2.0):
        a, b = (np.polyval(c, t) for c in coefficients)
        one, two = page.value(f"dalembert.setTime({t}), [dalembert.pose('one'), dalembert.pose('two')]")
        assert page.value("dalembert.time()") == t
        np.testing.assert_allclose(two["position"], [math.cos(a), math.sin(a), 0.0], atol=1e-14)
        for pose, angle in ((one, a), (two, a + b)):
            c, s = math.cos(angle), math.sin(angle)
            np.testing.assert_allclose(pose["rotation"], [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-13)
    assert colors(page) > 20
    assert (
        page.value(
            "document.querySelector('[role=tab]:last-child').click(), document.querySelector('.prose math').textContent"
        )
        == "mx¨=f"
    )
    assert (
        page.value("document.querySelector('h1').textContent") == "by hand <script>"
    )  # a name is never interpreted as markup


def test_keys_and_the_shared_cursor(opened):
    data, _ = polynomial_run()
    page = opened(data)
    page.press("End")
    assert page.value("dalembert.time()") == 2.0
    page.press("ArrowLeft")
    assert page.value("dalembert.time()") == pytest.approx(1.99)
    # a click in the middle of a plot seeks, and the cursor of the plot is at the time of the animation
    place = page.value(
        "(r => [r.left + r.width / 2, r.top + 20])(document.querySelector('.u-over').getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.ask("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", buttons=1, clickCount=1)
    assert page.value("dalembert.time()") == pytest.approx(1.0, abs=0.02)
    marker = page.value("document.querySelector('.marker').getBoundingClientRect().left")
    assert marker == pytest.approx(place[0], abs=2)
    page.press(" ")
    page.wait("dalembert.time() > 1.1")
    page.press(" ")
    page.press("Home")
    assert page.value("dalembert.time()") == 0.0
    names = page.value(
        "[...document.querySelectorAll('button, input, select')].filter(e => !(e.ariaLabel || e.textContent.trim()))"
    )
    assert names == []


def test_sliders_keep_loops_closed(opened):
    page = opened(four_bar())
    for a in (1.3, 2.9, -0.4, -3.0):
        assert page.value(f"dalembert.setCoordinate('a', {a})") is True
        got = page.value("dalembert.coordinates()")
        assert page.value("dalembert.residual()") < 1e-9
        assert got["a"] == a
        expected = closed(a)
        for name, angle in zip("bc", expected, strict=True):
            assert math.remainder(got[name] - angle, 2 * math.pi) == pytest.approx(0.0, abs=1e-8)
    # the rocker cannot make a full turn: it stops before the loop opens
    assert page.value("dalembert.setCoordinate('c', 6.5)") is False
    assert page.value("dalembert.residual()") < 1e-9
    # with the slider element
    page.value("(i => { i.value = 0.2; i.dispatchEvent(new Event('input')) })(document.querySelector('.slider input'))")
    assert math.remainder(page.value("dalembert.coordinates().a") - 0.2, 2 * math.pi) == pytest.approx(0.0)


def test_dark_and_light(opened):
    data, _ = polynomial_run()
    page = opened(data, dark=True)
    shade = "getComputedStyle(document.body).backgroundColor"
    dark = page.value(shade)
    light = page.value(f"document.querySelector('[aria-label=\"Dark or light\"]').click(), {shade}")
    assert sum(map(int, re.findall(r"\d+", dark))) < 150 < 600 < sum(map(int, re.findall(r"\d+", light)))


def test_without_webgl_edges_and_a_notice_are_drawn(tmp_path):
    if found() is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with chromium(tmp_path / "profile", *NO_WEBGL) as browser:
        (tmp_path / "flat.html").write_text(page_of(polynomial_run()[0], (), "flat"), encoding="utf-8")
        page = browser.open(tmp_path / "flat.html")
        assert "no WebGL" in page.value("document.querySelector('[role=alert]').textContent")
        page.frame()
        assert colors(page) >= 3
        assert page.complaints() == []


def test_the_viewer_is_small_and_credits_its_dependencies():
    script, style = bundle()
    assert len(script) + len(style) < 1.5e6
    assert "three.js authors" in script
    assert "Leon Sorokin" in script
    assert "</script" not in script.lower()
    assert "<!--" not in script
    assert "</style" not in style.lower()
    assert not re.search(r"\beval\(|new Function\(", script)


def test_the_lock_file_has_no_download_urls():
    folder = Path(__file__).parents[2] / "viewer"
    assert "resolved" not in (folder / "package-lock.json").read_text("utf-8")
    assert "registry=" not in (folder / ".npmrc").read_text("utf-8")
