"""Fixtures that call the command line as a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dalembert.cli.entry_point import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON document on stdout, parsed strictly."""

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """`run("check", "cart-pendulum")` in an empty directory, with enough columns for every table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str) -> Outcome:
        code = main(words)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def broken_model(tmp_path: Path) -> str:
    """A model file with two errors."""
    path = tmp_path / "broken.toml"
    path.write_text(
        'name = "broken"\n'
        "[parameters]\nm = { value = -1 }\n"
        "[coordinates]\nx = {}\ny = {}\n"
        '[[body]]\nname = "block"\nmass = "m"\n'
        'joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }\n'
    )
    return str(path)
