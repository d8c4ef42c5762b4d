"""The page of a scene: one HTML file that needs nothing else, no network and no server.

The viewer comes with the package, built from `viewer/`. Data stand in the page as JSON in which no `<` occurs, so no text of a
model can end its element. The content security policy names the one script and the one stylesheet by their hashes: whatever else
might get into the page does not run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from dalembert.display.scene.scene_values import Scene
from dalembert.display.viewer import bundle

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<script type="application/json" id="dalembert-data">{data}</script>
{templates}<script>{script}</script>
</body>
</html>
"""
_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:; font-src data:;"
    " base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Tab:
    """A tab beside the time histories: its title, and HTML that is safe already."""

    title: str
    html: str


def page(scene: Scene, *, tabs: Sequence[Tab] = (), title: str | None = None) -> str:
    """The page of a scene as one text."""
    return page_of(scene.to_dict(), tabs, title or scene.name)


def page_of(data: Mapping[str, object], tabs: Sequence[Tab], title: str) -> str:
    """The page of the plain data of a scene."""
    script, style = bundle()
    templates = "".join(f'<template id="dalembert-tab-{k}">{tab.html}</template>\n' for k, tab in enumerate(tabs))
    return _PAGE.format(
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        title=escape(title),
        style=style,
        data=embedded({**data, "tabs": [{"title": tab.title} for tab in tabs]}),
        templates=templates,
        script=script,
    )


def frame(scene: Scene, *, height: int = 560) -> str:
    """The page in a frame of its own, as a notebook shows it."""
    words = escape(page(scene), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{words}" width="100%" height="{int(height)}" '
        'style="border:0" loading="lazy"></iframe>'
    )


def embedded(data: object) -> str:
    """Data as JSON that can stand in a page: no `<` occurs in it.

    >>> embedded({"name": "</script><script>"})
    '{"name":"\\\\u003c/script>\\\\u003cscript>"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # the two separators end lines in old scripts, not in JSON
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _hash(text: str) -> str:
    """The hash of an element's text, as the policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def markdown(text: str) -> str:
    """Paragraphs, headings, lists, tables and code; headings one level lower, since a page has its own title.

    >>> markdown("# Pendulum\\n\\nIt *swings* <b>free</b>.")
    '<h2>Pendulum</h2>\\n<p>It <em>swings</em> &lt;b&gt;free&lt;/b&gt;.</p>\\n'
    """
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type.startswith("heading"):
            token.tag = f"h{min(int(token.tag[1:]) + 1, 6)}"
        elif token.type == "inline":
            # links to paths inside a repository lead nowhere from a page; their words stay
            token.children = [x for x in token.children or () if x.type not in ("link_open", "link_close")]
    return parser.renderer.render(tokens, parser.options, {})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
