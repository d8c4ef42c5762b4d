"""One browser for all tests of a process, and a fixture that opens scenes in it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import SOFTWARE, Browser, Page, chromium, found

from dalembert.display.video import PageTab, page_of

Opens = Callable[..., Page]


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Browser]:
    if found() is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with chromium(tmp_path_factory.mktemp("profile"), *SOFTWARE) as running:
        yield running


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opens]:
    """Open a scene as a file; at the end, check for console messages and requests."""
    pages: list[Page] = []

    def open_scene(data: dict[str, Any], tabs: tuple[PageTab, ...] = (), **options: Any) -> Page:
        path = tmp_path / f"page{len(pages)}.html"
        path.write_text(page_of(data, tabs, "a page"), encoding="utf-8")
        pages.append(browser.open(path, **options))
        return pages[-1]

    yield open_scene
    for page in pages:
        complaints, requests = page.complaints(), page.requests()
        page.close()
        assert complaints == []
        assert requests == []
