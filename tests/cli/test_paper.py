"""`dalembert paper`."""

from __future__ import annotations

import pytest


def test_prints_a_table(run):
    found = run("paper", "volterra", "--table", "5")
    assert (found.code, found.err) == (0, "")
    line = next(line for line in found.out.splitlines() if line.startswith("ψ (rad)"))
    assert line.split() == ["ψ", "(rad)", "π/8", "0.392699", "="]
    assert "$ dalembert check satellite-boom" in found.out


def test_json(run):
    data = run("paper", "volterra", "--table", "4", "--json").data
    assert data["paper"] == "volterra"
    assert [cell["computed"] for cell in data["tables"][0]["cells"]][:3] == [2000.0, 1.0, 2.5]
    assert data["unexplained"] == []


def test_lists_tables_and_figures(run):
    found = run("paper", "volterra", "--list")
    assert "Parameters of the third case study" in found.out
    assert list(run("paper", "volterra", "--list", "--json").data["tables"]) == ["1", "2", "3", "4", "5", "6"]


def test_writes_an_html_page(run, tmp_path):
    found = run("paper", "volterra", "--table", "4", "--output", "out")
    assert found.code == 0
    assert found.out.splitlines()[-1] == "written: out/volterra.html"
    assert "Table 4" in (tmp_path / "out/volterra.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["voltera"], "there is no paper 'voltera'. Did you mean 'volterra'?"),
        (["volterra", "--table", "9"], "paper 'volterra' has no table '9'."),
        (["volterra", "--figure", "6"], "--figure 6: figures are written to files. Expected --output DIR."),
        (["volterra", "--output", "file"], "--output file: 'file' is not a directory."),
    ],
)
def test_wrong_input(run, tmp_path, words, message):
    (tmp_path / "file").write_text("here")
    found = run("paper", *words, "--json")
    assert found.code == 2
    assert message in found.data["error"]
