"""Fences of LaTeX as MathML: mathematics without scripts and network access."""

from __future__ import annotations

from typing import Any

from dalembert.display.math import html


def math_fence(source: str, language: str, css_class: str, options: dict[str, Any], md: Any, **more: Any) -> str:
    """A ```math fence, which code hosts render too."""
    block = html.math(source.strip()).replace("<math ", '<math display="block" ', 1)
    return f'<div class="{css_class}">{block}</div>'
