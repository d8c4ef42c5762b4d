"""The reference of the format, `docs/model-files.md`, matches the implementation."""

import re
from pathlib import Path

import pytest

from dalembert.errors import ModelFileError
from dalembert.io import toml_reader
from dalembert.io.toml_reader import loads_toml
from dalembert.model import keys
from dalembert.model.loads import force_laws
from dalembert.symbolic.symbols import FUNCTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "model-files.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
EXAMPLE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
SAID = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS[:-1])
def test_model_files_of_the_page_are_valid(block):
    assert loads_toml(block).check() == []


def test_first_example_is_a_valid_model():
    assert loads_toml(BLOCKS[0]).coordinate_names == ("q1", "q2")


def test_the_python_example_prints_its_output(tmp_path, monkeypatch, capsys):
    (tmp_path / "two-link.toml").write_text(BLOCKS[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLE, "model-files.md", "exec"), {})  # our own page
    for line in capsys.readouterr().out.strip().split("\n"):
        assert f"    {line}" in PAGE


def test_documented_message_of_invalid_file():
    with pytest.raises(ModelFileError) as caught:
        loads_toml(BLOCKS[-1], "two-link.toml")
    assert str(caught.value) == SAID[0].strip()


def test_documented_message_of_invalid_line():
    with pytest.raises(ModelFileError) as caught:
        loads_toml("name = 'a'\nmass = m", "two-link.toml")
    assert str(caught.value) == SAID[1].strip()


def test_documented_problem_is_found_by_check():
    text = BLOCKS[0].replace('parent = "upper"', 'parent = "uper"')
    assert [str(problem) for problem in loads_toml(text).check()] == [SAID[2].strip()]


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("### `[parameters]`", toml_reader.PARAMETER),
        ("### `[coordinates]`", toml_reader.COORDINATE),
        ("### `[speeds]`", toml_reader.SPEED),
        ("### `[energies]`", toml_reader.ENERGIES),
        ("### `[simulation]`", toml_reader.SIMULATION),
        *((f"`[[{kind}]]`", keys) for kind, keys in toml_reader.elements().items()),
        *(("### Joints", keys) for keys in toml_reader.joint_keys().values()),
    ],
)
def test_every_key_is_documented(title, keys):
    # the first table after the line of the reference that begins with the title or names it in a heading
    reference = PAGE[PAGE.index("## The reference") :]
    start = re.search(rf"^(### .*)?{re.escape(title)}", reference, re.MULTILINE)
    assert start is not None
    table = re.search(r"(\|.*\n)+", reference[start.start() :])
    assert table is not None
    for key in keys:
        assert f"| `{key}` |" in table.group(), key


def test_every_section_function_and_limit_is_documented():
    for section in toml_reader.sections():
        assert f"`{section}`" in PAGE or f"[{section}]" in PAGE, section
    for function in FUNCTIONS:
        assert re.search(rf"`{function}[`(]", PAGE), function
    for limit in (toml_reader.MAX_BYTES, keys.MAX_SAMPLES, keys.MAX_FILE_ROWS, force_laws.MAX_ROWS):
        assert f"{limit:,}".replace(",", " ") in PAGE
    assert str(keys.MAX_ELEMENTS) in PAGE
