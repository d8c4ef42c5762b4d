"""Docstrings as pages show them: their examples become blocks of Python."""

from __future__ import annotations

from doctest import DocTestParser, Example
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Puts every example of a docstring, with what it prints, into a fence."""

    def on_object(self, *, obj: Object, **more: Any) -> None:
        """Rewrites the docstring of one thing."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring whose examples stand in fences of Python.

    >>> print(fenced("Twice.\\n\\n>>> 1 + 1\\n2"))
    Twice.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    out: list[str] = []
    inside = False
    for part in DocTestParser().parse(text):
        if isinstance(part, Example):
            if not inside:
                out.append("\n\n```pycon\n")
            first, *others = part.source.splitlines()
            out += [f">>> {first}\n", *(f"... {line}\n" for line in others), part.want]
            inside = True
        elif part.strip():
            out.append(("```\n\n" if inside else "") + part.strip("\n"))
            inside = False
    return "".join(out).rstrip("\n") + ("\n```" if inside else "")
