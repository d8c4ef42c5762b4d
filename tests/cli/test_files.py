"""Where results go."""

from __future__ import annotations

import os

import pytest

from dalembert.cli import output_files
from dalembert.errors import InputError


def test_directories_are_made_when_writing_begins(tmp_path):
    path = output_files.target(str(tmp_path / "a/b/run.csv"), "--output", output_files.TABLES)
    assert not path.parent.exists()


def test_places_without_permission(tmp_path, monkeypatch):
    (tmp_path / "run.csv").write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="the file cannot be written"):
        output_files.target(str(tmp_path / "run.csv"), "--output", output_files.TABLES)
    with pytest.raises(InputError, match=r"cannot be written\. Choose another place, or change its permissions"):
        output_files.folder(str(tmp_path / "new"), "--plot")


def test_a_plot_cannot_lead_elsewhere(tmp_path):
    assert output_files.picture(str(tmp_path), "--plot", "../../name").parent == tmp_path


def test_names_with_nul():
    with pytest.raises(InputError, match="--output"):
        output_files.target("a\0.csv", "--output")


def test_several_figures(tmp_path):
    assert output_files.pictures(str(tmp_path / "out"), "--plot", "m") == tmp_path / "out"
    assert output_files.pictures(str(tmp_path / "all.pdf"), "--plot", "m") == tmp_path / "all.pdf"
    assert output_files.pictures(str(tmp_path / "v1.2"), "--plot", "m") == tmp_path / "v1.2" / "m.png"
