"""Check that the site opens from a folder: valid links, and nothing loaded over a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src"}
FETCHED = ("stylesheet", "icon", "preload", "preconnect")


@dataclass
class Page(HTMLParser):
    """The anchors, links and loaded resources of a page."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the data of one tag."""
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[key] for key in ("id", "name") if key in attributes}
        if tag == "link" and set(FETCHED) & set(attributes.get("rel", "").split()):
            self.loaded.append(attributes.get("href", ""))
        elif tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag in LOADED and attributes.get(LOADED[tag]):
            self.loaded.append(attributes[LOADED[tag]])


def read_page(path: Path) -> Page:
    """Parse the anchors and links of a page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(site: Path) -> list[str]:
    """One message for every broken link and for every resource loaded over a network."""
    pages = {path: read_page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    out = []
    for path, page in pages.items():
        name = path.relative_to(site)
        away = [target for target in page.loaded if urlsplit(target).scheme not in ("", "data") or target[:2] == "//"]
        out += [f"{name} loads {target} over a network. Pages must open without network access." for target in away]
        inside = (target for target in page.links + page.loaded if not urlsplit(target).scheme and target[:2] != "//")
        out += [
            f"{name} links to {target}, which does not exist." for target in inside if not _leads(path, target, pages)
        ]
    return out


def _leads(path: Path, target: str, pages: dict[Path, Page]) -> bool:
    """Whether the target of a link exists, including its anchor if present."""
    parts = urlsplit(target)
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not there.is_file():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or there not in pages or anchor in pages[there].anchors or anchor.startswith("__")
