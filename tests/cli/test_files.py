"""Checks of output paths."""

from __future__ import annotations

import os

import pytest

from dalembert.cli import output
from dalembert.errors import InputError


def test_directories_are_not_created_before_writing(tmp_path):
    path = output.output_file(str(tmp_path / "a/b/run.csv"), "--output", output.table_suffixes())
    assert not path.parent.exists()


def test_paths_without_write_permission(tmp_path, monkeypatch):
    (tmp_path / "run.csv").write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="the file is not writable"):
        output.output_file(str(tmp_path / "run.csv"), "--output", output.table_suffixes())
    with pytest.raises(InputError, match=r"is not writable\. Choose another directory, or change its permissions"):
        output.output_directory(str(tmp_path / "new"), "--plot")


def test_model_names_cannot_leave_the_output_directory(tmp_path):
    assert output.figure_path(str(tmp_path), "--plot", "../../name").parent == tmp_path


def test_file_names_with_nul():
    with pytest.raises(InputError, match="--output"):
        output.output_file("a\0.csv", "--output")


def test_paths_of_several_figures(tmp_path):
    assert output.figure_paths(str(tmp_path / "out"), "--plot", "m") == tmp_path / "out"
    assert output.figure_paths(str(tmp_path / "all.pdf"), "--plot", "m") == tmp_path / "all.pdf"
    assert output.figure_paths(str(tmp_path / "v1.2"), "--plot", "m") == tmp_path / "v1.2" / "m.png"
