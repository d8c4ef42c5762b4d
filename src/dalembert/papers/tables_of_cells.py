"""A printed number beside the computed one, and whether they agree to the digits that are printed."""

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

IDENTITY = "= 0"  # printed where a paper proves that something vanishes
_ROUNDING = 1e-9  # of an identity that is evaluated in numbers, relative to the size of its terms
Entry = float | int | str | None  # what we compute: a number, a formula as text, or nothing
_WORD = re.compile(r"[A-Za-z]\w*(?!\w*\()")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GREEK = {"phi": "φ", "theta": "θ", "psi": "ψ", "pi": "π", "mu": "μ", "alpha": "α", "beta": "β", "tau": "τ", "l": "ℓ"}
_DOTS = {"dot": "\u0307", "ddot": "\u0308"}


@dataclass(frozen=True)
class Cell:
    """One entry of a table. `printed` is kept as text, since its digits say how well it was meant.

    >>> Cell("energy", "Maggi", "6.05e-4", 0.00060521).same
    True
    >>> Cell("momentum", "Lagrange", "3.83e-6", 3.93e-6).deviation_text
    '+2.6 %'
    """

    row: str
    column: str
    printed: str
    computed: Entry
    mark: str = ""  # the letter of the note that explains it

    @property
    def missing(self) -> bool:
        """True where something is printed and nothing was computed: a failure, whatever notes say."""
        return bool(self.printed) and self.computed is None

    @property
    def compared(self) -> bool:
        """True where something is printed to compare with, computed or not."""
        return bool(self.printed)

    @property
    def same(self) -> bool:
        """True when the computed value, rounded to the digits that are printed, is the printed one."""
        if isinstance(self.computed, str):
            return self.computed == self.printed or same_formula(self.printed, self.computed)
        value = printed_value(self.printed)
        if value is None or self.computed is None:
            return False
        return abs(self.computed - value) <= _half_a_unit(self.printed, value)

    @property
    def explained(self) -> bool:
        """True when they agree, nothing is printed, or a note says why they differ."""
        return not self.compared or self.same or (bool(self.mark) and not self.missing)

    @property
    def shown_mark(self) -> str:
        """The letter of its note, where it is needed."""
        return "" if self.same else self.mark

    @property
    def deviation(self) -> float | None:
        """Computed less printed, relative to the printed value unless that is zero; None where there are no two numbers."""
        value = printed_value(self.printed)
        if value is None or self.computed is None or isinstance(self.computed, str):
            return None
        return (self.computed - value) / (abs(value) or 1.0)

    @property
    def deviation_text(self) -> str:
        """The deviation as people read it: an equals sign where all printed digits agree."""
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
        """What is printed, as people write it."""
        return (shown(self.printed) if isinstance(self.computed, str) else self.printed) or "-"

    @property
    def computed_text(self) -> str:
        """The computed value with as many digits as are printed, and one more where they differ."""
        if self.computed is None:
            return "-"
        if isinstance(self.computed, str):
            return shown(self.computed)
        if isinstance(self.computed, int):
            return str(self.computed)
        return written(self.computed, _digits(self.printed) + (not self.same))

    def to_dict(self) -> dict[str, Any]:
        """The cell as plain data."""
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
    """The number a printed text means; None for a formula.

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


def written(value: float, digits: int) -> str:
    """A number with so many significant digits, in the way of the papers.

    >>> written(0.00060521, 3), written(0.5, 1), written(2000.0, 4), written(3.0625, 4)
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
    """How many significant digits a printed number has; six where they are not to be counted."""
    if printed == IDENTITY:
        return 2
    try:
        return max(1, len(Decimal(printed.replace("−", "-")).as_tuple().digits))
    except InvalidOperation:
        return 6


def _half_a_unit(printed: str, value: float) -> float:
    """Half a unit in the last printed digit; whole numbers and multiples of π are meant exactly."""
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
    """Whether two texts are the same function of real variables; False where one is no formula.

    >>> same_formula("sin(phi)**2 - 1", "-cos(phi)**2"), same_formula("l", "l**2"), same_formula("x", "not one")
    (True, False, False)
    """
    import sympy

    try:
        difference = to_sympy(_parsed(a) - _parsed(b), coordinates=())
    except FormulaError:
        return False
    if sympy.expand(difference) == 0:  # quick, and true of most
        return True
    names = [x for x in difference.free_symbols if isinstance(x, sympy.Symbol)]
    return sympy.simplify(difference.subs([(x, sympy.Symbol(x.name, positive=True)) for x in names])) == 0


def shown(text: str) -> str:
    """A formula as people write it; any other text as it is.

    >>> shown("-l**2*sin(phi)/sqrt(1 + l**2)"), shown("m*x_ddot - M1*q2_dot"), shown("a1*s12")
    ('−ℓ²·sin(φ)/√(1 + ℓ²)', 'm·ẍ − M₁·q̇₂', 'a₁·s₁₂')
    """
    try:
        _parsed(text)
    except FormulaError:
        return text
    text = re.sub(r"[A-Za-z]\w*", lambda found: _letter(found[0]), text)
    text = re.sub(r"\*\*(\d+)", lambda found: found[1].translate(_RAISED), text)
    return text.replace("sqrt", "√").replace("*", "·").replace("-", "−")


def _letter(name: str) -> str:
    base, _, accent = name.partition("_")
    if accent and accent not in _DOTS:
        return name
    letter = base.rstrip("0123456789")
    dotted = unicodedata.normalize("NFC", _GREEK.get(letter, letter) + _DOTS.get(accent, ""))
    return dotted + base[len(letter) :].translate(_LOWERED)


def _parsed(text: str) -> Formula:
    names = set(_WORD.findall(text)) - {"pi"}
    return parse(text, coordinates=(), parameters=names, where="printed", time=False)
