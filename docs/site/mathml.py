"""Fences of LaTeX as MathML: mathematics without a script and without a network."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def math_fence(source: str, language: str, css_class: str, options: dict[str, Any], md: Any, **more: Any) -> str:
    """A ```math fence, as code hosts show it too."""
    return f'<div class="{css_class}">{convert(source.strip(), display="block")}</div>'
