"""The page of a formulation in any output format: its final equations, and the quantities in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import symengine as se

from dalembert.display.math import _intermediates
from dalembert.display.math.quantity_blocks import Block, DisplayedLaw
from dalembert.display.math.sheet import Sheet, counts_of, notes_of, taken_names
from dalembert.display.math.symbol_names import PLAIN, Letters
from dalembert.formalisms import catalog
from dalembert.formalisms.shared.linear_form import LinearForm
from dalembert.symbolic.symbols import Formula

_MAX_ROW = 120  # operations of a printed row of a law
_MAX_LAW = 300  # operations of a printed law


@dataclass(frozen=True)
class EquationSection:
    """Equations, left = right, under a heading, with the equation number of the paper."""

    heading: str
    equation: str
    rows: tuple[tuple[Formula, Formula], ...]
    is_law: bool = False


@dataclass(frozen=True)
class Page:
    """Printed equations of a model by one formulation."""

    model: str
    title: str
    counts: str
    notes: tuple[str, ...]
    sections: tuple[EquationSection, ...]
    letters: Letters = PLAIN

    @property
    def operations(self) -> int:
        """Number of operations in all lines."""
        return sum(int(se.count_ops(a) + se.count_ops(b)) for section in self.sections for a, b in section.rows)


def page_of(
    form: LinearForm,
    laws: Sequence[DisplayedLaw],
    blocks: Mapping[str, Block],
    meanings: Mapping[str, Formula],
    letters: Letters = PLAIN,
) -> Page:
    """Return the page: speeds and constants, every law, the quantities of a law that is too long to print, and all names.

    `meanings` are the values of names of entries in laws and blocks.
    """
    found = [*_definitions(form), *_law_sections(laws, blocks)]
    return _page(form, _through_names([*found, *_meaning_section(found, meanings)], form), letters)


def _law_sections(laws: Sequence[DisplayedLaw], blocks: Mapping[str, Block]) -> Iterator[EquationSection]:
    """Yield every law, and after one that is too long to print the quantities in it."""
    printed: set[str] = set()
    for law in laws:
        if _is_short(law):
            yield EquationSection(law.words, law.equation, tuple(zip(law.left, law.right, strict=True)), is_law=True)
            continue
        yield EquationSection(law.words, law.equation, (), is_law=True)
        for key in law.uses:
            if key not in printed and not blocks[key].is_long and not blocks[key].is_text:
                printed.add(key)
                yield _section(blocks[key])


def long_equations_page(
    form: LinearForm, laws: Sequence[DisplayedLaw], blocks: Mapping[str, Block], letters: Letters, reason: str
) -> Page:
    """Return the page of equations that are too long to print: their laws and short quantities."""
    return _page(form, _law_sections(laws, blocks), letters, reason)


def _page(form: LinearForm, sections: Iterable[EquationSection], letters: Letters, *more: str) -> Page:
    notes, title = (*notes_of(form), *more), catalog.find(form.formalism).ABOUT.title
    return Page(form.system.model.name, title, counts_of(form), notes, tuple(sections), letters)


def sheet_page(sheet: Sheet, letters: Letters = PLAIN) -> Page:
    """Return the page of equations whose quantities are too long: entries in terms of intermediates."""
    found = []
    dynamics = f"M {sheet.unknown} = f" + (" + C" if len(sheet.C) else "")
    dynamics += f" + {sheet.multipliers}ᵀλ" if sheet.multipliers else ""
    laws = {"dynamics": dynamics, "constraints": f"A {sheet.unknown} = β"}
    for section in sheet.sections():
        words = laws.get(section.law, section.heading)
        rows = tuple((se.Symbol(name), se.sympify(value)) for name, value in section.lines)
        found.append(EquationSection(words, "", rows, is_law=bool(section.law)))
    form = sheet.form
    return Page(form.system.model.name, sheet.title, counts_of(form), notes_of(form), tuple(found), letters)


def _is_short(law: DisplayedLaw) -> bool:
    if law.unwritten:
        return False
    rows = [int(se.count_ops(a) + se.count_ops(b)) for a, b in zip(law.left, law.right, strict=True)]
    return max(rows, default=0) <= _MAX_ROW and sum(rows) <= _MAX_LAW


def _definitions(form: LinearForm) -> Iterator[EquationSection]:
    """Yield the definitions of the velocity variables and of the constants of the motion."""
    about, velocity = catalog.find(form.formalism).ABOUT, form.velocity
    if not {str(v) for v in velocity.v} <= {str(v) for v in form.system.qd} and len(velocity.v):
        yield (
            _free_momenta(form)
            if form.constrains_momenta
            else EquationSection(about.velocities.heading, "", _rows(velocity.v, velocity.v_from_qd))
        )
    if len(form.constants.symbols):
        yield EquationSection("Constants of the motion", "", _rows(form.constants.symbols, form.constants.values))


def _free_momenta(form: LinearForm) -> EquationSection:
    """p(q, w, t) of the free system, whose velocities w = ∂H/∂p are not q̇ under constraints on momenta."""
    velocity, system = form.velocity, form.system
    known = {str(x) for entry in velocity.v_from_qd for x in se.sympify(entry).free_symbols}
    names = [f"w_{name}" for name in system.model.coordinate_names]
    while known & {*names}:
        names = [f"w{name}" for name in names]
    free = {se.sympify(qd): se.Symbol(name) for qd, name in zip(system.qd, names, strict=True)}
    rows = [(p, se.sympify(value).subs(free)) for p, value in zip(velocity.v, velocity.v_from_qd, strict=True)]
    words = "Momenta that define H(q, p): ∂L/∂q̇ of the free system at its velocities w = ∂H/∂p, which are not q̇"
    return EquationSection(words, "", _rows(*zip(*rows, strict=True)))


def _rows(left: Iterable[object], right: Iterable[object]) -> tuple[tuple[Formula, Formula], ...]:
    return tuple((se.sympify(a), se.sympify(b)) for a, b in zip(left, right, strict=True))


def _section(block: Block) -> EquationSection:
    """Return the nonzero entries of a block, equal ones of a symmetric matrix once."""
    entries = block.entries
    square = entries.ndim == 2 and entries.shape[0] == entries.shape[1]
    symmetric = square and all(entries[i, j] == entries[j, i] for i, j in np.ndindex(*entries.shape))
    rows = [
        (se.Symbol(block.entry(index)), se.sympify(entries[index]))
        for index in np.ndindex(*entries.shape)
        if entries[index] != 0 and not (symmetric and index[0] > index[1])
    ]
    words = f"{block.letter}: {block.meaning}" + (", symmetric" if symmetric and len(entries) > 1 else "")
    return EquationSection(words, block.equation, tuple(rows))


def _meaning_section(sections: Sequence[EquationSection], meanings: Mapping[str, Formula]) -> Iterator[EquationSection]:
    """Return the values of the names of entries in these sections, and of the names in these values."""
    known = {str(a) for section in sections if not section.is_law for a, _ in section.rows}
    found: dict[str, Formula] = {}
    queue = [side for section in sections for row in section.rows for side in row]
    while queue:
        for symbol in sorted(queue.pop().free_symbols, key=str):
            name = str(symbol)
            if name in meanings and name not in found and name not in known:
                found[name] = se.sympify(meanings[name])
                queue.append(found[name])
    if found:
        order = [name for name in meanings if name in found]
        yield EquationSection("where", "", tuple((se.Symbol(name), found[name]) for name in order))


def _through_names(sections: list[EquationSection], form: LinearForm) -> list[EquationSection]:
    """Return the sections with long expressions in terms of named intermediates, which are last."""
    sides = [side for section in sections for row in section.rows for side in row]
    parts, written = _intermediates.name_parts(sides, taken_names(form))
    queue = iter(written)
    out = [replace(s, rows=tuple((next(queue), next(queue)) for _ in s.rows)) for s in sections]
    if parts:
        out.append(EquationSection("with", "", tuple((se.Symbol(name), value) for name, value in parts)))
    return _without_second_names(out, {se.Symbol(name): value for name, value in parts})


def _without_second_names(sections: list[EquationSection], parts: Mapping[Formula, Formula]) -> list[EquationSection]:
    """Remove intermediates that equal a named quantity, as z1 in W[1,1] = z1."""
    named: dict[Formula, Formula] = {}
    for section in sections:
        for a, b in () if section.is_law else section.rows:
            if a.is_Symbol and b in parts and b not in named:
                named[b] = a

    def row(a: Formula, b: Formula) -> tuple[Formula, Formula]:
        meaning = parts[b] if named.get(b) == a else b
        return a.xreplace(named), meaning.xreplace(named)

    out = [replace(s, rows=tuple(row(a, b) for a, b in s.rows if a not in named)) for s in sections]
    return [section for section in out if section.rows or section.is_law]
