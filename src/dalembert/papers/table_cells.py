"""Comparison of printed and computed entries to the printed number of digits."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cache
from typing import Any

from dalembert.errors import FormulaError
from dalembert.symbolic.parser import parse
from dalembert.symbolic.symbols import Formula
from dalembert.symbolic.sympy_bridge import to_sympy

IDENTITY = "= 0"  # printed entry of an expression that the paper proves to vanish
_ROUNDING = 1e-9  # of a numerically evaluated identity, relative to the size of its terms
Entry = float | int | str | None  # computed entry: a number, a formula as str, or None
_WORD = re.compile(r"[A-Za-z]\w*(?!\w*\()")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GREEK = {"phi": "φ", "theta": "θ", "psi": "ψ", "pi": "π", "mu": "μ", "alpha": "α", "beta": "β", "tau": "τ", "l": "ℓ"}
_DOTS = {"dot": "\u0307", "ddot": "\u0308"}


@dataclass(frozen=True)
class Cell:
    """One entry of a table. `printed` is a str, since its number of digits is its accuracy.

    >>> Cell("energy", "Maggi", "6.05e-4", 0.00060521).same
    True
    >>> Cell("momentum", "Lagrange", "3.83e-6", 3.93e-6).deviation_text
    '+2.6 %'
    """

    row: str
    column: str
    printed: str
    computed: Entry
    mark: str = ""  # letter of the note that explains the deviation

    @property
    def missing(self) -> bool:
        """True if there is a printed but no computed value: a failure, even with a note."""
        return bool(self.printed) and self.computed is None

    @property
    def compared(self) -> bool:
        """True if there is a printed value, computed or not."""
        return bool(self.printed)

    @property
    def same(self) -> bool:
        """True if the computed value, rounded to the printed digits, equals the printed one."""
        if isinstance(self.computed, str):
            return self.computed == self.printed or same_formula(self.printed, self.computed)
        value = printed_value(self.printed)
        if value is None or self.computed is None:
            return False
        return abs(self.computed - value) <= _half_a_unit(self.printed, value)

    @property
    def explained(self) -> bool:
        """True if they agree, nothing is printed, or a note explains the difference."""
        return not self.compared or self.same or (bool(self.mark) and not self.missing)

    @property
    def note_letter(self) -> str:
        """The letter of its note if it deviates."""
        return "" if self.same else self.mark

    @property
    def deviation(self) -> float | None:
        """Computed minus printed, relative to the printed value unless that is zero; None unless both are numbers."""
        value = printed_value(self.printed)
        if value is None or self.computed is None or isinstance(self.computed, str):
            return None
        return (self.computed - value) / (abs(value) or 1.0)

    @property
    def deviation_text(self) -> str:
        """The deviation for display: an equals sign if all printed digits agree."""
        if not self.compared:
            return "-"
        if self.missing:
            return "not computed"
        if self.same:
            return "="
        value = printed_value(self.printed)
        if self.deviation is None or value is None or not isinstance(self.computed, int | float):
            return "differs"
        if value == 0:
            return f"{self.deviation:+.1e}"
        ratio = self.computed / value
        return f"{100 * self.deviation:+.2g} %" if 0.1 < ratio < 10 else f"×{ratio:.2g}"

    @property
    def printed_text(self) -> str:
        """The printed entry for display."""
        return (format_formula(self.printed) if isinstance(self.computed, str) else self.printed) or "-"

    @property
    def computed_text(self) -> str:
        """The computed value with the printed number of digits, and one more if they differ."""
        if self.computed is None:
            return "-"
        if isinstance(self.computed, str):
            return format_formula(self.computed)
        if isinstance(self.computed, int):
            return str(self.computed)
        return format_number(self.computed, _digits(self.printed) + (not self.same))

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as a JSON-compatible dict."""
        return {
            "row": self.row,
            "column": self.column,
            "printed": self.printed,
            "computed": self.computed,
            "deviation": self.deviation,
            "same": self.same,
            "note": self.mark,
        }


def printed_value(text: str) -> float | None:
    """Return the number of a printed string; None for a formula.

    >>> printed_value("6.05e-4"), printed_value("π/8") == math.pi / 8, printed_value("m − s")
    (0.000605, True, None)
    """
    if text == IDENTITY:
        return 0.0
    text = text.replace("−", "-")
    share = re.fullmatch(r"(-?\d*)π(?:/(\d+))?", text)
    if share:
        times, parts = share.groups()
        return float({"": 1, "-": -1}.get(times, times)) * math.pi / int(parts or 1)
    try:
        return float(text)
    except ValueError:
        return None


def format_number(value: float, digits: int) -> str:
    """Return a number with this many significant digits, in the format of the papers.

    >>> format_number(0.00060521, 3), format_number(0.5, 1), format_number(2000.0, 4), format_number(3.0625, 4)
    ('6.05e-4', '0.5', '2000', '3.063')
    """
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -3 <= size <= 5:
        last = Decimal(1).scaleb(-max(0, digits - 1 - size))
        return str(Decimal(repr(float(value))).quantize(last, ROUND_HALF_UP))
    mantissa, _, exponent = f"{value:.{max(0, digits - 1)}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _digits(printed: str) -> int:
    """Return the number of significant digits of a printed number; six if it cannot be determined."""
    if printed == IDENTITY:
        return 2
    try:
        return max(1, len(Decimal(printed.replace("−", "-")).as_tuple().digits))
    except InvalidOperation:
        return 6


def _half_a_unit(printed: str, value: float) -> float:
    """Return half a unit in the last printed digit; integers and multiples of π are exact."""
    if printed == IDENTITY:
        return _ROUNDING
    try:
        exponent = Decimal(printed.replace("−", "-")).as_tuple().exponent
    except InvalidOperation:
        return 1e-12 * abs(value)
    if not isinstance(exponent, int) or (exponent == 0 and "e" not in printed.lower()):
        return 1e-12 * abs(value)
    return 0.5 * 10.0**exponent * (1 + 1e-9)


@cache
def same_formula(a: str, b: str) -> bool:
    """Return True if two strings are the same function of real variables; False if one is not a formula.

    >>> same_formula("sin(phi)**2 - 1", "-cos(phi)**2"), same_formula("l", "l**2"), same_formula("x", "not one")
    (True, False, False)
    """
    import sympy

    try:
        difference = to_sympy(_parsed(a) - _parsed(b), coordinates=())
    except FormulaError:
        return False
    if sympy.expand(difference) == 0:  # fast, and sufficient for most
        return True
    names = [x for x in difference.free_symbols if isinstance(x, sympy.Symbol)]
    return sympy.simplify(difference.subs([(x, sympy.Symbol(x.name, positive=True)) for x in names])) == 0


def format_formula(text: str) -> str:
    """Return a formula in mathematical notation; any other string unchanged.

    >>> format_formula("-l**2*sin(phi)/sqrt(1 + l**2)"), format_formula("m*x_ddot - M1*q2_dot"), format_formula("a1*s12")
    ('−ℓ²·sin(φ)/√(1 + ℓ²)', 'm·ẍ − M₁·q̇₂', 'a₁·s₁₂')
    """
    try:
        _parsed(text)
    except FormulaError:
        return text
    text = re.sub(r"[A-Za-z]\w*", lambda found: _letter(found[0]), text)
    text = re.sub(r"\*\*(\d+)", lambda found: found[1].translate(_SUPERSCRIPTS), text)
    return text.replace("sqrt", "√").replace("*", "·").replace("-", "−")


def _letter(name: str) -> str:
    base, _, accent = name.partition("_")
    if accent and accent not in _DOTS:
        return name
    letter = base.rstrip("0123456789")
    dotted = unicodedata.normalize("NFC", _GREEK.get(letter, letter) + _DOTS.get(accent, ""))
    return dotted + base[len(letter) :].translate(_SUBSCRIPTS)


def _parsed(text: str) -> Formula:
    names = set(_WORD.findall(text)) - {"pi"}
    return parse(text, coordinates=(), parameters=names, where="printed", time=False)
