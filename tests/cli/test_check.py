"""`dalembert check`."""

from __future__ import annotations


def test_what_was_understood(run):
    found = run("check", "cart-pendulum")
    assert found.code == 0
    for words in (
        ("g", "9.81", "m/s²", "acceleration of gravity"),
        ("theta1", "1.5708", "rad", "no: the Lagrangian depends on theta1"),
        ("x", "4", "3", "m", "yes"),
        ("rod1", "cart", "m2 = 0.5", "revolute(theta1)"),
        ("motor", "joint_torque", "joint 0 of rod2", "-tau"),
        ("wheel", "nonholonomic", "cos("),
        ("u2", "dot(x)", "velocity of the cart"),
        ("degrees of freedom", "2"),
        ("ignorable coordinates", "x"),
        ("gravity", "(0, -g, 0)"),
    ):
        assert any(line.startswith(words[0]) and all(w in line for w in words) for line in found.out.splitlines()), (
            words
        )
    assert found.out.endswith("The model is sound.\n")


def test_as_json(run):
    found = run("check", "cart-pendulum", "--json").data
    assert found["parameters"][0] == {"name": "m1", "value": 1.0, "description": "mass of the cart", "unit": "kg"}
    assert [c["ignorable"] for c in found["coordinates"]] == [False, False, True]
    assert found["coordinates"][0]["reason"] == "the Lagrangian depends on theta1"
    assert found["bodies"][1]["joints"][0]["kind"] == "revolute"
    assert found["bodies"][1]["mass_value"] == 0.5
    assert found["constraints"][0]["kind"] == "nonholonomic"
    assert (found["degrees_of_freedom"], found["ignorable"], found["redundant"]) == (2, ["x"], [])
    assert found["speeds_chosen"] is False
    assert "lagrange" in found["formalisms"]


EVERYTHING = """
name = "everything"
gravity = [0, 0, -9.81]
[coordinates]
x = {}
y = {}
[[body]]
name = "block"
mass = 2
joint = [{ type = "prismatic", axis = [1, 0, 0], displacement = "x" }, { type = "fixed" }]
[[body]]
name = "wheel"
parent = "block"
mass = 1
inertia = [1, 1, 1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "y" }
[[force]]
body = "block"
force = [1, 0, 0]
[[torque]]
body = "wheel"
torque = [0, 0, 1]
reaction = "block"
[[spring]]
bodies = ["world", "block"]
stiffness = 3
[[holonomic]]
name = "gear"
formula = "x - y"
[[holonomic]]
name = "gear again"
formula = "2*x - 2*y"
"""


def test_every_kind_of_element(run, tmp_path):
    (tmp_path / "everything.toml").write_text(EVERYTHING)
    found = run("check", "everything.toml")
    assert found.code == 0, found.err
    for words in (
        "prismatic(x), fixed",
        "(1, 0, 0) in axes of world",
        "wheel against block",
        "stiffness 3, natural length 0",
        "redundant constraints  gear again",
        "chosen by the program",
    ):
        assert words in found.out


ENERGIES = """
name = "oscillator"
[parameters]
m = { value = 1 }
[coordinates]
x = { start = 1 }
[energies]
kinetic = "m*dot(x)**2/2"
potential = "x**2/2"
forces = { x = "-dot(x)" }
"""


def test_energies(run, tmp_path):
    (tmp_path / "oscillator.toml").write_text(ENERGIES)
    found = run("check", "oscillator.toml")
    assert found.code == 0, found.err
    assert "kinetic energy" in found.out
    assert "the model is given by its energies" in found.out
    data = run("check", "oscillator.toml", "--json").data
    assert data["energies"]["forces"] == ["-dot(x)"]
    assert "gibbs_appell" in data["refused"]


def test_all_problems_at_once(run, broken_model):
    found = run("check", broken_model)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("error: model 'broken' has 2 problems:\n")
    assert "coordinate 'y': it appears in no joint." in found.err
    assert "body 'block', mass: the mass is -1." in found.err


def test_problems_as_json(run, broken_model):
    found = run("check", broken_model, "--json")
    assert (found.code, found.data["kind"]) == (2, "ModelError")
    assert [problem["path"] for problem in found.data["problems"]] == ["coordinate 'y'", "body 'block', mass"]
    assert set(found.data["problems"][0]) == {"path", "fact", "advice", "blocking"}
