"""A studio that runs in a temporary folder, and a page of it in Debian's Chromium."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no network but loopback
]
SECONDS = 90.0  # timeout on a busy machine
expect.set_options(timeout=1000 * SECONDS)


@dataclass(frozen=True)
class Running:
    """A running studio: its address with the token, its folder, its process."""

    address: str
    folder: Path
    process: subprocess.Popen[str]


@contextlib.contextmanager
def studio(folder: Path, *words: str) -> Iterator[Running]:
    """Run `dalembert studio` in a folder until the end of the block."""
    command = [sys.executable, "-m", "dalembert", "studio", "--no-browser", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        address = ""
        while not (found := re.search(r"http://\S+", address)):
            address = process.stdout.readline()
            assert address or process.poll() is None, "the studio ended before it printed its address"
        yield Running(found.group(), folder, process)
    finally:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A studio without a model."""
    with studio(tmp_path) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=program, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser, running: Running) -> Iterator[Page]:
    """The first page of the studio; it must not log errors or warnings."""
    context = browser.new_context(viewport={"width": 1400, "height": 860}, accept_downloads=True)
    context.set_default_timeout(1000 * SECONDS)
    found, messages = context.new_page(), []
    found.on("console", lambda message: messages.append(message.text) if message.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: messages.append(str(error)))
    found.goto(running.address)
    yield found
    context.close()
    assert messages == []
