"""A reproduced paper as text and as a self-contained HTML page: printed and computed values, deviations and notes."""

from __future__ import annotations

import base64
import io
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from dalembert.io import files
from dalembert.papers.printed_values import Claim, ComparedTable, Figure, Note, Paper, notes_with_letters

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62em; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2.2em }
table { border-collapse: collapse; margin: .6em 0 } th, td { padding: .15em .9em .15em 0; text-align: left; vertical-align: top }
th { border-bottom: 1px solid #999; font-weight: 600 } td.n { font-variant-numeric: tabular-nums }
tr.first td { border-top: 1px solid #ddd } td.off { color: #9a5b00 } td.open { color: #b00020; font-weight: 600 }
p.note { margin: .2em 0; color: #444 } b.misprint { color: #9a5b00 } img { max-width: 100%; height: auto }
pre { background: #f4f4f4; padding: .5em .8em; white-space: pre-wrap } p.source { color: #555 }
"""
_WIDTH = 118


def write_paper(paper: Paper, folder: Path) -> list[Path]:
    """Write figure-N.png for every figure, then the page; each file is written atomically."""
    drawn = pictures(paper)
    written = []
    for number, picture in drawn.items():
        path = folder / f"figure-{_file_name(number)}.png"
        with files.atomic_write(path) as part:
            part.write_bytes(picture)
        written.append(path)
    page = folder / f"{paper.name}.html"
    files.write_text(page, html_document(paper, drawn))
    return [*written, page]


def pictures(paper: Paper) -> dict[str, bytes]:
    """Return the figures as PNG, by number."""
    drawn: dict[str, bytes] = {}
    for figure in paper.figures:
        stream = io.BytesIO()
        figure.draw().savefig(stream, format="png", dpi=150)
        drawn[figure.number] = stream.getvalue()
    return drawn


def html_document(paper: Paper, drawn: Mapping[str, bytes]) -> str:
    """Return the page as an HTML document."""
    head = f'<meta charset="utf-8"><title>{escape(paper.title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body(paper, drawn)}\n</body></html>\n'


def body(paper: Paper, drawn: Mapping[str, bytes]) -> str:
    """Return the body of the page."""
    parts = [f"<h1>{escape(paper.title)}</h1>", f'<p class="source">{escape(paper.source)}</p>']
    if paper.tables:
        parts.append(f"<p>{escape(verdict(paper))}</p>")
    parts += [f"<p>{escape(remark)}</p>" for remark in paper.remarks]
    parts += [_claims(paper)] if paper.claims else []
    parts += [_table(table) for table in paper.tables]
    parts += [_figure(figure, drawn[figure.number]) for figure in paper.figures]
    return "\n".join(parts)


def _claims(paper: Paper) -> str:
    lines = [_row(["claim", "in the paper", "measured in this run", "verdict"], "th")]
    for claim in paper.claims:
        strings = "".join(f"<td>{escape(text)}</td>" for text in (claim.text, claim.location, claim.finding.measured))
        mark = "n" if claim.finding.reproduced else "open"
        lines.append(f'<tr>{strings}<td class="{mark}">{escape(claim.verdict)}</td></tr>')
    return "<h2>Claims of the paper</h2>\n<table>" + "\n".join(lines) + "</table>"


def _table(table: ComparedTable) -> str:
    named = any(table.columns)
    head = ["quantity", *(["of"] if named else []), "printed", "computed", "deviation", "note"]
    lines, last = [_row(head, "th")], ""
    for cell in table.cells:
        first = cell.row != last
        strings = [cell.row if first else "", *([cell.column] if named else []), cell.printed_text, cell.computed_text]
        cells = "".join(f'<td class="n">{escape(text)}</td>' for text in strings)
        mark = "n" if not cell.compared or cell.same else "off" if cell.explained else "open"
        cells += f'<td class="{mark}">{escape(cell.deviation_text)}</td><td>{escape(cell.note_letter)}</td>'
        begins = ' class="first"' if first else ""
        lines.append(f"<tr{begins}>{cells}</tr>")
        last = cell.row
    grid = "<table>" + "\n".join(lines) + "</table>"
    return f"<h2>{escape(table.label)}. {escape(table.caption)}</h2>\n{grid}{_below(table.notes, table.commands)}"


def _figure(figure: Figure, picture: bytes) -> str:
    source = f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
    image = f'<p><img alt="{escape(figure.label)}" src="{source}"></p>'
    deviation = f'<p class="note">{escape(figure.deviation_text)}</p>' if figure.deviation_text else ""
    return f"<h2>{escape(figure.label)}. {escape(figure.caption)}</h2>\n{image}{deviation}{_below(figure.notes, figure.commands)}"


def _row(strings: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in strings) + "</tr>"


def _below(notes: Sequence[Note], commands: Sequence[str]) -> str:
    out = ""
    for letter, note in notes_with_letters(notes):
        mark = f"<sup>{letter}</sup> " if letter else ""
        word = '<b class="misprint">Misprint.</b> ' if note.misprint else ""
        out += f'<p class="note">{mark}{word}{escape(note.text)}</p>'
    return out + (f"<pre>{escape(chr(10).join(commands))}</pre>" if commands else "")


def _file_name(number: str) -> str:
    """Return a table or figure number as part of a file name.

    >>> _file_name("5.12"), _file_name("Example 1/2")
    ('5.12', 'example-1-2')
    """
    return "".join(c if c.isalnum() or c == "." else "-" for c in number.lower())


def of_paper(paper: Paper) -> str:
    """Return all tables, descriptions of the figures, and the verdict as text."""
    parts = [f"{paper.title}\n{paper.source}", *map(of_table, paper.tables), *map(of_figure, paper.figures)]
    parts += [_wrapped(remark) for remark in paper.remarks]
    parts += [of_claims(paper.claims)] if paper.claims else []
    return "\n\n".join([*parts, verdict(paper)] if paper.tables else parts)


def of_claims(claims: Sequence[Claim]) -> str:
    """Return every claim with its verdict and measured values as text."""
    lines = []
    for claim in claims:
        lines.append(_wrapped(f"{claim.verdict}: {claim.text} ({claim.location})"))
        lines.append(_wrapped(f"   measured: {claim.finding.measured}"))
    return "\n".join(["Claims of the paper, measured in this run", "", *lines])


def of_table(table: ComparedTable) -> str:
    """Return the table as text, with a line for each entry."""
    return "\n".join(
        [f"{table.label}. {table.caption}", "", *_table_rows(table), *_notes_below(table.notes, table.commands)]
    )


def of_figure(figure: Figure) -> str:
    """Return the description of a figure as text."""
    parts = (("frame", len(figure.frames)), ("panel", len(figure.panels)))
    what = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in parts if count)
    deviation = [_wrapped(figure.deviation_text)] if figure.deviation_text else []
    return "\n".join(
        [f"{figure.label}. {figure.caption} ({what})", *deviation, *_notes_below(figure.notes, figure.commands)]
    )


def verdict(paper: Paper) -> str:
    """Return a sentence with the number of entries that agree."""
    cells = [cell for table in paper.tables for cell in table.cells if cell.compared]
    same, open_ones = sum(cell.same for cell in cells), paper.unexplained
    noted = len(cells) - same - len(open_ones)
    if same == len(cells):
        return f"All {len(cells)} printed entries agree."
    summary = f"{same} of {len(cells)} printed entries agree"
    summary += f", {noted} deviate for the reasons noted" if noted else ""
    if not open_ones:
        return f"{summary}, none without a reason."
    where = "; ".join(f"{cell.row}, {cell.column}" for cell in open_ones)
    missing = sum(cell.missing for cell in open_ones)
    words = f", of which {missing} were not computed" if missing else ""
    return f"{summary}, {len(open_ones)} without a reason{words}: {where}."


def _table_rows(table: ComparedTable) -> list[str]:
    head = ["quantity", "of", "printed", "computed", "deviation"]
    lines, last = [head], ""
    for cell in table.cells:
        deviation = f"{cell.deviation_text} {cell.note_letter}".rstrip()
        lines.append(
            [cell.row if cell.row != last else "", cell.column, cell.printed_text, cell.computed_text, deviation]
        )
        last = cell.row
    if not any(table.columns):
        lines = [[line[0], *line[2:]] for line in lines]
    widths = [max(_width(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(c + " " * (w - _width(c)) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def _width(text: str) -> int:
    """Return the display width of a string: combining characters have no width."""
    return sum(not unicodedata.combining(c) for c in text)


def _notes_below(notes: Sequence[Note], commands: Sequence[str]) -> list[str]:
    """Return notes and commands, with an empty line before them."""
    lines = [""] if notes or commands else []
    for letter, note in notes_with_letters(notes):
        lines.append(_wrapped(f"{letter + '  ' if letter else ''}{'Misprint: ' if note.misprint else ''}{note.text}"))
    return [*lines, *(f"$ {command}" for command in commands)]


def _wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
