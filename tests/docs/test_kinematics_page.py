"""The examples of `docs/kinematics.md` run and print the documented output."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "kinematics.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_the_examples_of_the_page_run(capsys):
    known: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    assert len(blocks) == 11
    for block in blocks:
        *lines, last = block.rstrip().split("\n")
        exec(compile("\n".join(lines), "kinematics.md", "exec"), known)  # code of this project
        value = eval(compile(last, "kinematics.md", "eval"), known)  # noqa: S307 (our own page)
        assert value or last.startswith("print"), last
    for line in capsys.readouterr().out.strip().split("\n"):
        assert f"    {line}" in PAGE
