"""Reports: one self-contained file, and no string of a model is executed."""

import re
from html.parser import HTMLParser

import pytest

import dalembert as dl
from dalembert.cli.entry_point import main
from dalembert.display import diagram
from dalembert.display.video import markdown
from dalembert.errors import InputError

EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">'


class Elements(HTMLParser):
    """The tags of a page and their attributes."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def elements(page):
    parser = Elements()
    parser.feed(page)
    return parser.found


@pytest.fixture(scope="module")
def report():
    run = dl.simulate("double-pendulum", 1.0, samples=21)
    return dl.report(run, formalisms=["lagrange", "hamilton"], command="dalembert report double-pendulum")


def test_report_has_all_sections(report):
    page = report.html
    for heading in ("Overview", "Equations", "Evidence", "Model", "Sources"):
        assert f'"title":"{heading}"' in page
    assert "Lagrange" in page
    assert "Hamilton" in page
    assert page.count("<math") > 10
    assert report.contents.agreement.sentence.replace("'", "&#x27;") in page
    assert "dalembert report double-pendulum" in page
    assert "@" in page.partition("Citations")[2]
    assert "energy balance" in page
    assert "ignorable" in page


def test_report_is_self_contained_and_has_a_strict_policy(report):
    policy = next(a["content"] for tag, a in elements(report.html) if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag, attributes in elements(report.html):
        assert "style" not in attributes, (tag, attributes)  # blocked by the policy
        assert not any(name.startswith("on") for name in attributes)
        assert not {"src", "href"} & set(attributes) or tag == "a", (tag, attributes)


def test_descriptions_of_a_model_are_escaped(tmp_path):
    model = dl.Model(EVIL[:60], gravity=(0, -9.81, 0)).parameters(m=1.0)
    model.text = EVIL
    model.coordinate("x", start=1.0, description=EVIL, unit="m")
    model.body("bob", joint=model.prismatic(axis=(1, 0, 0), displacement="x"), mass="m", description=EVIL)
    page = dl.report(dl.simulate(model, 0.5, samples=6), command=EVIL).html
    scripts = [attributes for tag, attributes in elements(page) if tag == "script"]
    assert len(scripts) == 2  # data and viewer
    assert not [tag for tag, _ in elements(page) if tag == "img"]


def test_command_writes_the_page(tmp_path, capsys):
    path = tmp_path / "swing.html"
    words = ["report", "simple-pendulum", "--duration", "1", "--samples", "11", "--no-verification", "-o", str(path)]
    assert main([*words, "--json"]) == 0
    assert '"agrees": null' in capsys.readouterr().out
    assert "dalembert report simple-pendulum --duration 1" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["report", "simple-pendulum", "-o", "x.pdf"], "ends in .html"),
        (["report", "simple-pendulum", "--formalism", "kane,volterre"], "there is no formalism"),
        (["report", "oscillatr"], "there is no model"),
    ],
)
def test_invalid_arguments_are_reported(words, expected, capsys):
    assert main(words) == 2
    assert expected in capsys.readouterr().err


def test_argument_that_is_not_a_run_is_reported():
    with pytest.raises(InputError, match="Expected a run"):
        dl.report("double-pendulum")  # pyright: ignore[reportArgumentType]


def test_inapplicable_formalism_is_reported():
    run = dl.simulate("cart-pendulum", 0.1, samples=3)
    (refused,) = dl.report(run, evidence=False).contents.summary.refused
    with pytest.raises(InputError, match=f"{refused} does not apply to 'cart-pendulum'"):
        dl.report(run, formalisms=[refused])


@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "puma560", "floating-arm"])
def test_tree_has_every_body_joint_and_loop_once(name):
    model = dl.load(name)
    drawing = diagram.tree_in_svg(model)
    assert drawing.count("<rect") == len(model.bodies) + 1
    assert drawing.count("stroke-dasharray") == len(model.loops)
    rectangles = re.findall(r'<rect x="([\d.]+)" y="([-\d.]+)" width="([\d.]+)"', drawing)
    boxes = [tuple(map(float, rectangle)) for rectangle in rectangles]
    for i, (x, y, width) in enumerate(boxes):
        for other_x, other_y, other_width in boxes[:i]:
            assert abs(y - other_y) >= 30 or x + width <= other_x or other_x + other_width <= x  # no two boxes overlap


def test_markdown_is_safe():
    assert "<script" not in markdown(EVIL)
    assert "javascript" not in markdown("[run](javascript:alert(1))").lower().replace("[run](javascript:alert(1))", "")
    assert "href" not in markdown("[file](../docs/x.md) and <https://example.org>")
