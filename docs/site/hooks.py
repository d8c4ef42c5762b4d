"""What the site has beyond the files of `docs`: the gallery, the reference and the changes, written while it is built.

`make docs` paints the gallery and runs the tutorials first (`pictures.py`), then MkDocs calls the functions below by their names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

import gallery_pages
import marks
import reference
from mathml import math_fence
from offline_links import broken

from dalembert.display.viewer import math_style

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "out" / "pictures"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fills the entries of the navigation that end in a slash, and teaches Markdown our fences."""
    made: dict[str, Callable[[], list[Any]]] = {"gallery/": gallery_pages.navigation, "api/": reference.navigation}
    config.nav = _filled(config.nav, made)
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
    fences.append({"name": "math", "class": "math", "format": math_fence})
    return config


def _filled(entry: Any, made: dict[str, Callable[[], list[Any]]]) -> Any:
    """A part of the navigation with the generated parts in their places."""
    if isinstance(entry, list):
        return [_filled(part, made) for part in entry]
    if isinstance(entry, dict):
        return {title: _filled(part, made) for title, part in entry.items()}
    return made[entry]() if entry in made else entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages, the math font and the pictures."""
    pages = gallery_pages.pages() | reference.pages() | {"changelog.md": changes()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, "site/math.css", content=math_style()))
    for path in sorted(path for path in PICTURES.rglob("*") if path.suffix in (".html", ".png")):
        place = path.relative_to(PICTURES).as_posix()
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **more: Any) -> str:
    """Fills the marks of a page."""
    return marks.shown(markdown, page.file.src_uri)


def on_page_content(html: str, page: Page, **more: Any) -> str:
    """Functions are shown as users call them."""
    return reference.as_called(html) if page.file.src_uri == "api/functions.md" else html


def changes() -> str:
    """The changelog, with its links as they go from a page of the site."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


def on_post_build(config: MkDocsConfig) -> None:
    """Every link of every page leads to a file or a heading of the site, and nothing is fetched from elsewhere."""
    if problems := broken(Path(config.site_dir)):
        raise PluginError("\n".join(problems))
