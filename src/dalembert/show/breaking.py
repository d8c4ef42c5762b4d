r"""Long LaTeX across lines: how wide a formula is, and where it may be broken.

A formula is broken before a plus or minus sign that stands in no braces, so never inside a fraction or an index. The printer
writes brackets without \left and \right, which no line break may part, and long numerators beside their fraction.
"""

from __future__ import annotations

import re

LINE = 78.0  # width of a line, in letters of a formula
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}]|\s+|.", re.DOTALL)
_NOTHING = {
    "{",
    "}",
    "\\left",
    "\\right",
    "\\mathrm",
    "\\mathbf",
    "\\mathsf",
    "\\dot",
    "\\ddot",
    "\\tilde",
    "\\hat",
    "\\bar",
}
_WIDE = {
    "+": 2.0,
    "-": 2.0,
    "=": 2.2,
    "\\sin": 2.0,
    "\\cos": 2.0,
    "\\tan": 2.0,
    "\\sqrt": 1.6,
    "\\quad": 2.0,
    "\\partial": 1.2,
}


def width(tex: str) -> float:
    r"""The width of a formula, in letters; of a fraction that of its wider half, of an index less.

    >>> width("a + b"), width(r"\frac{a}{b + c}") < width("a + b + c")
    (4.0, True)
    """
    return _measured(_TOKEN.findall(tex), 0)[0]


def _measured(tokens: list[str], at: int, *, one: bool = False) -> tuple[float, int]:
    """The width of tokens from a place to the end of their group, or of one of them, and where it ends."""
    total = 0.0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == "}":
            return total, at
        if token == "{":
            inner, at = _measured(tokens, at)
            total += inner
        elif token == "\\frac":
            above, at = _measured(tokens, at, one=True)
            below, at = _measured(tokens, at, one=True)
            total += max(above, below) + 0.5
        elif token in "_^":
            index, at = _measured(tokens, at, one=True)
            total += 0.75 * index
        elif token.strip() and token not in _NOTHING:
            total += _WIDE.get(token, 1.0)
        if one:
            return total, at
    return total, at


def broken(left: str, right: str, limit: float = LINE) -> list[str]:
    r"""The lines of left = right for an aligned environment.

    >>> broken("x", "a + b")
    ['x &= a + b']
    >>> broken("x", "a + b - c", limit=6)
    ['x &= a', '&\\quad + b', '&\\quad - c']
    """
    head = pieces(left)
    lines, line = [], ""
    for piece in head:
        if line and width(line + piece) > limit:
            lines.append(line)
            line = r"\quad "
        line += piece
    start = width(line) if len(head) == 1 else 4.0
    lines.append(f"{line} &= " if len(head) == 1 else f"&{line} = ")
    lines[:-1] = [f"&{before}" for before in lines[:-1]]
    used = start + 2.2
    for k, piece in enumerate(pieces(right)):
        size = width(piece)
        if k and used + size > limit:
            lines.append(r"&\quad " + piece.lstrip())
            used = start + 4.0 + size
        else:
            lines[-1] += piece
            used += size
    return [line.rstrip() for line in lines]


def pieces(tex: str) -> list[str]:
    r"""A formula in parts, each but the first of which begins with a plus or minus sign.

    >>> pieces(r"a (b - c) + \frac{d + e}{f}")
    ['a (b', ' - c)', ' + \\frac{d + e}{f}']
    """
    out, line, depth = [], "", 0
    for token in _TOKEN.findall(tex):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if (
            token in ("+", "-")
            and depth == 0
            and line.endswith(" ")
            and line.strip()
            and not line.rstrip().endswith("(")
        ):
            out.append(line.rstrip(" "))
            line = " "
        line += token
    return [*out, line]
