"""HTML pages are well formed, escaped and self-contained, and printed names are distinct."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from dalembert.api.derive import equations_of
from dalembert.display.math import html, latex, plain_text, symbol_names
from dalembert.display.math.symbol_names import letters_of
from dalembert.model.model import Model
from dalembert.tables import Table


def cart(name: str = "cart", coordinate: str = "x", mass: str = "px") -> Model:
    model = Model(name, gravity=(0, -9.81, 0)).parameters({mass: 1.3}).coordinates(coordinate, "theta")
    model.body("cart", joint=model.prismatic((1, 0, 0), coordinate), mass=mass)
    hinge = model.revolute((0, 0, 1), "theta")
    return model.body("long-rod", parent="cart", joint=hinge, mass=1, center=(0, -0.5, 0), inertia=(0.1, 0.1, 0.1))


def formulas(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(each) for each in re.findall(r"<math.*?</math>", page, re.S)]


@pytest.mark.parametrize("key", ["hamilton", "kane"])
def test_page_is_self_contained_and_escaped(key: str) -> None:
    reading = equations_of(cart("<script>alert(1)</script>&"), key, engine="python")._display
    page = html.document("<script>", [html.page(reading.page), html.steps("steps", reading.steps())])
    assert "<script" not in page
    assert "long-rod" in page
    body = page.partition("<body>")[2]
    assert "http" not in body
    assert not re.search(r"""url\((?!data:)|(?:src|href)=""", page)
    assert len(formulas(page)) > 10
    assert "$" not in body
    assert "\\" not in body


def test_matrices_dots_and_text() -> None:
    assert html.math(r"\ddot{\mathrm{panda\_joint1}}").count("panda_joint1") == 1
    grid = ElementTree.fromstring(html.math(latex.brackets([["a", "b"], ["c", "d"]]) + r"^{\mathsf{T}}"))
    power = next(grid.iter("msup"))
    assert len(power) == 2
    assert len(list(power.iter("mtd"))) == 4
    assert '<mo mathsize="100%" stretchy="false">&#x002D9;</mo></mover>' in html.math(r"\dot{p}_{\theta}")
    assert "a &lt; b" in html.math(r"\text{a \textless{} b}")


def test_parameter_px_differs_from_the_momentum_of_x() -> None:
    found = equations_of(cart(), "hamilton", engine="python")._display.page
    in_latex, in_text = latex.page(found), plain_text.page(found)
    assert r"\mathrm{px}" in in_latex
    assert r"\dot{p}_{x} &=" in in_latex
    assert re.search(r"\bpx\b", in_text)
    assert "ṗ_x = 0" in in_text
    page = html.page(found)
    assert "<mi>px</mi>" in page
    assert "<msub><mi>p</mi>" in page


def test_coordinate_s_differs_from_the_vector_s() -> None:
    found = equations_of(cart(coordinate="s", mass="M"), "poincare", engine="python")._display
    written = plain_text.page(found.page)
    assert "q̇ = H 𝐬" in written
    assert "ṡ = 𝐬₁" in written
    sheet = latex.page(found.page)
    assert r"\dot{s} &= \mathbf{s}_{1}" in sheet
    assert r"\mathbf{M}_{s} \dot{\mathbf{s}} = \mathbf{S}" in sheet


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        (["px", "x"], ["p(x)"]),
        (["p_x", "x"], ["p(x)"]),
        (["M12", "M"], ["M[1,2]", "M"]),
        (["theta1", "theta_1"], []),
        (["Ixy", "I_xy", "s", "s_1"], ["s1", "s"]),
        (["z_1", "Gx", "x", "lambda1"], ["z1", "G(x)", "lambda[1]"]),
    ],
)
def test_no_two_names_look_the_same(given: list[str], ours: list[str]) -> None:
    letters = letters_of(given, ours)
    everything = [*given, *(name for name in ours if name not in given)]
    for write in (symbol_names.for_text, symbol_names.for_latex):
        looks = [write(name, letters) for name in everything]
        assert len(set(looks)) == len(looks), looks


def test_ordinary_names_are_printed_unchanged() -> None:
    assert letters_of(["theta1", "x", "m", "l"], ["p(x)", "M[1,1]", "u1", "M"]).typed == frozenset()
    assert symbol_names.for_latex("left_hip_roll_joint") == r"\mathrm{left\_hip\_roll\_joint}"
    assert symbol_names.for_latex("p(panda_joint1)") == r"p_{\mathrm{panda\_joint1}}"


def test_tables_escape_user_strings() -> None:
    table = Table(("name",), (("<b>&",),), "50 %")
    assert "<b>&" not in table.html()
    assert "&lt;b&gt;&amp;" in table._repr_html_()
    assert r"50 \%" in table._repr_latex_()
    assert "<b>&" in str(table)


def test_all_public_objects_have_notebook_output() -> None:
    import dalembert as dl

    model = dl.load("simple-pendulum")
    eom = dl.derive(model, "lagrange")
    run = eom.simulate(0.5, samples=3)
    for item in (model, eom, eom.blocks["M"], eom.laws[0], dl.mobility(model), run, dl.dynamics(model)):
        assert item._repr_html_().count("<") > 4
        assert item._repr_latex_().startswith("$$")
        assert len(str(item).splitlines()) > 1
        assert "\n" not in repr(item)
    assert "theta" in str(model)
    assert "t = 0.5" in str(run)
