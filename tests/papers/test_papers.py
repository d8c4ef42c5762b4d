"""The framework of `dalembert paper`: cells, notes, selections, text and pages."""

import pickle
import shlex
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert import papers
from dalembert.cli.entry_point import _parsers, main
from dalembert.errors import InputError
from dalembert.io import gallery
from dalembert.papers.printed_values import (
    ComparedTable,
    Figure,
    FigurePanel,
    MechanismSnapshot,
    Note,
    Paper,
    PrintedLine,
    Stroke,
)
from dalembert.papers.table_cells import Cell, printed_value

CURVE = PrintedLine("x", np.linspace(0, 1, 5), np.linspace(0, 2, 5))


def small_paper(text="a <b> & c"):
    notes = (Note("why <it> differs", ("second",), misprint=True), Note("about all"))
    table = ComparedTable(
        "1", text, ("",), {"first": ("1.50",), "second": ("2.0",)}, {"first": (1.504,), "second": (2.5,)}, notes
    )
    figures = (
        Figure("1", text, panels=(FigurePanel("x [m]", (CURVE,)),)),
        Figure(
            "2",
            text,
            frames=(MechanismSnapshot("t = 0", (Stroke(np.eye(3), closed=True), Stroke(np.eye(3), label="A"))),),
        ),
        Figure(
            "3",
            text,
            frames=(MechanismSnapshot("t = 0", (Stroke(np.eye(2), joint=True), Stroke(np.eye(2)[::-1]))),) * 2,
        ),
    )
    return Paper("small", text, "no source", (table,), figures)


@pytest.mark.parametrize(
    ("printed", "computed", "same", "deviation"),
    [
        ("6.05e-4", 6.0549e-4, True, "="),
        ("6.05e-4", 6.0551e-4, False, "+0.084 %"),
        ("9.10e-9", 9.0999e-9, True, "="),
        ("9.10e-9", 9.11e-9, False, "+0.11 %"),
        ("0", 0, True, "="),
        ("0", 1.2e-14, False, "+1.2e-14"),
        ("15", 14, False, "-6.7 %"),
        ("π/8", np.pi / 8, True, "="),
        ("π/8", 0.3927, False, "+0.00023 %"),
        ("−0.1", -0.1, True, "="),
        ("m − s", "m − s", True, "="),
        ("m − s", "m", False, "differs"),
        ("1.93", 0.02, False, "×0.01"),
        ("= 0", 3e-12, True, "="),
        ("= 0", 1e-8, False, "+1.0e-08"),
        ("-l*cos(phi)**2", "l*sin(phi)**2 - l", True, "="),
        ("l/sqrt(1 + l**2)", "1/sqrt(1 + l**2)", False, "differs"),
        ("−1", 1.0, False, "×-1"),
        ("1.0", None, False, "not computed"),
        ("", 2.0, False, "-"),
    ],
)
def test_cells_agree_to_the_printed_digits(printed, computed, same, deviation):
    cell = Cell("row", "column", printed, computed)
    assert (cell.same, cell.deviation_text) == (same, deviation)


def test_values_of_printed_strings():
    assert [printed_value(text) for text in ("2π", "−π/2", "1e3", "p")] == [2 * np.pi, -np.pi / 2, 1000, None]


def test_notes_explain_their_cells():
    paper = small_paper()
    assert [(cell.row, cell.mark, cell.explained) for cell in paper.table(1).cells] == [
        ("first", "", True),
        ("second", "a", True),
    ]
    assert not paper.unexplained
    assert [note.text for note in paper.misprints] == ["why <it> differs"]
    bare = ComparedTable("1", "", ("",), {"x": ("1.0",)}, {"x": (2.0,)})
    assert [cell.row for cell in bare.unexplained] == ["x"]


def test_text_and_dict():
    paper = small_paper()
    text = str(paper)
    assert "second    2.0      2.50      +25 % a" in text
    assert "a  Misprint: why <it> differs" in text
    assert "1 of 2 printed entries agree, 1 deviate for the reasons noted, none without a reason." in text
    data = paper.to_dict()
    assert data["tables"][0]["cells"][1]["deviation"] == 0.25
    assert data["figures"][0]["panels"] == [{"axis": "x [m]", "deviation": None}]
    assert [each["frames"] for each in data["figures"]] == [[], ["t = 0"], ["t = 0", "t = 0"]]


def test_page_is_escaped_and_self_contained(tmp_path):
    written = small_paper().write(tmp_path / "out")
    assert [path.name for path in written] == ["figure-1.png", "figure-2.png", "figure-3.png", "small.html"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(path.name for path in written)
    page = written[-1].read_text(encoding="utf-8")
    assert "a &lt;b&gt; &amp; c" in page
    assert "why &lt;it&gt; differs" in page
    assert "<b> &" not in page
    assert page.count("data:image/png;base64,") == 3
    assert 'src="http' not in page
    assert written[0].read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(("name", "figures"), [("volterra", [1, 7, 12]), ("phong", [1, 2])])
def test_sketches_of_mechanisms(name, figures):
    paper = dl.paper(name, figures=figures)
    assert not paper.tables
    for figure in paper.figures:
        assert len(figure.draw().axes) == len(figure.frames) == 1


def test_frames_are_above_curves():
    frames = (MechanismSnapshot("t = 0", (Stroke(np.eye(2), joint=True),)),) * 2
    figure = Figure("1", "both", panels=(FigurePanel("x [m]", (CURVE,)),), frames=frames)
    above, _, below = figure.draw().axes
    assert (above.get_title(), below.get_ylabel()) == ("t = 0", "x [m]")
    assert "(2 frames, 1 panel)" in str(Paper("small", "", "", figures=(figure,)))


def test_papers_can_be_pickled_and_replaced():
    paper = small_paper()
    copy = pickle.loads(pickle.dumps(paper))  # noqa: S301
    assert str(copy) == str(paper)
    assert "<h1>" in replace(copy, figures=())._repr_html_()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dl.paper("voltera"), "there is no paper 'voltera'. Did you mean 'volterra'?"),
        (lambda: dl.paper("volterra", tables=["9"]), "paper 'volterra' has no table '9'. It has table 1, table 2"),
        (lambda: dl.paper("volterra", figures=[99]), "paper 'volterra' has no figure '99'."),
        (lambda: small_paper().table(7), "paper 'small' has no table '7' here."),
    ],
)
def test_invalid_requests_are_reported(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("name", papers.NAMES)
def test_every_printed_table_and_figure_can_be_computed(name):
    known, recipe = papers.choices(name), papers._recipe(name)
    assert set(known.tables) == set(recipe.tables)
    assert set(known.figures) == set(recipe.figures)
    for table in known.tables.values():
        assert all(len(texts) == len(table.columns) for texts in table.rows.values())
        for note in table.notes:
            assert set(note.rows) <= set(table.rows)
            assert set(note.columns) <= set(table.columns)


@pytest.mark.parametrize("name", papers.NAMES)
def test_every_table_and_figure_has_valid_commands(name):
    known = papers.choices(name)
    for each in (*known.tables.values(), *known.figures.values()):
        assert each.commands, each.caption
        for command in each.commands:
            program, *words = shlex.split(command)
            assert program == "dalembert"
            parsed = _parsers(words[0])[0].parse_args(words)  # raises for invalid arguments
            if hasattr(parsed, "model"):
                assert parsed.model in gallery.names()


def test_progress_is_reported():
    fractions = []
    dl.paper("volterra", tables=["4", "5"], progress=fractions.append)
    assert fractions == [0.0, 0.5, 1.0]


def test_printed_entry_without_computed_value_is_a_failure():
    notes = (Note("a reason", ("second",)),)
    table = ComparedTable(
        "1", "t", ("",), {"first": ("1.50",), "second": ("2.0",)}, {"first": (1.504,), "second": (None,)}, notes
    )
    found = Paper("small", "t", "no source", (table,))
    assert [cell.row for cell in found.unexplained] == ["second"]
    assert "1 of 2 printed entries agree, 1 without a reason, of which 1 were not computed: second" in str(found)
    assert "not computed" in str(table)
    assert found.to_dict()["unexplained"]


def test_paper_with_unexplained_entries_exits_with_code_1(monkeypatch, capsys):
    table = ComparedTable("1", "t", ("",), {"first": ("1.50",)}, {"first": (None,)})
    for entry, code in ((None, 1), (1.5, 0)):
        paper = Paper("volterra", "t", "no source", (replace(table, computed={"first": (entry,)}),))
        monkeypatch.setattr(papers, "paper", lambda *_, paper=paper, **__: paper)
        for more in ([], ["--json"]):
            assert main(["paper", "volterra", "--table", "1", *more]) == code
    capsys.readouterr()


def test_all_printed_entries_of_the_gyroscope_are_computed():
    table = papers.paper("desapio", tables=["Gyroscope, coefficients"]).table("Gyroscope, coefficients")
    assert [cell for cell in table.cells if cell.missing] == []
    found = {(cell.row, cell.column): cell.computed for cell in table.cells}
    row = "b₁ / (−2 cos q₂ q̇₂), sin q₂ q̇₁ (5.250)"
    # −2 ∂M₁₁/∂(cos 2q₂) by hand: b₁ = −4 m q̇₁q̇₂ sin q₂ cos q₂ … with M₁₁ = … + m cos 2q₂
    for column, value in {"M₂": 2.958, "l_G2² M₂": 1, "h² M₃": 1 / 12, "l₃² M₃": 1, "r² M₃": -0.25}.items():
        assert found[row, column] == pytest.approx(value)


@pytest.mark.parametrize("name", papers.NAMES)
def test_every_claim_has_a_description_a_location_and_a_measurement(name):
    known, recipe = papers.choices(name), papers._recipe(name)
    assert known.claims
    assert set(known.claims) == set(recipe.claims)
    assert all(claim.text and claim.location for claim in known.claims.values())


@pytest.mark.parametrize("name", ["phong", pytest.param("poincare", marks=pytest.mark.nightly)])
def test_claims_have_verdicts_and_measured_values(name):
    found = papers.paper(name, tables=[], claims=True)
    assert {claim.verdict for claim in found.claims} == {"reproduced"}
    pages = [str(found), "".join(found._repr_html_())]
    for claim in found.claims:
        assert claim.finding.measured
        assert all("Claims of the paper" in text for text in pages)
    assert papers.paper(name, tables=[]).claims == ()


@pytest.mark.nightly
def test_verdicts_on_the_claims_of_volterra():
    found = {claim.key: claim for claim in papers.paper("volterra", tables=[], claims=True).claims}
    assert all(claim.finding.measured for claim in found.values())
    del found["fastest"]  # depends on the machine
    assert {key for key, claim in found.items() if not claim.finding.reproduced} == set()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "refuted"),
    [("denoc", {"fewest-operations"}), ("desapio", {"second-order-schemes", "drift-of-positions-only"})],
)
def test_claims_that_are_not_reproduced(name, refuted):
    found = papers.paper(name, tables=[], claims=True).claims
    assert {claim.key for claim in found if claim.verdict == "not reproduced"} == refuted
    assert len(found) > len(refuted)
