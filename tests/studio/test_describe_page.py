"""The page *Describe* in a browser: examples, source, forms and files stay synchronized."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dalembert.io import gallery

GALLERY = Path(gallery.__file__).parent
pytestmark = pytest.mark.nightly

DROP = """([name, text]) => {
  const given = new DataTransfer();
  given.items.add(new File([text], name));
  window.dispatchEvent(new DragEvent("dragover", { dataTransfer: given, bubbles: true, cancelable: true }));
  window.dispatchEvent(new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
}"""


def chosen(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def text_of(page: Page) -> str:
    return page.evaluate("window.studio.text()")


def test_example_opens_with_its_description(page: Page):
    expect(page.locator(".example img[src]").first).to_be_visible()
    page.get_by_label("Search examples").fill("pendulum")
    expect(page.locator(".example:visible")).not_to_have_count(len(gallery.names()))
    page.get_by_role("button", name="Double pendulum", exact=True).click()
    expect(page.get_by_role("heading", name="Double pendulum")).to_be_visible()
    expect(page.locator("header h1")).to_have_text("double-pendulum")


def test_problems_are_marked_at_their_lines_while_typing(page: Page):
    expect(page.locator("header h1")).to_have_text("four-bar")
    chosen(page, "Source")
    editor = page.get_by_label("Model file", exact=True)
    editor.get_by_text('mass = "m1"').click()
    page.keyboard.press("End")
    page.keyboard.type("x")
    expect(page.get_by_role("status", name="Problems")).to_contain_text("not valid TOML")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(page.locator("[data-stale]")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(page.get_by_role("status", name="Problems")).to_be_hidden()
    expect(page.locator("[data-stale]")).to_have_count(0)
    page.keyboard.press("Control+y")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)


def test_completions_are_offered(page: Page):
    expect(page.locator("header h1")).to_have_text("four-bar")
    chosen(page, "Source")
    offered = page.locator(".cm-tooltip-autocomplete li")
    page.get_by_label("Model file", exact=True).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n[[dam")
    expect(offered.first).to_contain_text("[[damper]]")
    page.wait_for_timeout(200)  # keys typed too early do not accept a completion
    page.keyboard.press("Enter")
    page.keyboard.type("\nbod")
    expect(offered.first).to_contain_text("bodies")
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    page.keyboard.type('["cou')
    expect(offered.first).to_contain_text("coupler")
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    assert text_of(page).endswith('\n[[damper]]\nbodies = ["coupler"]')


def test_forms_and_source_are_synchronized(page: Page):
    expect(page.locator("header h1")).to_have_text("four-bar")
    page.get_by_role("button", name="Empty model").click()
    for count, kind in enumerate(("body", "body", "spring"), 1):
        page.get_by_label("Add to the model").select_option(kind)
        expect(page.locator(".forms .part")).to_have_count(count)
    second = page.locator(".forms .part").nth(1)
    second.get_by_label("Mass").fill("2*p")
    expect(second.locator(".wrong:visible")).to_contain_text("the name 'p' is not known here")
    page.get_by_role("button", name="+ parameter").click()
    page.get_by_label("Name of p1").fill("p")
    page.keyboard.press("Tab")
    expect(second.locator(".wrong:visible")).to_have_count(0)
    assert 'mass = "2*p"' in text_of(page)
    second.get_by_label("Type").select_option("prismatic")
    expect(second.get_by_label("Displacement")).to_have_value("q2")
    second.get_by_label("Name").fill("slider")
    page.keyboard.press("Tab")
    expect(page.locator(".forms .part").nth(2)).to_contain_text("slider")  # the spring uses the new name
    page.evaluate("window.studio.change(window.studio.text().replace('2*p', '3*p'))")
    expect(second.get_by_label("Mass")).to_have_value("3*p")
    page.keyboard.press("Control+z")
    expect(second.get_by_label("Mass")).to_have_value("2*p")


def test_files_can_be_dropped_anywhere(page: Page):
    expect(page.locator("header h1")).to_have_text("four-bar")
    page.evaluate(DROP, ["broken.urdf", "<robot name='r'><joint/></robot>"])
    expect(page.get_by_role("alert")).to_contain_text("broken.urdf")
    expect(page.locator("header h1")).to_have_text("four-bar")
    page.evaluate(DROP, ["arm.urdf", (GALLERY / "double-pendulum-urdf" / "model.urdf").read_text("utf-8")])
    expect(page.get_by_label("Model file", exact=True)).to_contain_text("[[body]]")
    expect(page.locator("header h1")).not_to_have_text("four-bar")
