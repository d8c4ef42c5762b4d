"""JSON, tables and the progress bar."""

from __future__ import annotations

import io
import json
import sys

import numpy as np

from dalembert.cli import output


def test_json_has_only_standard_values():
    data = {
        "array": np.array([1.0, np.nan]),
        "number": np.float64(2),
        "integer": np.int64(3),
        "inf": -np.inf,
        1: (None,),
    }
    assert json.loads(output.to_json(data)) == {
        "array": [1.0, None],
        "number": 2.0,
        "integer": 3,
        "inf": None,
        "1": [None],
    }


def test_markup_is_not_interpreted(capsys):
    table = output.table("name")
    table.add_row("[red]x[/red] :smile:")
    output.show(table, "[bold]y[/bold]")
    out = capsys.readouterr().out
    assert "[red]x[/red] :smile:" in out
    assert "[bold]y[/bold]" in out


def test_no_progress_bar_on_a_pipe(capsys):
    with output.progress_bar("working") as advance:
        advance(0.5)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with output.progress_bar("working") as advance:
        for step in range(11):
            advance(step / 10)
    assert "working" in screen.getvalue()
