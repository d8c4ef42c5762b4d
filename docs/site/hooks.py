"""Generated pages of the site: the gallery, the reference and the changelog, written during the build.

`make docs` renders the gallery and runs the tutorials first (`pictures.py`), then MkDocs calls the functions below by name.
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
    """Fill the entries of the navigation that end in a slash, and register our Markdown fences."""
    made: dict[str, Callable[[], list[Any]]] = {"gallery/": gallery_pages.navigation, "api/": reference.navigation}
    config.nav = _filled(config.nav, made)
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
    fences.append({"name": "math", "class": "math", "format": math_fence})
    return config


def _filled(entry: Any, made: dict[str, Callable[[], list[Any]]]) -> Any:
    """A part of the navigation with the generated parts inserted."""
    if isinstance(entry, list):
        return [_filled(part, made) for part in entry]
    if isinstance(entry, dict):
        return {title: _filled(part, made) for title, part in entry.items()}
    return made[entry]() if entry in made else entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, the math font and the pictures."""
    pages = gallery_pages.pages() | reference.pages() | {"changelog.md": changes()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, "site/math.css", content=math_style()))
    for path in sorted(path for path in PICTURES.rglob("*") if path.suffix in (".html", ".png")):
        place = path.relative_to(PICTURES).as_posix()
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **more: Any) -> str:
    """Fill the marks of a page."""
    return marks.fill_marks(markdown, page.file.src_uri)


def on_page_content(html: str, page: Page, **more: Any) -> str:
    """Rename functions to their public names."""
    return reference.as_called(html) if page.file.src_uri == "api/functions.md" else html


def changes() -> str:
    """The changelog with its links rewritten for the site."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


def on_post_build(config: MkDocsConfig) -> None:
    """Check that every link has a target in the site and that nothing is loaded from elsewhere."""
    if problems := broken(Path(config.site_dir)):
        raise PluginError("\n".join(problems))
