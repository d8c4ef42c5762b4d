"""Markdown as HTML that is safe: no HTML of its author passes, and no link that could run something."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


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
            token.children = [child for child in token.children or () if _stays(child)]
    return parser.renderer.render(tokens, parser.options, {})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def _stays(token: Token) -> bool:
    """Links to places inside a repository lead nowhere from a page; their words stay."""
    return token.type not in ("link_open", "link_close")
