"""The examples of `docs/mechanisms.md` run and print the documented output."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "mechanisms.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_the_examples_of_the_page_run(capsys):
    known: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    assert len(blocks) == 19
    for block in blocks:
        *lines, last = block.rstrip().split("\n")
        exec(compile("\n".join(lines), "mechanisms.md", "exec"), known)  # code of this project
        if re.match(r"[a-z_]+ = |print", last):
            exec(compile(last, "mechanisms.md", "exec"), known)
        else:
            value = eval(compile(last, "mechanisms.md", "eval"), known)  # noqa: S307 (our own page)
            if isinstance(value, bool | np.bool_):
                assert value, last
            else:
                assert set(value) == {"left", "right"}
    output = capsys.readouterr().out
    for line in output.strip().split("\n"):
        assert f"    {line}" in PAGE
