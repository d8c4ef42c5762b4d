"""End-to-end tests in a browser: draft, simulation, download, and a killed worker."""

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect


def chosen(page: Page, *tabs: str) -> None:
    for name in tabs:
        page.get_by_role("tab", name=name, exact=True).click()


@pytest.mark.nightly
def test_draft_is_restored_after_a_reload(page: Page):
    expect(page.locator(".stage canvas")).to_be_visible()
    chosen(page, "Model", "Source")
    page.evaluate("window.studio.change('name = \"mine\"\\n')")
    expect(page.locator("header")).to_contain_text("saved")
    page.reload()
    expect(page.get_by_label("Model file", exact=True)).to_contain_text('name = "mine"')


@pytest.mark.nightly
def test_run_can_be_downloaded(page: Page, running):
    expect(page.locator(".stage canvas")).to_be_visible()
    chosen(page, "Motion", "Simulate")
    page.get_by_role("button", name="Simulate", exact=True).click()
    expect(page.get_by_role("group", name="Playback")).to_be_visible()
    chosen(page, "Export")
    with page.expect_download() as download:
        page.get_by_role("button", name="Data (CSV)").click()
        page.get_by_role("link", name=re.compile(r".*\.csv")).click()
    assert download.value.path().read_bytes() == (running.folder / download.value.suggested_filename).read_bytes()


def busiest(server: int) -> int:
    """Return the child process of a server with the largest CPU time."""
    below, spent = {server}, {}
    stats = [path.read_text("utf-8").rpartition(")") for path in Path("/proc").glob("[0-9]*/stat")]
    rows = {int(head.split()[0]): tail.split() for head, _, tail in stats}
    for _ in range(4):  # generations
        below |= {pid for pid, row in rows.items() if int(row[1]) in below}
    spent = {pid: int(rows[pid][11]) for pid in below - {server}}
    return max(spent, key=spent.__getitem__)


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc of Linux")
def test_killed_worker_loses_only_its_task(page: Page, running):
    expect(page.locator(".stage canvas")).to_be_visible()
    chosen(page, "Motion", "Simulate")
    page.get_by_label("Duration [s]").fill("3000")
    page.get_by_role("button", name="Simulate", exact=True).click()
    expect(page.get_by_role("progressbar", name="Simulation")).to_be_visible()
    page.wait_for_timeout(4_000)
    os.kill(busiest(running.process.pid), signal.SIGKILL)
    expect(page.get_by_role("alert").filter(has_text="Other results are not affected")).to_be_visible()
    page.get_by_label("Duration [s]").fill("1")
    page.get_by_role("button", name="Simulate", exact=True).click()
    expect(page.locator(".clock")).to_contain_text("/ 1.0")
