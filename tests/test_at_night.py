"""Every line of the list of nightly parametrizations names an existing test."""

from pathlib import Path

HERE = Path(__file__).parent


def test_every_line_names_a_test():
    lines = (HERE / "at_night.txt").read_text("utf-8").splitlines()
    assert lines == sorted(set(lines))
    for line in lines:
        file, _, name = line.partition("::")
        text = (HERE.parent / file).read_text("utf-8")
        assert f"def {name.partition('[')[0]}(" in text, line
