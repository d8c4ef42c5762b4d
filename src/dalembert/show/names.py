"""How names are written: theta1 as \\theta_{1} in LaTeX and θ₁ in plain text, velocities with dots.

The names are those of formulas, `theta1`, `dot(theta1)`, `ddot(theta1)`, the constants of the motion `G(x)`, momenta
`p(x)`, components of twists `vx(body)`, and the entries of matrices `M[1,2]`.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from dalembert.expressions.internal import Kind, kind_of, parted

_DOTS = {Kind.RATE: "\u0307", Kind.ACCELERATION: "\u0308"}
# the accents of a paper's letters, as M_tilde has one: in text behind the letter, in LaTeX around it
_ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "dot": "\u0307", "ddot": "\u0308"}


def split(name: str) -> tuple[Kind | None, str]:
    """(what is done to a name, the name itself).

    >>> split("dot(x)"), split("x"), split("dot(dot(x))")
    ((<Kind.RATE: 'dot'>, 'x'), (None, 'x'), (<Kind.ACCELERATION: 'ddot'>, 'x'))
    """
    kind, rest = parted(name)
    if kind is Kind.RATE and kind_of(rest) is Kind.RATE:
        return Kind.ACCELERATION, parted(rest)[1]
    return kind, rest


def for_latex(name: str) -> str:
    r"""The name in LaTeX.

    >>> for_latex("theta1"), for_latex("dot(theta1)"), for_latex("G(x)"), for_latex("M[1,2]")
    ('\\theta_{1}', '\\dot{\\theta}_{1}', 'G_{x}', 'M_{12}')
    """
    entry = re.fullmatch(r"(\w+)\[([\d,]+)\]", name)
    if entry:
        letter, below = _accented(entry[1], for_text=False)
        return f"{letter}_{{{', '.join([*below, _indices(entry[2])])}}}"
    kind, rest = split(name)
    if kind and kind not in _DOTS:
        letter, *axis = kind
        return f"{letter}_{{{', '.join([*axis, for_latex(rest)])}}}"
    base, below = _base_and_index(rest)
    letter = _letter_for_latex(base)
    letter = rf"\{kind}{{{letter}}}" if kind else letter
    return f"{letter}_{{{', '.join(map(_letter_for_latex, below))}}}" if below else letter


def for_text(name: str) -> str:
    """The name in plain text.

    >>> for_text("theta1"), for_text("dot(x)"), for_text("G(x)"), for_text("beta[1]"), for_text("dot(speed)")
    ('θ₁', 'ẋ', 'G_x', 'β₁', 'dot(speed)')
    """
    import unicodedata

    from sympy.printing.pretty.pretty_symbology import greek_unicode

    entry = re.fullmatch(r"(\w+)\[([\d,]+)\]", name)
    if entry:
        letter, below = _accented(entry[1], for_text=True)
        return "_".join([letter, *below]) + _lowered(_indices(entry[2]))
    kind, rest = split(name)
    if kind and kind not in _DOTS:
        return f"{kind}_{for_text(rest)}"
    base, below = _base_and_index(rest)
    letter: str = greek_unicode.get(base) or base
    index = "_".join(below)
    tail = _lowered(index) if index.isdigit() else f"_{index}" if index else ""
    if not kind:
        return letter + tail
    if len(letter) > 1:
        return f"{kind}({letter}{tail})"
    return unicodedata.normalize("NFC", letter + _DOTS[kind]) + tail


def of_block(key: str, *, latex: bool = False) -> str:
    r"""The letter of a block or of a quantity in a step: M_tilde, N_l, w_tilde_2, theta_ddot_1.

    >>> of_block("N_l"), of_block("psi_hat_2"), of_block("w_tilde_2", latex=True), of_block("N_l", latex=True)
    ('N_l', 'ψ̂₂', '\\tilde{w}_{2}', 'N_{l}')
    """
    letter, below = _accented(key, for_text=not latex)
    if latex:
        return f"{letter}_{{{', '.join(map(_letter_for_latex, below))}}}" if below else letter
    return letter + "".join(_lowered(part) if part.isdigit() else f"_{part}" for part in below)


def _accented(word: str, *, for_text: bool) -> tuple[str, list[str]]:
    """The letter of a word with its accents, and its indices."""
    import unicodedata

    from sympy.printing.pretty.pretty_symbology import greek_unicode

    base, *below = word.split("_")
    accents = [part for part in below if part in _ACCENTS]
    below = [part for part in below if part not in _ACCENTS]
    if for_text:
        letter: str = greek_unicode.get(base) or base
        return unicodedata.normalize("NFC", letter + "".join(_ACCENTS[accent] for accent in accents)), below
    letter = _letter_for_latex(base)
    for accent in accents:
        letter = rf"\{accent}{{{letter}}}"
    return letter, below


def for_formula(name: str, taken: Collection[str]) -> str:
    """The name as a formula has it: constants of the motion and momenta as G_x and p_x, with underscores if that is taken.

    >>> for_formula("G(x)", ["x"]), for_formula("G(x)", ["x", "G_x"]), for_formula("dot(x)", ["x"])
    ('G_x', 'G_x_', 'dot(x)')
    """
    kind, rest = split(name)
    if not kind or kind in _DOTS:
        return name
    out = f"{kind}_{rest}"
    while out in taken:
        out += "_"
    return out


def for_plot(name: str) -> str:
    r"""The name as matplotlib draws it: letters with indices, but words, as URDF has them, as they are, one dot above the whole.

    >>> for_plot("dot(theta1)"), for_plot("panda_joint1"), for_plot("dot(panda_joint1)"), for_plot("p(x)")
    ('$\\dot{\\theta}_{1}$', 'panda_joint1', '$\\overset{\\bullet}{\\text{panda_joint1}}$', '$p_{x}$')
    """
    kind, rest = split(name)
    base, below = _base_and_index(rest)
    words = [part for part in map(_letter_for_latex, (base, *below)) if part.startswith(r"\mathrm")]
    if len(words) <= 1 and not _letter_for_latex(base).startswith(r"\mathrm"):
        return f"${for_latex(name)}$"
    if not kind:
        return for_words(rest)
    word = _upright(rest)
    if kind in _DOTS:
        dots = r"\bullet" if kind is Kind.RATE else r"\bullet\bullet"
        return rf"$\overset{{{dots}}}{{{word}}}$"
    letter, *axis = kind
    return f"${letter}_{{{', '.join([*axis, word])}}}$"


def for_words(text: str) -> str:
    r"""Any text as matplotlib draws it as it is; it would hide one that begins with an underscore.

    >>> for_words("rope at $5"), for_words("_x")
    ('rope at \\$5', '$\\text{_x}$')
    """
    return f"${_upright(text)}$" if text.startswith("_") else text.replace("$", r"\$")


def _upright(text: str) -> str:
    return r"\text{" + re.sub(r"[^\w ,.:/+-]", "·", text) + "}"


def _base_and_index(name: str) -> tuple[str, list[str]]:
    """theta1 -> theta, [1]; x_max -> x, [max]; Ixx -> I, [xx]; wx -> w, [x]."""
    head, *below = name.split("_")
    match = re.fullmatch(r"([A-Za-z]+?)(\d+)|([A-Za-z])([xyz]{1,2})", head)
    if match:
        head, below = match[1] or match[3], [match[2] or match[4], *below]
    return (head, [part for part in below if part]) if head else (name, [])


def _letter_for_latex(part: str) -> str:
    """A letter, a Greek letter by its name, a number, or a word in upright type."""
    from sympy.core.alphabets import greeks
    from sympy.printing.latex import tex_greek_dictionary

    if part in tex_greek_dictionary:
        return tex_greek_dictionary[part]
    if part.lower() in greeks:
        return f"\\{part}"
    if len(part) == 1 or part.isdigit() or set(part) <= set("xyz"):
        return part
    upright = part.replace("_", r"\_")
    return rf"\mathrm{{{upright}}}"


def _indices(text: str) -> str:
    """1,2 -> 12, but 1,12 stays."""
    return text.replace(",", "") if re.fullmatch(r"\d(,\d)*", text) else text


def _lowered(digits: str) -> str:
    return digits.translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
