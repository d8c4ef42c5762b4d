"""Structure, equations, evidence and help of the studio."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import dalembert as dl
from dalembert.api.equation_display import DerivationDisplay
from dalembert.display.math import latex
from dalembert.errors import ModelError
from dalembert.formalisms import catalog
from dalembert.io import gallery
from dalembert.studio.folder import Folder
from dalembert.studio.tasks import TASKS
from dalembert.studio.tasks.glossary import QUANTITIES
from dalembert.studio.tasks.glossary import entries as explained

CART = (gallery.path("cart-pendulum") / "model.toml").read_text("utf-8")
FOUR_BAR = (gallery.path("four-bar") / "model.toml").read_text("utf-8")
PENDULUM = (gallery.path("simple-pendulum") / "model.toml").read_text("utf-8")
SOURCES = Path(__file__).parents[2] / "viewer" / "src" / "studio"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def ask(tmp_path):
    return lambda task, **given: TASKS[task].work(given, Folder(tmp_path), lambda *progress: None)


# structure


def test_structure_lists_the_derived_properties(ask):
    first = {part["key"]: part["html"] for part in ask("declarations", text=FOUR_BAR)["parts"]}
    assert set(first) == {"tree", "declared"}
    assert re.findall(r'data-body="(\w+)"', first["tree"]) == ["world", "crank", "output", "coupler"]
    found = ask("summary", text=FOUR_BAR)
    parts = {part["key"]: part["html"] for part in found["parts"]}
    assert list(parts) == ["mobility", "ignorable", "speeds", "formalisms"]
    assert "<td>degrees of freedom</td><td>1</td>" in parts["mobility"]
    assert "the Lagrangian depends on" in parts["ignorable"]
    # n = 3 coordinates, d = 1: the counts of Table 1
    assert "<td>n = 3</td>" in parts["formalisms"]
    assert "<td>d = 1</td>" in parts["formalisms"]


def test_inapplicable_formalisms_have_reasons(ask):
    found = {each["key"]: each["refused"] for each in ask("summary", text=CART)["formalisms"]}
    assert set(found) == set(catalog.KEYS)
    assert [key for key, reason in found.items() if reason] == ["dirac"]
    assert "nonholonomic" in found["dirac"]


def test_strings_of_a_model_are_escaped(ask):
    words = {'name = "simple-pendulum"': f'name = "{EVIL}"', 'unit = "m"': f'unit = "{EVIL}", description = "{EVIL}"'}
    text = re.sub(r', description = "[^"]*"', "", PENDULUM)
    for before, after in words.items():
        assert before in text
        text = text.replace(before, after)
    declared = str(ask("declarations", text=text))
    assert declared.count("&lt;img") >= 3
    found = declared + str(ask("summary", text=text)) + str(ask("equations", text=text, formalism="lagrange")["parts"])
    assert "<img" not in found


def test_invalid_model_raises_an_error(ask):
    with pytest.raises(ModelError):
        ask("summary", text=CART.replace("mass = ", "mass = -", 1))


# equations


def test_equations_are_those_of_the_formalism(ask):
    found = ask("equations", text=CART, formalism="lagrange")
    page = DerivationDisplay(dl.derive("cart-pendulum", "lagrange").derivation).page
    assert found["latex"] == latex.page(page)
    assert len(found["parts"]) == len(page.sections)
    assert all("<math" in part["html"] for part in found["parts"])
    for section, part in zip(page.sections, found["parts"], strict=True):
        assert section.equation in part["latex"]
    narrow = ask("equations", text=CART, formalism="lagrange", line=150)
    assert str(narrow["parts"]).count("<tr>") > str(found["parts"]).count("<tr>")
    assert narrow["latex"] == found["latex"]  # copied LaTeX does not depend on the width


def test_steps_and_numbers(ask):
    given = {"text": PENDULUM, "formalism": "kane"}
    steps, numbers = ask("equations", **given, view="steps"), ask("equations", **given, view="steps", numbers=True)
    assert len(steps["parts"]) > len(ask("equations", **given)["parts"])
    assert any("(6)" in part["html"] for part in steps["parts"])
    assert r"l \sin {\theta}" in steps["latex"]
    assert r"l \sin {\theta}" not in numbers["latex"]


# evidence


def test_evidence_reports_its_scope(ask):
    proved = ask("prove", text=CART, formalisms=["lagrange", "kane", "volterra_reduced"])
    assert proved["passed"] is True
    assert "3 formalisms of 'cart-pendulum' are identical functions" in proved["sentence"]
    assert re.search(r"at most 2⁻\d*[⁰¹²³⁴⁵⁶⁷⁸⁹]+", proved["scope"])
    compared = ask("compare", text=CART, formalisms=["lagrange", "volterra_reduced"], duration=0.2, samples=5)
    assert "<td>lagrange</td><td>3</td><td>6</td>" in compared["tables"]
    assert "<td>volterra_reduced</td><td>1</td><td>4</td>" in compared["tables"]
    # an integrator that supports only phong: the others are rows with a reason
    asked = {"formalisms": ["lagrange", "phong"], "duration": 0.1, "samples": 3, "integrator": "collocation"}
    partly = ask("compare", text=CART, **asked)
    assert "<td>failed</td>" in partly["tables"]
    assert "lagrange failed: the integrator" in partly["tables"]


@pytest.mark.nightly
def test_verification_reports_the_number_of_states(ask):
    found = ask("verify", text=CART, states=7)
    assert found["passed"] is True
    assert "at the same 7 random states" in found["scope"]
    assert "inertia terms are derivatives of the kinetic energy" in found["tables"]


# help


def test_help_explains_every_quantity(ask):
    entries = ask("glossary")["entries"]
    assert len({each["key"] for each in entries}) == len(entries)
    assert {each["key"] for each in entries} == {*QUANTITIES, *catalog.KEYS}
    for each in entries:
        assert "\\" not in each["formula"], each["key"]  # fully converted to MathML
        assert "papers/" not in each["source"]
    assert all(entry.text.endswith(".") for _, _, entry in explained())
    assert next(each["source"] for each in entries if each["key"] == "energy").endswith("(80)")


def test_every_help_button_has_an_entry():
    text = "\n".join(path.read_text("utf-8") for path in SOURCES.rglob("*.ts"))
    keys = set(re.findall(r'helpFor\(studio, "(\w+)"\)', text)) | set(re.findall(r'card\("\w+", "\w+", "(\w+)"', text))
    for table in re.findall(r"(?:PANELS|HELP_KEYS): Record<string, string> = \{(.*?)\}", text, re.DOTALL):
        keys |= set(re.findall(r': "(\w+)"', table))
    assert {"energy", "violation", "mobility", "proof", "budget"} <= keys
    assert keys <= {*QUANTITIES, *catalog.KEYS}


# in a browser


@pytest.mark.nightly
def test_two_formalisms_proof_and_help_in_a_browser(page: Page):
    expect(page.locator(".stage canvas")).to_be_visible()
    page.evaluate("text => window.studio.change(text)", CART)
    expect(page.locator("header h1")).to_have_text("cart-pendulum")
    page.get_by_role("tab", name="Analysis").click()
    expect(page.get_by_role("heading", name="Formalisms")).to_be_visible()
    body = page.get_by_role("button", name="cart: highlight on the stage")
    body.press("Enter")
    expect(body).to_have_attribute("aria-pressed", "true")

    page.get_by_role("tab", name="Equations").click()
    page.get_by_role("button", name="Side by side").click()
    first = page.get_by_role("region", name="Lagrange's equations with multipliers")
    second = page.get_by_role("region", name="Kane's equations")
    for column, number in ((first, "(17)"), (second, "(4)")):
        expect(column.locator(".number").filter(has_text=number).first).to_be_visible()
        expect(column.locator("math").first).to_be_visible()
    boxes = [each.bounding_box() for each in (first, second)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["height"] == pytest.approx(boxes[1]["height"])
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    page.get_by_label("Second formalism").select_option("dirac")
    expect(page.get_by_role("region", name="Dirac's equations")).to_contain_text("This formalism does not apply")

    page.get_by_role("tab", name="Evidence").click()
    page.get_by_role("button", name="Prove", exact=True).click()
    expect(page.locator(".evidence")).to_contain_text("are identical functions")

    page.get_by_role("button", name="Explain: proof").click()
    expect(page.get_by_role("complementary", name="Help").locator("article:focus")).to_contain_text(
        "Proof of agreement"
    )
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_label("Search in help").fill("energy balance")
    expect(page.get_by_role("complementary", name="Help").get_by_text("(80)")).to_be_visible()
