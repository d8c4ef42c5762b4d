r"""Equations as HTML: one self-contained page with MathML and its font, light or dark by the user's settings.

The library latex2mathml converts the LaTeX formulas line by line to MathML. Text in formulas bypasses it and is escaped
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from dalembert.display.math import latex
from dalembert.display.viewer import math_style

if TYPE_CHECKING:
    from dalembert.display.math.pages import Page
    from dalembert.display.math.quantity_blocks import DerivationStep

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .2rem; }
p { margin: .9rem 0 .2rem; }
.note, .number { opacity: .7; }
.lines { overflow: auto hidden; margin: 0 0 0 1rem; padding: .3rem 0; }
.lines table { border-spacing: 0; }
.lines td { padding: .15rem 0; white-space: nowrap; vertical-align: baseline; }
.lines td:first-child { text-align: right; padding-right: .3em; }
math { font-size: 1.05em; } .bold { font-weight: bold; }
section + section { border-top: 1px solid color-mix(in srgb, currentColor 25%, transparent); margin-top: 2.5rem; }
""".strip()
_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; font-src data:">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
{body}
</body>
</html>
"""
_WORDS = re.compile(r"\\(text|textbf|mathrm)\{((?:\\[a-z]+\{\}|\\.|[^{}\\])*)\}")
_FUNCTION = re.compile(r"(\\(?:sin|cos|tan)(?:\^\{\d+\})?) (?=\{)")
# dots of the usual size above a letter: a MathML accent would overlap the box of the letter
_DOTS = re.compile(r"<mo>(&#x(?:002D9|000A8);)</mo>(?=</mover>)")
_SIGNED = "&#x00028;</mo><mo>&#x02212;", '&#x00028;</mo><mo form="prefix">&#x02212;'  # a minus after a bracket
_SLASH = "<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">&#x0002F;</mo>'  # as close as in d/dt
_TEXT = {latex.escape(sign): sign for sign in "\\~^<>&%$#_{}"}
_SIGN = re.compile("|".join(re.escape(written) for written in sorted(_TEXT, key=len, reverse=True)))


def document(title: str, sections: Iterable[str]) -> str:
    """Return a self-contained page."""
    return _FRAME.format(title=escape(title), style=math_style() + _STYLE, body="\n".join(sections))


def fragment(parts: Iterable[str]) -> str:
    """Return parts for a notebook, with the math font; the notebook's style applies to everything else."""
    return f"<style>{math_style()}</style><div>{''.join(parts)}</div>"


def page(found: Page) -> str:
    """Return a page as a section of a document."""
    out = [f"<h2>{escape(found.model)} — {escape(found.title)}</h2>", f"<p>{escape(found.counts)}.</p>"]
    out += [f'<p class="note">{sentence(f"{note[:1].upper()}{note[1:]}.")}</p>' for note in found.notes]
    for section in found.sections:
        out.append(equations(latex.heading(found, section), section.equation, latex.lines(found, section)))
    return "<section>\n" + "\n".join(out) + "\n</section>"


def steps(title: str, found: Iterable[DerivationStep]) -> str:
    """Return the steps of a derivation as a section of a document."""
    out = [f"<h2>{escape(title)}</h2>"]
    for step in found:
        if len(step.blocks) > 1:
            out.append(f"<h3>{sentence(step.heading)}</h3>")
        out += [equations(part.heading_in_latex, part.equation, part.lines()) for part in step.blocks]
    return "<section>\n" + "\n".join(out) + "\n</section>"


def equations(heading: str, equation: str, lines: list[str]) -> str:
    """Return a LaTeX heading with its equation number, and aligned lines."""
    number = f' <span class="number">{sentence(equation)}</span>' if equation else ""
    title_html = f"<p>{_from_latex(heading)}{number}</p>"
    if not lines:
        return title_html
    rows = []
    for line in lines:
        left, _, right = line.partition("&")
        cells = "".join(f"<td>{math(side) if side.strip() else ''}</td>" for side in (left, right))
        rows.append(f"<tr>{cells}</tr>")
    return f'{title_html}\n<div class="lines"><table>{"".join(rows)}</table></div>'


@cache
def math(tex: str, display: str = "true") -> str:
    r"""Return a formula as MathML.

    >>> math(r"\mathrm{a\_b}", "false")
    '<math><mrow><mi>a_b</mi></mrow></math>'
    """
    from latex2mathml.converter import convert

    text_elements: list[str] = []

    def keep(match: re.Match[str]) -> str:
        words = escape(_plain(match[2]))
        bold = ' class="bold"' if match[1] == "textbf" else ""
        upright = ' mathvariant="normal"' if len(words) == 1 else ""  # of one letter; longer names are upright already
        text_elements.append(f"<mi{upright}>{words}</mi>" if match[1] == "mathrm" else f"<mtext{bold}>{words}</mtext>")
        return rf"\text{{@{len(text_elements) - 1}@}}"

    tex = _WORDS.sub(keep, tex)
    tex = re.sub(r"(?=\\(?:sin|cos|tan)\b)", r"\\, ", _FUNCTION.sub(r"\1\\, ", tex))
    found = _DOTS.sub(r'<mo mathsize="100%" stretchy="false">\1</mo>', convert(tex)).replace(*_SIGNED).replace(*_SLASH)
    found = re.sub(r"<mtext>@(\d+)@</mtext>", lambda match: text_elements[int(match[1])], found)
    return re.sub(r"^<math[^>]*>", '<math displaystyle="true">' if display == "true" else "<math>", found)


def sentence(words: str) -> str:
    """Return a sentence with its formulas as MathML.

    >>> sentence("x & q_1")
    'x &amp; <math><mrow><msub><mi>q</mi><mrow><mn>1</mn></mrow></msub></mrow></math>'
    """
    return _from_latex(latex.sentence(words))


def _from_latex(tex: str) -> str:
    """Convert LaTeX text with formulas between dollars."""
    parts = re.split(r"(?<!\\)\$", tex)
    return "".join(math(part, "false") if i % 2 else escape(_plain(part)) for i, part in enumerate(parts))


def _plain(tex: str) -> str:
    """Convert LaTeX text to plain text."""
    return _SIGN.sub(lambda match: _TEXT[match[0]], tex).replace("---", "—").replace("--", "–")
