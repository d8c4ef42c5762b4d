r"""Line breaks in long LaTeX: the width of a formula, and its possible breaks.

A formula breaks before a sign outside of braces, so never inside a fraction or an index, and if that is not enough between
factors. The printer writes brackets without \left and \right, which prevent line breaks, and long numerators, denominators and
roots as factors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LINE = 455.0  # width in points, of an 11-point document on A4 or letter paper
_MAX_LEFT = 110.0  # width of an aligned left side
_INDENT = 11.0  # of continued lines
_SCALES = (1.0, 1.0, 0.76, 0.6)  # display, text, index, index of an index
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}]|\s+|.", re.DOTALL)
_FONTS = ("mathrm", "mathbf", "mathsf", "boldsymbol", "text", "left", "right", "bigl", "bigr")
_ZERO_WIDTH = {f"\\{word}" for word in (*_FONTS, "dot", "ddot", "tilde", "hat", "bar")}  # commands without width
_OPENING, _CLOSING = {"{", "\\left", "\\begin"}, {"}", "\\right", "\\end"}
_WIDE = {"+": 13.4, "-": 13.4, "=": 14.6, "<": 14.6, ">": 14.6, "\\leq": 14.6, "\\geq": 14.6, "\\quad": 11.0}
_WIDE |= {"\\sin": 15.3, "\\cos": 16.5, "\\tan": 17.7, "\\sqrt": 9.2, "\\;": 3.1, "\\_": 4.0, "\\cdot": 7.9}
_WIDE |= {"\\Bigl": 2.4, "\\Bigr": 2.4}  # in addition to the bracket after it
_WIDE |= dict.fromkeys("()[]ijlt,.:;|'", 4.3) | {"m": 9.7, "w": 8.2, "M": 11.9, "W": 11.9}
_FACTOR = re.compile(r"(?<=[^\s(]) (?=\(|\\[Bb]igl|\\frac|\\sqrt|\\sin|\\cos|\\tan|\\dot|\\ddot)")


def width(tex: str, style: int = 0) -> float:
    r"""Return the width of a formula in points; of a fraction that of its wider half, of an index less.

    >>> width("a + b") > width(r"\frac{a + b}{c}") - 5, width("a_{b}") < width("a b"), width("M") > width("l")
    (True, True, True)
    """
    return _measured(_TOKEN.findall(tex), 0, style)[0]


def _measured(tokens: list[str], at: int, style: int, *, one: bool = False) -> tuple[float, int]:
    """Return the width of tokens from a position to the end of their group, or of one token, and the end position."""
    total, widest = 0.0, 0.0
    inner = min(style + 1, 3)
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token in ("}", "\\end"):
            break
        if token == "{":
            more, at = _measured(tokens, at, style)
            total += more
        elif token == "\\frac":
            above, at = _measured(tokens, at, inner, one=True)
            below, at = _measured(tokens, at, inner, one=True)
            total += max(above, below) + 2.5
        elif token == "\\begin":  # cases: its widest row
            at = tokens.index("}", at) + 1
            more, at = _measured(tokens, at, 1)
            at = tokens.index("}", at) + 1
            total += more + 25.0
        elif token in ("_", "^"):
            more, at = _measured(tokens, at, max(inner, 2), one=True)
            total += more
        elif token == "\\\\":
            total, widest = 0.0, max(widest, total)
        elif token.strip() and token not in _ZERO_WIDTH:
            total += _SCALES[style] * _letter(token)
        if one and token not in _ZERO_WIDTH and token.strip():
            break
    return max(total, widest), at


def _letter(token: str) -> float:
    if token in _WIDE:
        return _WIDE[token]
    if token[0] == "\\":
        return 8.3 if token[1].isupper() else 6.6
    return 9.2 if token.isupper() else 5.6 if token.isdigit() else 5.9


def broken(rows: Iterable[tuple[str, str]], limit: float = LINE) -> list[str]:
    r"""Return the lines of left = right, row by row, for an aligned environment; long left sides start at the margin.

    >>> broken([("x", "a + b")])
    ['x &= a + b']
    >>> broken([("x", "a + b - c")], limit=40)
    ['x &= a', '&\\quad + b', '&\\quad - c']
    >>> broken([("a + b + c", "d")], limit=40)
    ['&a + b', '&\\quad + c', '&\\quad = d']
    """
    rows = list(rows)
    start = max((width(left) for left, _ in rows), default=0.0)
    if start > min(_MAX_LEFT, limit / 2):
        return [line for left, right in rows for line in _flowing("&", f"{left} = {right}", limit)]
    return [line for left, right in rows for line in _flowing(f"{left} &= ", right, limit - start - _WIDE["="])]


def _flowing(head: str, tex: str, available: float) -> list[str]:
    """Return a formula after `head`, broken into lines that fit."""
    lines, line, used = [], head, 0.0
    parts: list[str] = []  # parts wider than a line also break between factors, and conditions go below their values
    for part in pieces(tex):
        factors = [part] if width(part) <= available - _INDENT else _factors(_in_one_column(part))
        parts += [factors[0], *(rf" \cdot {factor}" for factor in factors[1:])]
    for piece in parts:
        size = width(piece)
        if used and used + size > available:
            lines.append(line.rstrip())
            line, used = r"&\quad ", _INDENT
            piece = piece.lstrip()
        line += piece
        used += size
    return [*lines, line.rstrip()]


def _in_one_column(part: str) -> str:
    r"""Return cases with each condition below its value.

    >>> _in_one_column(r"\begin{cases} a & \text{for}\: b > 0 \\0 & \text{otherwise} \end{cases}")
    '\\begin{cases} a \\\\ \\quad \\text{for}\\: b > 0 \\\\0 \\quad \\text{otherwise} \\end{cases}'
    """
    return part.replace(r"& \text{for}", r"\\ \quad \text{for}").replace(
        r"& \text{otherwise}", r"\quad \text{otherwise}"
    )


def _factors(part: str) -> list[str]:
    """Return the factors of a product outside of braces."""
    out, at = [], 0
    for match in _FACTOR.finditer(part):
        before = part[: match.start()]
        depth = sum((token in _OPENING) - (token in _CLOSING) for token in _TOKEN.findall(before))
        follows_sign = before.rstrip().endswith(("+", "-", "=", r"\sin", r"\cos", r"\tan", ","))
        if depth == 0 and not follows_sign:
            out.append(part[at : match.start()])
            at = match.end()
    return [*out, part[at:]]


def sized(tex: str) -> str:
    r"""Enlarge brackets around fractions individually, which allows line breaks between them.

    >>> sized(r"a (\frac{b}{c} + d) (e)")
    'a \\Bigl(\\frac{b}{c} + d\\Bigr) (e)'
    """
    found = _TOKEN.findall(tex)
    open_at: list[tuple[int, bool]] = []
    depth = 0
    for i, token in enumerate(found):
        depth += (token in _OPENING) - (token in _CLOSING)
        plain = i == 0 or found[i - 1] not in ("\\left", "\\right")
        if token == "\\frac":
            open_at = [(at, True) for at, _ in open_at]
        elif token == "(" and plain:
            open_at.append((i, False))
        elif token == ")" and plain and open_at:
            at, large = open_at.pop()
            if large:
                size = "Big" if depth == 0 else "big"
                found[at], found[i] = rf"\{size}l(", rf"\{size}r)"
    return "".join(found)


def pieces(tex: str) -> list[str]:
    r"""Split a formula into parts; each but the first starts with a sign.

    >>> pieces(r"a (b - c) + \frac{d + e}{f}")
    ['a (b', ' - c)', ' + \\frac{d + e}{f}']
    """
    out, line, depth = [], "", 0
    for token in _TOKEN.findall(tex):
        depth += (token in _OPENING) - (token in _CLOSING)
        signed = token in ("+", "-", "=") and depth == 0 and line.endswith(" ") and line.strip()
        if signed and not line.rstrip().endswith(("(", "=", ",")):
            out.append(line.rstrip(" "))
            line = " "
        line += token
    return [*out, line]
