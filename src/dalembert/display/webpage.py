"""The page of a scene: one self-contained HTML file, without network or server.

The viewer is part of the package, built from `viewer/`. The page contains the data as JSON without any `<`, so that no string of
a model can end its element. The content security policy allows one script and one stylesheet by their hashes: no other script
in the page is executed.
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
class PageTab:
    """A tab next to the time histories: its title, and HTML that is already escaped."""

    title: str
    html: str


def page(scene: Scene, *, tabs: Sequence[PageTab] = (), title: str | None = None) -> str:
    """Return the page of a scene as a str."""
    return page_of(scene.to_dict(), tabs, title or scene.name)


def page_of(data: Mapping[str, object], tabs: Sequence[PageTab], title: str) -> str:
    """Return the page of the plain data of a scene."""
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
    """Return the page in an iframe for a notebook."""
    words = escape(page(scene), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{words}" width="100%" height="{int(height)}" '
        'style="border:0" loading="lazy"></iframe>'
    )


def embedded(data: object) -> str:
    """Return data as JSON that can be embedded in a page: it contains no `<`.

    >>> embedded({"name": "</script><script>"})
    '{"name":"\\\\u003c/script>\\\\u003cscript>"}'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # the two separators are line ends in old JavaScript, not in JSON
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _hash(text: str) -> str:
    """Return the hash of the content of an element, as in the policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def markdown(text: str) -> str:
    """Convert Markdown to HTML; headings are one level lower, since a page has its own title.

    >>> markdown("# Pendulum\\n\\nIt *swings* <b>free</b>.")
    '<h2>Pendulum</h2>\\n<p>It <em>swings</em> &lt;b&gt;free&lt;/b&gt;.</p>\\n'
    """
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if token.type.startswith("heading"):
            token.tag = f"h{min(int(token.tag[1:]) + 1, 6)}"
        elif token.type == "inline":
            # links to repository paths do not work from a page; keep only their text
            token.children = [x for x in token.children or () if x.type not in ("link_open", "link_close")]
    return parser.renderer.render(tokens, parser.options, {})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
