"""A paper as text: printed, computed and deviation side by side, the notes below."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from dalembert.papers.claims import Claim
from dalembert.papers.printed_values import Figure, Note, Paper, Table, lettered

_WIDTH = 118


def of_paper(paper: Paper) -> str:
    """All tables, what the figures show, and the verdict."""
    parts = [f"{paper.title}\n{paper.source}", *map(of_table, paper.tables), *map(of_figure, paper.figures)]
    parts += [_wrapped(remark) for remark in paper.remarks]
    parts += [of_claims(paper.claims)] if paper.claims else []
    return "\n\n".join([*parts, verdict(paper)] if paper.tables else parts)


def of_claims(claims: Sequence[Claim]) -> str:
    """Every claim with its verdict and the numbers behind it."""
    lines = []
    for claim in claims:
        lines.append(_wrapped(f"{claim.verdict}: {claim.text} ({claim.place})"))
        lines.append(_wrapped(f"   measured: {claim.finding.measured}"))
    return "\n".join(["Claims of the paper, measured in this run", "", *lines])


def of_table(table: Table) -> str:
    """The table with a line for each entry."""
    return "\n".join([f"{table.label}. {table.caption}", "", *_rows(table), *_below(table.notes, table.commands)])


def of_figure(figure: Figure) -> str:
    """What a figure shows, in words."""
    parts = (("frame", len(figure.frames)), ("panel", len(figure.panels)))
    what = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in parts if count)
    said = [_wrapped(figure.deviation_text)] if figure.deviation_text else []
    return "\n".join([f"{figure.label}. {figure.caption} ({what})", *said, *_below(figure.notes, figure.commands)])


def verdict(paper: Paper) -> str:
    """How many entries agree."""
    cells = [cell for table in paper.tables for cell in table.cells if cell.compared]
    same, open_ones = sum(cell.same for cell in cells), paper.unexplained
    noted = len(cells) - same - len(open_ones)
    if same == len(cells):
        return f"All {len(cells)} printed entries agree."
    said = f"{same} of {len(cells)} printed entries agree"
    said += f", {noted} deviate for the reasons noted" if noted else ""
    if not open_ones:
        return f"{said}, none without a reason."
    where = "; ".join(f"{cell.row}, {cell.column}" for cell in open_ones)
    missing = sum(cell.missing for cell in open_ones)
    words = f", of which {missing} were not computed" if missing else ""
    return f"{said}, {len(open_ones)} without a reason{words}: {where}."


def _rows(table: Table) -> list[str]:
    head = ["quantity", "of", "printed", "computed", "deviation"]
    lines, last = [head], ""
    for cell in table.cells:
        deviation = f"{cell.deviation_text} {cell.shown_mark}".rstrip()
        lines.append(
            [cell.row if cell.row != last else "", cell.column, cell.printed_text, cell.computed_text, deviation]
        )
        last = cell.row
    if not any(table.columns):
        lines = [[line[0], *line[2:]] for line in lines]
    widths = [max(_width(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(c + " " * (w - _width(c)) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def _width(text: str) -> int:
    """How many places a text takes on the screen: dots above letters take none."""
    return sum(not unicodedata.combining(c) for c in text)


def _below(notes: Sequence[Note], commands: Sequence[str]) -> list[str]:
    """Notes and commands, with an empty line before them."""
    lines = [""] if notes or commands else []
    for letter, note in lettered(notes):
        lines.append(_wrapped(f"{letter + '  ' if letter else ''}{'Misprint: ' if note.misprint else ''}{note.text}"))
    return [*lines, *(f"$ {command}" for command in commands)]


def _wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
