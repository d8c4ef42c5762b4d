"""Printed names: theta1 as \\theta_{1} in LaTeX and θ₁ in plain text, velocities with dots.

The names are those of formulas, `theta1`, `dot(theta1)`, `ddot(theta1)`, the constants of the motion `G(x)`, momenta
`p(x)`, components of twists `vx(body)`, and the entries of matrices `M[1,2]`. The names of a user may look like ours,
or like each other: `Letters` defines distinct printed forms.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from dalembert.symbolic.symbols import SymbolKind, kind_of, split_symbol

_DOTS = {SymbolKind.RATE: "\u0307", SymbolKind.ACCELERATION: "\u0308"}
# accents of letters, as in M_tilde: in text after the letter, in LaTeX around it
_ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "dot": "\u0307", "ddot": "\u0308"}
_SIGNS = {"star": "*", "prime": "′", "inv": "⁻¹", "qd": "q\u0307"}  # after the letter
_SIGNS_IN_LATEX = {"star": "^{*}", "prime": "'", "inv": "^{-1}", "qd": r"\dot{q}"}
_SPELT = {"qd": "q_dot", "qdd": "q_ddot", "ud": "u_dot", "gaussian": "G"}  # keys with other letters
_ENTRY = re.compile(r"(\w+)\[([\d,]+)\]")
_MAX_INDEX = 2  # letters of an index of a word
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz")
# of an equation as text: a power in parentheses, a plain word, a letter with its accents and indices, spaces, a sign
_TOKENS = re.compile(
    r"⁻¹|\^\([^()]*\)|[a-z]{3,}(?![\w\u0300-\u036f])|[^\W\d_][\u0300-\u036f]*(?:_[A-Za-z0-9]+|[₀-₉]+)*|\s+|."
)


@dataclass(frozen=True)
class Letters:
    """Printed forms of the names of one model: some as typed, and some of our letters in bold.

    >>> written = letters_of(["px", "x", "s"], ["p(x)", "s1", "s"])
    >>> for_text("px", written), for_text("p(x)", written), for_text("s", written), for_text("s1", written)
    ('px', 'p_x', 's', '𝐬₁')
    """

    user_names: frozenset[str] = frozenset()  # the names of the user
    typed: frozenset[str] = frozenset()  # those that would look like others
    bold: frozenset[str] = frozenset()  # our letters that are also names of the user

    def is_bold(self, name: str, base: str) -> bool:
        """True for one of our letters that is also a name of the user."""
        return base in self.bold and name not in self.user_names

    @property
    def bold_signs(self) -> frozenset[str]:
        """The bold letters as in text: λ for lambda."""
        from sympy.printing.pretty.pretty_symbology import greek_unicode

        return frozenset(greek_unicode.get(base) or base for base in self.bold)


PLAIN = Letters()


def letters_of(names: Iterable[str], ours: Iterable[str]) -> Letters:
    """Return distinct printed forms of the names of the user and ours.

    `ours` are symbols such as p(x), M[1,2] and s1, and letters such as M and s. A name of the user that looks like another is
    printed as typed; one of our letters that is also a name of the user becomes bold.
    """
    names = frozenset(names)
    own = [name for name in ours if split(name)[1] not in names or split(name)[0] not in _DOTS]
    looks = Counter(look for name in {*names, *own} for look in {for_text(name), for_latex(name)})
    typed = frozenset(name for name in names if max(looks[for_text(name)], looks[for_latex(name)]) > 1)
    bold = {base_of(name) for name in own if base_of(name) in names or for_text(name) in typed}
    return Letters(names, typed, frozenset(bold))


def base_of(name: str) -> str:
    """Return the letter of one of our names.

    >>> base_of("dot(s1)"), base_of("M[1,2]"), base_of("p(x)"), base_of("S_c")
    ('s', 'M', 'p', 'S')
    """
    entry = _ENTRY.fullmatch(name)
    if entry:
        return entry[1].split("_")[0]
    kind, rest = split(name)
    if kind in _DOTS:
        return base_of(rest)
    return kind.value[0] if kind else _base_and_index(rest)[0]


def split(name: str) -> tuple[SymbolKind | None, str]:
    """Split a name into its kind and its base name.

    >>> split("dot(x)"), split("x"), split("dot(dot(x))")
    ((<SymbolKind.RATE: 'dot'>, 'x'), (None, 'x'), (<SymbolKind.ACCELERATION: 'ddot'>, 'x'))
    """
    kind, rest = split_symbol(name)
    if kind is SymbolKind.RATE and kind_of(rest) is SymbolKind.RATE:
        return SymbolKind.ACCELERATION, split_symbol(rest)[1]
    return kind, rest


def for_latex(name: str, letters: Letters = PLAIN) -> str:
    r"""Return the name in LaTeX.

    >>> for_latex("theta1"), for_latex("dot(theta1)"), for_latex("G(x)"), for_latex("M[1,2]")
    ('\\theta_{1}', '\\dot{\\theta}_{1}', 'G_{x}', 'M_{12}')
    >>> for_latex("dot(p(theta))"), for_latex("panda_joint1")
    ('\\dot{p}_{\\theta}', '\\mathrm{panda\\_joint1}')
    """
    entry = _ENTRY.fullmatch(name)
    if entry:
        letter, below = _accented(entry[1], for_text=False, bold=letters.is_bold(name, base_of(name)))
        return f"{letter}_{{{', '.join([*below, _indices(entry[2])])}}}"
    kind, rest = split(name)
    inner, of = split(rest)
    if kind in _DOTS and inner and inner not in _DOTS:  # the rate of a momentum
        return rf"\{kind}{{{_kind_letter(inner, letters)}}}_{{{', '.join([*inner[1:], for_latex(of, letters)])}}}"
    if kind and kind not in _DOTS:
        return f"{_kind_letter(kind, letters)}_{{{', '.join([*kind[1:], for_latex(rest, letters)])}}}"
    base, below = _base_and_index(rest)
    if rest in letters.typed:
        letter, below = _upright(rest), []
    else:
        letter = _letter_for_latex(base)
        letter = in_bold_latex(letter) if letters.is_bold(rest, base) else letter
    letter = rf"\{kind}{{{letter}}}" if kind else letter
    return f"{letter}_{{{', '.join(map(_letter_for_latex, below))}}}" if below else letter


def _kind_letter(kind: SymbolKind, letters: Letters) -> str:
    return in_bold_latex(kind[0]) if kind[0] in letters.bold else kind[0]


def in_bold_latex(letter: str) -> str:
    r"""Return a letter in bold.

    >>> in_bold_latex("M"), in_bold_latex("\\lambda")
    ('\\mathbf{M}', '\\boldsymbol{\\lambda}')
    """
    return rf"\boldsymbol{{{letter}}}" if letter.startswith("\\") else rf"\mathbf{{{letter}}}"


def in_bold_text(letter: str) -> str:
    """Return a letter in bold, if Unicode has it.

    >>> in_bold_text("s"), in_bold_text("λ"), in_bold_text("rod")
    ('𝐬', '𝛌', 'rod')
    """
    if len(letter) != 1 or not letter.isalpha():
        return letter
    words = unicodedata.name(letter).replace("GREEK ", "").replace("LATIN ", "").replace("LETTER ", "")
    try:
        return unicodedata.lookup(f"MATHEMATICAL BOLD {words}")
    except KeyError:
        return letter


def for_text(name: str, letters: Letters = PLAIN) -> str:
    """Return the name in plain text.

    >>> for_text("theta1"), for_text("dot(x)"), for_text("G(x)"), for_text("beta[1]"), for_text("dot(speed)")
    ('θ₁', 'ẋ', 'G_x', 'β₁', 'dot(speed)')
    """
    from sympy.printing.pretty.pretty_symbology import greek_unicode

    entry = _ENTRY.fullmatch(name)
    if entry:
        letter, below = _accented(entry[1], for_text=True, bold=letters.is_bold(name, base_of(name)))
        return "_".join([letter, *below]) + _lowered(_indices(entry[2]))
    kind, rest = split(name)
    inner, of = split(rest)
    if kind and kind in _DOTS and inner and inner not in _DOTS:  # the rate of a momentum
        first = in_bold_text(inner[0]) if inner[0] in letters.bold else inner[0]
        return f"{unicodedata.normalize('NFC', first + _DOTS[kind])}{inner[1:]}_{for_text(of, letters)}"
    if kind and kind not in _DOTS:
        first = in_bold_text(kind[0]) if kind[0] in letters.bold else kind[0]
        return f"{first}{kind[1:]}_{for_text(rest, letters)}"
    base, below = _base_and_index(rest)
    letter: str = greek_unicode.get(base) or base
    letter = in_bold_text(letter) if letters.is_bold(rest, base) else letter
    index = "_".join(below)
    tail = _lowered(index) if index.isdigit() else f"_{index}" if index else ""
    if rest in letters.typed:
        letter, tail = rest, ""
    if not kind:
        return letter + tail
    if len(letter) > 1:
        return f"{kind}({letter}{tail})"
    return unicodedata.normalize("NFC", letter + _DOTS[kind]) + tail


def tokens(words: str) -> list[str]:
    """Split an equation as text into letters, signs, spaces and plain words; accents are separate characters.

    >>> tokens("b_s with Aᵀλ₁")
    ['b_s', ' ', 'with', ' ', 'A', 'ᵀ', 'λ₁']
    """
    return _TOKENS.findall(unicodedata.normalize("NFD", words))


def letters_in(words: str) -> list[str]:
    """Return the letters of an equation as text, as names; d/dt is no letter.

    >>> letters_in("A_s ṡ = b_s − λ")
    ['A', 's', 'b', 'lambda']
    """
    from sympy.core.alphabets import greeks
    from sympy.printing.pretty.pretty_symbology import greek_unicode

    spelt = {greek_unicode[name]: name for name in greeks}
    found = [token[0] for token in tokens(words) if token[0].isalpha() and (len(token) < 2 or token[1] not in _PLAIN)]
    own = [letter for letter in found if letter in spelt or (letter.isascii() and letter not in "dt")]
    return [spelt.get(letter, letter) for letter in own]


def of_block(key: str, *, latex: bool = False, bold: bool = False) -> str:
    r"""Return the letter of a block or of a quantity in a step: M_tilde, N_l, w_tilde_2, theta_ddot_1.

    >>> of_block("N_l"), of_block("psi_hat_2"), of_block("w_tilde_2", latex=True), of_block("N_l", latex=True, bold=True)
    ('N_l', 'ψ̂₂', '\\tilde{w}_{2}', '\\mathbf{N}_{l}')
    """
    letter, below = _accented(key, for_text=not latex, bold=bold)
    if latex:
        return f"{letter}_{{{', '.join(map(_letter_for_latex, below))}}}" if below else letter
    return letter + "".join(_lowered(part) if part.isdigit() else f"_{part}" for part in below)


def _accented(word: str, *, for_text: bool, bold: bool = False) -> tuple[str, list[str]]:
    """Return the letter of a word with its accents, and its indices."""
    from sympy.printing.pretty.pretty_symbology import greek_unicode

    base, *below = word.split("_")
    if base in _SPELT:
        base, *below = [*_SPELT[base].split("_"), *below]
    accents = [part for part in below if part in _ACCENTS]
    signs = [part for part in below if part in _SIGNS]
    below = [part for part in below if part not in _ACCENTS and part not in _SIGNS]
    if for_text:
        letter: str = greek_unicode.get(base) or base
        letter = in_bold_text(letter) if bold else letter
        letter = unicodedata.normalize("NFC", letter + "".join(_ACCENTS[accent] for accent in accents))
        return letter + "".join(_SIGNS[sign] for sign in signs), below
    letter = _letter_for_latex(base)
    letter = in_bold_latex(letter) if bold and not letter.startswith(r"\mathrm") else letter
    for accent in accents:
        letter = rf"\{accent}{{{letter}}}"
    return letter + "".join(_SIGNS_IN_LATEX[sign] for sign in signs), below


def for_formula(name: str, taken: Collection[str]) -> str:
    """Return the name for formulas: constants of the motion and momenta as G_x and p_x, with underscores if in use.

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
    r"""Return the name for matplotlib: letters with indices; words, as in URDF, unchanged, with one dot above the word.

    >>> for_plot("dot(theta1)"), for_plot("panda_joint1"), for_plot("dot(panda_joint1)"), for_plot("p(x)")
    ('$\\dot{\\theta}_{1}$', 'panda_joint1', '$\\overset{\\bullet}{\\text{panda_joint1}}$', '$p_{x}$')
    """
    kind, rest = split(name)
    base, below = _base_and_index(rest)
    words = [part for part in map(_letter_for_latex, (base, *below)) if part.startswith(r"\mathrm")]
    if len(words) <= 1 and not _letter_for_latex(base).startswith(r"\mathrm"):
        return f"${for_latex(name)}$"
    if not kind:
        return escape_for_plot(rest)
    word = _drawn(rest)
    if kind in _DOTS:
        dots = r"\bullet" if kind is SymbolKind.RATE else r"\bullet\bullet"
        return rf"$\overset{{{dots}}}{{{word}}}$"
    letter, *axis = kind
    return f"${letter}_{{{', '.join([*axis, word])}}}$"


def escape_for_plot(text: str) -> str:
    r"""Escape text for matplotlib, which would hide labels with a leading underscore.

    >>> escape_for_plot("rope at $5"), escape_for_plot("_x")
    ('rope at \\$5', '$\\text{_x}$')
    """
    return f"${_drawn(text)}$" if text.startswith("_") else text.replace("$", r"\$")


def _drawn(text: str) -> str:
    return r"\text{" + re.sub(r"[^\w ,.:/+-]", "·", text) + "}"


def _base_and_index(name: str) -> tuple[str, list[str]]:
    """theta1 -> theta, [1]; x_max -> x, [max]; Ixx -> I, [xx]; wx -> w, [x]; panda_joint1 stays a word."""
    from sympy.core.alphabets import greeks

    head, *below = name.split("_")
    greek = head.lower().rstrip("0123456789") in greeks
    if len(head) > 1 and any(len(part) > _MAX_INDEX and not part.isdigit() for part in below) and not greek:
        return name, []
    match = re.fullmatch(r"([A-Za-z]+?)(\d+)|([A-Za-z])([xyz]{1,2})", head)
    if match:
        head, below = match[1] or match[3], [match[2] or match[4], *below]
    return (head, [part for part in below if part]) if head else (name, [])


def _letter_for_latex(part: str) -> str:
    """Return a letter, a Greek letter by its name, a number, or an upright word."""
    from sympy.core.alphabets import greeks
    from sympy.printing.latex import tex_greek_dictionary

    if part in tex_greek_dictionary:
        return tex_greek_dictionary[part]
    if part.lower() in greeks:
        return f"\\{part}"
    if len(part) == 1 or part.isdigit() or set(part) <= set("xyz"):
        return part
    return _upright(part)


def _upright(word: str) -> str:
    font = "text" if {"-", " "} & set(word) else "mathrm"  # keeps hyphens and spaces
    escaped = word.replace("_", r"\_")
    return rf"\{font}{{{escaped}}}"


def _indices(text: str) -> str:
    """1,2 -> 12, but 1,12 stays."""
    return text.replace(",", "") if re.fullmatch(r"\d(,\d)*", text) else text


def _lowered(digits: str) -> str:
    return digits.translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
