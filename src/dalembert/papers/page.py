"""A paper as a page that needs no other file: tables beside what is printed, figures inside, all text escaped."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from dalembert.io import files
from dalembert.papers.paper_text import verdict
from dalembert.papers.printed_values import Figure, Note, Paper, Table, lettered
from dalembert.papers.tables_of_cells import Cell

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62em; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2.2em }
table { border-collapse: collapse; margin: .6em 0 } th, td { padding: .15em .9em .15em 0; text-align: left; vertical-align: top }
th { border-bottom: 1px solid #999; font-weight: 600 } td.n { font-variant-numeric: tabular-nums }
tr.first td { border-top: 1px solid #ddd } td.off { color: #9a5b00 } td.open { color: #b00020; font-weight: 600 }
p.note { margin: .2em 0; color: #444 } b.misprint { color: #9a5b00 } img { max-width: 100%; height: auto }
pre { background: #f4f4f4; padding: .5em .8em; white-space: pre-wrap } p.source { color: #555 }
"""


def write_paper(paper: Paper, folder: Path) -> list[Path]:
    """Write figure-N.png for every figure, then the page; each file appears only when it is complete."""
    drawn = pictures(paper)
    written = []
    for number, picture in drawn.items():
        path = folder / f"figure-{_file_name(number)}.png"
        with files.complete(path) as part:
            part.write_bytes(picture)
        written.append(path)
    page = folder / f"{paper.name}.html"
    files.write_text(page, whole(paper, drawn))
    return [*written, page]


def pictures(paper: Paper) -> dict[str, bytes]:
    """The figures as PNG, by number."""
    drawn: dict[str, bytes] = {}
    for figure in paper.figures:
        stream = io.BytesIO()
        figure.draw().savefig(stream, format="png", dpi=150)
        drawn[figure.number] = stream.getvalue()
    return drawn


def whole(paper: Paper, drawn: Mapping[str, bytes]) -> str:
    """The page as a document."""
    head = f'<meta charset="utf-8"><title>{escape(paper.title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body(paper, drawn)}\n</body></html>\n'


def body(paper: Paper, drawn: Mapping[str, bytes]) -> str:
    """The page without its head."""
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
        texts = "".join(f"<td>{escape(text)}</td>" for text in (claim.text, claim.place, claim.finding.measured))
        mark = "n" if claim.finding.reproduced else "open"
        lines.append(f'<tr>{texts}<td class="{mark}">{escape(claim.verdict)}</td></tr>')
    return "<h2>Claims of the paper</h2>\n<table>" + "\n".join(lines) + "</table>"


def _table(table: Table) -> str:
    named = any(table.columns)
    head = ["quantity", *(["of"] if named else []), "printed", "computed", "deviation", "note"]
    lines, last = [_row(head, "th")], ""
    for cell in table.cells:
        first = cell.row != last
        texts = [cell.row if first else "", *([cell.column] if named else []), cell.printed_text, cell.computed_text]
        shown = "".join(f'<td class="n">{escape(text)}</td>' for text in texts)
        shown += f'<td class="{_class(cell)}">{escape(cell.deviation_text)}</td><td>{escape(cell.shown_mark)}</td>'
        begins = ' class="first"' if first else ""
        lines.append(f"<tr{begins}>{shown}</tr>")
        last = cell.row
    grid = "<table>" + "\n".join(lines) + "</table>"
    return f"<h2>{escape(table.label)}. {escape(table.caption)}</h2>\n{grid}{_below(table.notes, table.commands)}"


def _figure(figure: Figure, picture: bytes) -> str:
    source = f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"
    image = f'<p><img alt="{escape(figure.label)}" src="{source}"></p>'
    said = f'<p class="note">{escape(figure.deviation_text)}</p>' if figure.deviation_text else ""
    return f"<h2>{escape(figure.label)}. {escape(figure.caption)}</h2>\n{image}{said}{_below(figure.notes, figure.commands)}"


def _class(cell: Cell) -> str:
    if not cell.compared or cell.same:
        return "n"
    return "off" if cell.explained else "open"


def _row(texts: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"


def _below(notes: Sequence[Note], commands: Sequence[str]) -> str:
    said = [_note(letter, note) for letter, note in lettered(notes)]
    shell = f"<pre>{escape(chr(10).join(commands))}</pre>" if commands else ""
    return "".join(said) + shell


def _note(letter: str, note: Note) -> str:
    mark = f"<sup>{letter}</sup> " if letter else ""
    word = '<b class="misprint">Misprint.</b> ' if note.misprint else ""
    return f'<p class="note">{mark}{word}{escape(note.text)}</p>'


def _file_name(number: str) -> str:
    """A number as part of a file name.

    >>> _file_name("5.12"), _file_name("Example 1/2")
    ('5.12', 'example-1-2')
    """
    return "".join(c if c.isalnum() or c == "." else "-" for c in number.lower())
