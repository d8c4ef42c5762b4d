"""`dalembert export`."""

from __future__ import annotations

import tomllib
from xml.etree import ElementTree

import pytest

from dalembert.io import gallery
from dalembert.io.toml_reader import read_toml

ARM = """
name = "arm"
gravity = [0, 0, -9.81]
# a comment of the user
[parameters]
m = 2
[coordinates]
q = { start = 0.1 }
[[body]]
name = "link"
mass = "m"
center = [0.5, 0, 0]
inertia = [0.1, 0.1, 0.1]
joint = { type = "revolute", axis = [0, 1, 0], angle = "q" }
"""


def test_gallery_model_is_written_to_toml(run, tmp_path):
    found = run("export", "cart-pendulum", "-o", "new/cart.toml")
    assert (found.code, found.err) == (0, "")
    assert found.out == "written: new/cart.toml\n"
    model, original = read_toml(tmp_path / "new" / "cart.toml"), gallery.load("cart-pendulum")
    assert (model.bodies, model.nonholonomic_constraints) == (original.bodies, original.nonholonomic_constraints)
    assert run("check", "new/cart.toml").out == run("check", "cart-pendulum").out


def test_overrides_parameters_and_replaces_existing_files(run, tmp_path):
    (tmp_path / "cart.toml").write_text("old")
    assert run("export", "cart-pendulum", "--output", "cart.toml", "--set", "m1=7").code == 0
    assert read_toml(tmp_path / "cart.toml").parameter_values["m1"] == 7


def test_prints_toml_without_an_output_file(run):
    found = run("export", "double-pendulum")
    assert found.code == 0
    assert tomllib.loads(found.out)["name"] == "double-pendulum"


def test_writes_urdf_by_suffix_or_by_format(run, tmp_path):
    (tmp_path / "arm.toml").write_text(ARM)
    assert run("export", "arm.toml", "-o", "arm.URDF").code == 0
    assert run("export", "arm.toml", "-o", "arm.xml", "--format", "urdf").code == 0
    robot = ElementTree.parse(tmp_path / "arm.xml").getroot()
    assert (robot.tag, robot.get("name")) == ("robot", "arm")
    assert (tmp_path / "arm.URDF").read_text() == (tmp_path / "arm.xml").read_text()
    assert run("export", "arm.toml", "--format", "urdf").out == (tmp_path / "arm.xml").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("cart-pendulum", "-o", "cart.txt"),
            "unsupported suffix '.txt'. Expected a file name that ends in .toml, .urdf, .c, .jl or .fmu.",
        ),
        (("cart-pendulum", "-o", "cart"), "--output cart: the suffix is missing."),
        (("cart-pendulum", "-o", "."), "this is a directory. Expected a file name."),
        (("cart-pendulum", "-o", "a.toml", "--format", "sdf"), "got 'sdf', expected toml, urdf,"),
        (("cart-pendulm", "-o", "a.toml"), "there is no model 'cart-pendulm'. Did you mean 'cart-pendulum'?"),
        (("cart-pendulum", "-o", "a.urdf"), "URDF has no"),
        (("cart-pendulum", "-o", "a.toml", "--set", "mass=1"), "there is no parameter 'mass'."),
        (("arm.toml", "-o", "./arm.toml"), "this is the input model file. Choose another file name."),
        (("broken.toml", "-o", "a.toml"), "model 'broken' has 2 problems"),
        ((), "the following arguments are required: MODEL"),
    ],
)
def test_wrong_input(run, tmp_path, broken_model, words, message):
    (tmp_path / "arm.toml").write_text(ARM)
    found = run("export", *words)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert {path.name for path in tmp_path.iterdir()} == {"arm.toml", "broken.toml"}
    assert (tmp_path / "arm.toml").read_text() == ARM


def test_full_disk_is_a_failure(run, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    found = run("export", "cart-pendulum", "-o", "cart.toml")
    assert (found.code, found.out) == (1, "")
    assert "cart.toml: cannot write the file (No space left on device)." in found.err
    assert list(tmp_path.iterdir()) == []


def test_help_has_an_example(run):
    found = run("export", "--help")
    assert found.code == 0
    assert "dalembert export cart-pendulum --output my-cart.toml" in found.out
    assert "export" in run("--help").out


def test_json_names_the_files_or_contains_the_model(run):
    printed = run("export", "double-pendulum", "--json").data
    assert (printed["files"], printed["formalism"]) == ([], None)
    assert tomllib.loads(printed["source"])["name"] == "double-pendulum"
    written = run("export", "double-pendulum", "--formalism", "kane", "-o", "pendulum.c", "--json").data
    assert (written["format"], written["formalism"], written["source"]) == ("c", "kane", None)
    assert "pendulum.c" in written["files"]
