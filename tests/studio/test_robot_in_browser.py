"""The workflow of a RoboAnalyzer user in a browser: from an empty table to torques and files."""

import math
import re

import pytest
from playwright.sync_api import Page, expect

import dalembert as dl
from dalembert.io.file_formats import loads

pytestmark = pytest.mark.nightly


def cell(page: Page, row: int, column: str) -> None:
    """Focus a cell of the table."""
    page.get_by_label(f"Row {row}, {column}").focus()


def typed(page: Page) -> None:
    """Type a robot of three joints into an empty table."""
    page.get_by_role("tab", name="DH table").click()
    page.get_by_role("button", name="New table").click()
    cell(page, 1, "d, joint offset")
    page.keyboard.type("0.4")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.type("90")
    page.keyboard.press("Enter")  # a new row
    for row, start in ((2, "35"), (3, "-60")):
        cell(page, row, "a, link length")
        page.keyboard.type("0.5")
        cell(page, row, "initial value")
        page.keyboard.type(start)
        if row == 2:
            page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="robot", exact=True)).to_be_visible()


def text_of(page: Page) -> str:
    """Return the source of the model."""
    return page.locator("textarea.source, .cm-content").first.evaluate("e => e.value ?? e.innerText")


def pose(page: Page) -> list[float]:
    """Return the position of the hand."""
    return [float(page.get_by_label(f"Pose of the end effector, {c}", exact=True).input_value()) for c in "xyz"]


def found_on_stage(page: Page, body: str) -> tuple[int, int]:
    """Return a pixel of the stage over a body: its name is displayed next to the pointer."""
    box, tag = page.locator(".stage canvas").bounding_box(), page.locator(".name-tag")
    assert box is not None
    for y in range(int(box["y"]) + 60, int(box["y"] + box["height"]) - 40, 25):
        for x in range(int(box["x"]) + 40, int(box["x"] + box["width"]) - 70, 25):
            page.mouse.move(x, y)
            if tag.is_visible() and tag.text_content() == body:
                return x, y
    raise AssertionError(f"{body} is nowhere on the stage")


def test_from_an_empty_table_to_torques_and_an_animation(page: Page, running) -> None:
    expect(page.locator(".stage canvas")).to_be_visible()
    typed(page)

    # frames: compare the transform from the base to the hand with the library
    matrix = page.get_by_label("Transform between the frames")
    expect(matrix.locator("td").nth(15)).to_have_text("1")
    page.get_by_role("tab", name="Source").click()
    model = loads(text_of(page))
    page.get_by_role("tab", name="DH table").click()
    T = dl.pose(model, model.initial[0], "link3").matrix
    shown = [float(x.replace("−", "-")) for x in matrix.locator("td").all_text_contents()]
    assert shown == pytest.approx(T.ravel(), abs=1e-4)

    # forward kinematics, then drag the hand with inverse kinematics
    page.get_by_role("tab", name="Motion", exact=True).click()
    page.get_by_role("tab", name="Robot", exact=True).click()
    expect(page.get_by_text("Manipulability")).to_be_visible()
    assert pose(page) == pytest.approx(T[:3, 3], abs=1e-4)
    page.get_by_role("button", name="Add this posture").first.click()
    x, y = found_on_stage(page, "link3")
    before = pose(page)
    page.mouse.down()
    for k in range(1, 11):
        page.mouse.move(x + 8 * k, y + 5 * k)
    page.mouse.up()
    expect(page.get_by_label("Pose of the end effector, x", exact=True)).not_to_have_value(str(before[0]))
    page.get_by_label("Pose of the end effector, y", exact=True).fill("0.25")
    page.keyboard.press("Tab")
    assert pose(page)[1] == pytest.approx(0.25, abs=1e-4)
    page.get_by_role("button", name="Add this posture").first.click()

    # a typed pose: all inverse-kinematics solutions
    page.get_by_role("button", name="Current pose").click()
    page.get_by_role("button", name="Solve").click()
    expect(page.get_by_role("button", name=re.compile("^Posture"))).to_have_count(4)

    # the motion with its torques, then forward dynamics
    page.get_by_role("tab", name="Trajectory").click()
    page.get_by_role("button", name="Compute drive torques").click()
    expect(page.get_by_text("Torques and forces of the drives")).to_be_visible()
    expect(page.locator(".bar")).to_be_visible()
    expect(page.get_by_text("Drive efforts", exact=True).locator("visible=true")).to_be_visible()
    page.get_by_label("Control").select_option("computed_torque")
    page.get_by_role("button", name="Simulate with control").click()
    expect(page.get_by_text("Tracking error")).to_be_visible()

    # the animation
    page.get_by_role("tab", name="Export", exact=True).click()
    page.get_by_text("Options:").click()
    page.get_by_label("Height in pixels").fill("96")
    page.get_by_label("Frames per second").fill("5")
    page.get_by_role("button", name="Animation (GIF)").click()
    expect(page.get_by_role("link", name=re.compile(r"\.gif$"))).to_be_visible()
    (film,) = running.folder.glob("*.gif")
    assert film.read_bytes()[:6] == b"GIF89a"


def test_undo_restores_the_table_and_a_spreadsheet_can_be_pasted(page: Page) -> None:
    expect(page.locator(".stage canvas")).to_be_visible()
    typed(page)
    cell(page, 1, "joint")
    page.locator(".dh .sheet select").first.evaluate(
        """(e) => {
          const data = new DataTransfer();
          data.setData("text/plain", "R\\t0\\t0.3\\t0\\t-90\\nP\\t0\\t0.5\\t0\\t0\\n");
          e.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
    )
    expect(page.get_by_label("Row 2, d, joint offset")).to_have_value("0.5")
    expect(page.get_by_label("Row 2, joint")).to_have_value("prismatic")
    expect(page.locator(".badge")).to_have_text("saved")
    page.wait_for_timeout(1500)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Row 1, d, joint offset")).to_have_value("0.4")
    expect(page.get_by_label("Row 2, joint")).to_have_value("revolute")


def test_stretched_arm_is_singular_and_limits_are_respected(page: Page) -> None:
    expect(page.locator(".stage canvas")).to_be_visible()
    typed(page)

    def stretched() -> float:
        """Set a target out of reach and return the last joint angle."""
        page.get_by_role("tab", name="Motion", exact=True).click()
        page.get_by_role("tab", name="Robot", exact=True).click()
        page.wait_for_timeout(3000)  # limits come from the server
        page.get_by_label("Pose of the end effector, x", exact=True).fill("3")
        expect(page.get_by_text("The target is out of reach by")).to_be_visible()
        page.get_by_role("button", name="Add this posture").first.click()
        page.get_by_role("tab", name="Trajectory").click()
        return float(page.get_by_label(re.compile(r"^Row \d, q₃")).last.input_value())

    assert stretched() == pytest.approx(0, abs=0.05)
    page.get_by_role("tab", name="Robot", exact=True).click()
    expect(page.get_by_text("Singular configuration")).to_be_visible()
    page.get_by_role("tab", name="Model", exact=True).click()
    cell(page, 3, "upper limit")
    page.keyboard.type("-50")
    expect(page.locator(".badge")).to_have_text("saved")
    page.wait_for_timeout(3000)
    page.get_by_role("tab", name="Motion", exact=True).click()
    page.get_by_role("button", name="Reset to the initial configuration").locator("visible=true").click()
    assert stretched() == pytest.approx(math.radians(-50), abs=1e-4)
