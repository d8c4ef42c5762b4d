"""The whole way in a browser: from a page to a motion and back after a reload."""

import re

import pytest
from playwright.sync_api import Page, expect


def chosen(page: Page, *tabs: str) -> None:
    for name in tabs:
        page.get_by_role("tab", name=name, exact=True).click()


@pytest.mark.nightly
def test_a_draft_is_there_after_a_reload(page: Page):
    expect(page.locator(".stage canvas")).to_be_visible()
    chosen(page, "Describe", "Text")
    page.evaluate("window.studio.change('name = \"mine\"\\n')")
    expect(page.locator("header")).to_contain_text("saved")
    page.reload()
    expect(page.get_by_label("Model file", exact=True)).to_contain_text('name = "mine"')


@pytest.mark.nightly
def test_a_run_is_taken_away(page: Page, running):
    expect(page.locator(".stage canvas")).to_be_visible()
    chosen(page, "Move", "Simulate")
    page.get_by_role("button", name="Simulate", exact=True).click()
    expect(page.get_by_role("group", name="Film")).to_be_visible()
    chosen(page, "Take away")
    with page.expect_download() as download:
        page.get_by_role("button", name="Data (CSV)").click()
        page.get_by_role("link", name=re.compile(r".*\.csv")).click()
    assert download.value.path().read_bytes() == (running.folder / download.value.suggested_filename).read_bytes()
