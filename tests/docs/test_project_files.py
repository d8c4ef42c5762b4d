"""README, changelog, citation and project metadata agree with the package and with each other."""

import re
import tomllib
from pathlib import Path

import pytest
import tutorial_code

import dalembert as dl

ROOT = Path(__file__).parents[2]
SENTENCE = (
    "Describe a mechanical system once. Derive its equations of motion with 18 classical formulations, "
    "prove that they agree, and run them fast."
)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_readme_code_prints_the_documented_output(capsys):
    blocks, known = tutorial_code.blocks(read("README.md")), {}
    assert blocks
    for block in blocks:
        exec(compile(block.code, "README.md", "exec"), known)  # code of this project
        assert capsys.readouterr().out == block.expected


def test_readme_pictures_exist_and_are_small():
    pictures = re.findall(r'src="([^"]+)"', read("README.md"))
    assert len(pictures) == 4
    assert all((ROOT / name).is_file() for name in pictures)
    assert sum((ROOT / name).stat().st_size for name in pictures) < 1_500_000


@pytest.mark.parametrize(
    "name", ["README.md", "pyproject.toml", "mkdocs.yml", "CITATION.cff", "src/dalembert/__init__.py"]
)
def test_the_description_is_the_same_everywhere(name):
    assert SENTENCE in " ".join(read(name).split())


def test_the_number_of_formulations_in_the_description():
    from dalembert.formalisms import catalog

    assert f"{len(catalog.KEYS)} classical formulations" in SENTENCE


def test_the_version_is_stated_once():
    project = tomllib.loads(read("pyproject.toml"))
    assert project["project"]["dynamic"] == ["version"]
    assert (
        re.search(r'^__version__ = "(.+?)"', read(project["tool"]["hatch"]["version"]["path"]), re.M)[1]
        == dl.__version__
    )
    assert re.search(r"^version: (.+)$", read("CITATION.cff"), re.M)[1] == dl.__version__
    assert re.search(r"^## (\d+\.\d+\.\d+)", read("CHANGELOG.md"), re.M)[1] == dl.__version__


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".pre-commit-config.yaml", "CITATION.cff"])
def test_yaml_files_are_valid(name):
    yaml = pytest.importorskip("yaml", reason="PyYAML is installed with the dependency group docs")
    assert isinstance(yaml.safe_load(read(name)), dict)


def test_every_public_target_of_the_makefile_has_a_help_text():
    makefile = read("Makefile")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.M)[1].split()
    assert set(re.findall(r"^([a-z-]+):.*## ", makefile, re.M)) == set(phony)
