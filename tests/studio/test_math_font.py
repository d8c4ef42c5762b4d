"""Equations in a browser without a math font: dots are separate from their letters, brackets are stretched."""

import base64
import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib.image import imread
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from scipy import ndimage

import dalembert as dl
from dalembert.display import video
from dalembert.display.math import html
from dalembert.display.scene.scene_builder import scene_of
from dalembert.display.viewer import math_style

LETTERS = ("q", r"\theta", r"\varphi", "x", "p", "Q", r"\mathbf{q}", r"\lambda", r"\psi")
SCALE = 2  # pixels of the screen for one of the page
COLUMN = r"\begin{bmatrix} a \\ b \\ c \\ d \\ e \end{bmatrix}"
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""


@pytest.fixture(scope="module")
def plain_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium whose only system font is DejaVu Sans, which has no MATH table."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    folder = tmp_path_factory.mktemp("fontconfig")
    (folder / "fonts").mkdir()
    shutil.copy(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", folder / "fonts")
    (folder / "fonts.conf").write_text(FONTS.format(folder=folder), "utf-8")
    with sync_playwright() as play:
        environment: dict[str, str | float | bool] = {"FONTCONFIG_FILE": str(folder / "fonts.conf")}
        found = play.chromium.launch(executable_path=program, args=["--no-sandbox"], env=environment)
        yield found
        found.close()


def formulas() -> str:
    """Return every letter without dots, with one and with two dots, and a column in brackets."""
    marked = [html.math(f"{accent}{{{letter}}}") for letter in LETTERS for accent in ("", r"\dot", r"\ddot")]
    return "".join(f'<p class="formula">{each}</p>' for each in (*marked, html.math(COLUMN)))


def check(page: Page) -> None:
    """Check the number of connected ink regions of every formula."""
    loaded = page.evaluate("Promise.all([...document.fonts].map(face => face.load())).then(all => all.length)")
    assert loaded == 1
    picture = imread(io.BytesIO(page.screenshot()))[:, :, :3].mean(axis=2)
    boxes = page.locator(".formula math").evaluate_all("all => all.map(each => each.getBoundingClientRect().toJSON())")
    *letters, column = [regions(picture, box) for box in boxes]
    assert len(letters) == 3 * len(LETTERS)
    for k, letter in enumerate(LETTERS):
        assert [len(found) for found in letters[3 * k : 3 * k + 3]] == [1, 2, 3], letter
    rows = sorted((rows for rows, _ in column), key=lambda rows: rows.stop - rows.start)
    assert len(rows) == 7  # five letters and two brackets, which enclose them
    for bracket in rows[-2:]:
        assert bracket.start <= min(letter.start for letter in rows[:-2])
        assert bracket.stop >= max(letter.stop for letter in rows[:-2])


def regions(picture: np.ndarray, box: dict[str, float]) -> list[tuple[slice, slice]]:
    """Return the connected ink regions in a box and a margin around it."""
    top, bottom, left, right = (int(SCALE * box[side]) for side in ("top", "bottom", "left", "right"))
    part = picture[top - 8 : bottom + 8, left - 8 : right + 8]
    labels: Any = ndimage.label(np.abs(part - part[0, 0]) > 0.35, structure=np.ones((3, 3)))
    return ndimage.find_objects(labels[0])


@pytest.fixture
def page_without_math_fonts(plain_browser: Browser) -> Iterator[Page]:
    size: ViewportSize = {"width": 1200, "height": 1800}
    context = plain_browser.new_context(device_scale_factor=SCALE, viewport=size, color_scheme="light")
    yield context.new_page()
    context.close()


def test_dots_and_brackets_of_a_document(page_without_math_fonts: Page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(html.document("dots", [formulas()]), "utf-8")
    page_without_math_fonts.goto(path.as_uri())
    check(page_without_math_fonts)


def test_dots_and_brackets_of_a_viewer_page(page_without_math_fonts: Page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    tab = video.PageTab("Equations", formulas())
    path.write_text(video.page(scene_of(dl.load("simple-pendulum")), tabs=[tab]), "utf-8")
    page_without_math_fonts.goto(path.as_uri())
    page_without_math_fonts.get_by_role("tab", name="Equations").click()
    check(page_without_math_fonts)


def test_dots_and_brackets_of_the_studio(page_without_math_fonts: Page, running) -> None:
    page_without_math_fonts.goto(running.address)
    put = "body => { document.body.innerHTML = `<div class='prose'>${body}</div>`; }"
    page_without_math_fonts.evaluate(put, formulas())
    page_without_math_fonts.evaluate("document.body.style.cssText = 'display: block; padding: 9px'")
    check(page_without_math_fonts)


def test_every_code_point_that_equations_use_is_in_the_font() -> None:
    font = TTFont(io.BytesIO(base64.b64decode(re.findall(r"base64,([^)]*)\)", math_style())[0])))
    assert "MATH" in font
    known = set(font.getBestCmap() or ())
    for text in ("qθφλΦ", "˙¨^~¯", "−+⋅×=≤≥±∂∑∫√∈⊥∞→⇒", "()[]{}|", "𝐌𝐬𝛌𝑞𝜃𝜑𝖳ℎ𝒜ℳ", "′′″", "0123456789"):
        assert {ord(letter) for letter in text} <= known, text
