"""`dalembert check`."""

from __future__ import annotations

import dalembert as dl


def test_prints_a_summary(run):
    found = run("check", "cart-pendulum")
    assert found.code == 0
    for words in (
        ("g", "9.81", "m/s²", "acceleration of gravity"),
        ("theta1", "1.5708", "rad", "no: the Lagrangian depends on theta1"),
        ("x", "4", "3", "m", "ignorable: the Lagrangian, the constraints and the forces do not contain x"),
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
    assert found.out.endswith("The model is valid.\n")


def test_summary_as_json(run):
    found = run("check", "cart-pendulum", "--json").data
    assert found["parameters"][0] == {"name": "m1", "value": 1.0, "description": "mass of the cart", "unit": "kg"}
    assert [c["ignorable"] for c in found["coordinates"]] == [False, False, True]
    assert found["coordinates"][0]["reason"] == "the Lagrangian depends on theta1"
    assert found["coordinates"][2]["reason"] == (
        "ignorable: the Lagrangian, the constraints and the forces do not contain x, for all parameter values"
    )
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


def test_lists_every_kind_of_element(run, tmp_path):
    (tmp_path / "everything.toml").write_text(EVERYTHING)
    found = run("check", "everything.toml")
    assert found.code == 0, found.err
    for words in (
        "prismatic(x), fixed",
        "(1, 0, 0) in axes of world",
        "wheel against block",
        "stiffness 3, natural length 0",
        "redundant constraints  gear again",
        "chosen automatically",
    ):
        assert words in found.out


DECIMALS = """
name = "decimals"
gravity = [0, -9.81, 0]
coordinates = { x = {} }
[[body]]
name = "block"
mass = 0.57
joint = { type = "prismatic", axis = [0, 1, 0], displacement = "x", position = [0.25, 0, 0] }
[[joint_spring]]
name = "band"
body = "block"
stiffness = 0.5
damping = 0.02
[[joint_torque]]
name = "push"
body = "block"
value = "0.03*t"
"""


def test_decimal_numbers_keep_their_notation(run, tmp_path):
    # stored as the fractions 981/100, 57/100, 1/2, 1/50 and 3/100
    (tmp_path / "decimals.toml").write_text(DECIMALS)
    found = run("check", "decimals.toml")
    assert found.code == 0, found.err
    for words in ("(0, -9.81, 0)", "0.57  ", "stiffness 1/2, at rest at 0, damping 0.02", "0.03*t"):
        assert words in found.out
    assert "/100" not in found.out
    data = run("check", "decimals.toml", "--json").data
    assert (data["gravity"], data["bodies"][0]["mass"]) == (["0", "-9.81", "0"], "0.57")


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


def test_model_given_by_energies(run, tmp_path):
    (tmp_path / "oscillator.toml").write_text(ENERGIES)
    found = run("check", "oscillator.toml")
    assert found.code == 0, found.err
    assert "kinetic energy" in found.out
    assert "the model is defined by energies" in found.out
    data = run("check", "oscillator.toml", "--json").data
    assert data["energies"]["forces"] == ["-dot(x)"]
    assert "gibbs_appell" in data["refused"]


def test_reports_every_problem(run, broken_model):
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


LOOP = """
name = "four-bar"
gravity = [0, -9.81, 0]
coordinates = { q1 = { start = 1.0471975511965976 }, q2 = { start = -1.0471975511965976 }, q3 = { start = 1.0471975511965976 } }
[[body]]
name = "crank"
mass = 1
inertia = [0.1, 0.1, 0.1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "q1" }
[[body]]
name = "coupler"
parent = "crank"
mass = 1
inertia = [0.1, 0.1, 0.1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "q2", position = [1, 0, 0] }
[[body]]
name = "rocker"
mass = 1
inertia = [0.1, 0.1, 0.1]
joint = { type = "revolute", axis = [0, 0, 1], angle = "q3", position = [2, 0, 0] }
[[loop]]
name = "pin"
bodies = ["coupler", "rocker"]
joint = { type = "revolute", axis = [0, 0, 1], position = [2, 0, 0] }
position = [1, 0, 0]
description = "closes the loop"
[[actuator]]
name = "motor"
body = "crank"
effort = "-q1"
limit = 5
[[joint_spring]]
name = "torsion"
body = "rocker"
stiffness = 3
[[joint_friction]]
name = "rubbing"
body = "rocker"
coulomb = 2
[[wrench_table]]
name = "gust"
body = "rocker"
times = [0, 1, 4]
force = [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
[[rotor]]
name = "armature"
body = "crank"
inertia = 0.001
ratio = 50
[[shape]]
body = "rocker"
kind = "box"
size = [1, 0.1, 0.1]
[[shape]]
body = "crank"
kind = "sphere"
size = [0.1]
[limits]
q1 = { lower = -3, effort = 5 }
"""


def test_loops_drives_rotors_limits_and_shapes(run, tmp_path):
    (tmp_path / "four-bar.toml").write_text(LOOP)
    found = run("check", "four-bar.toml")
    assert found.code == 0, found.err
    for words in (
        ("pin", "coupler, rocker", "revolute", "x, y, z, tilt 1, tilt 2  z, tilt 1, tilt 2", "closes the loop"),
        ("motor", "actuator", "joint 0 of crank", "-q1, cut off at -5 and 5"),
        ("torsion", "joint_spring", "joint 0 of rocker", "stiffness 3, at rest at 0, damping 0"),
        ("rubbing", "joint_friction", "viscous 0, coulomb 2"),
        ("gust", "force", "rocker", "a table from t = 0 to 4 in axes of world"),
        ("armature", "joint 0 of crank", "0.001", "50"),
        ("limits of  lower  effort",),
        ("degrees of freedom", "1 (3 coordinates, 2 independent of 5 constraints)"),
        ("redundant constraints", "pin, z; pin, tilt 1; pin, tilt 2"),
        ("shapes", "2 (box 1, sphere 1)"),
    ):
        assert any(line.startswith(words[0]) and all(w in line for w in words) for line in found.out.splitlines()), (
            words
        )
    data = run("check", "four-bar.toml", "--json").data
    (loop,) = data["loops"]
    assert (loop["bodies"], loop["joint"], loop["rows"]) == (
        ["coupler", "rocker"],
        "revolute",
        ["x", "y", "z", "tilt 1", "tilt 2"],
    )
    assert loop["redundant"] == ["z", "tilt 1", "tilt 2"]
    assert (data["degrees_of_freedom"], data["independent"]) == (1, ["pin, x", "pin, y"])
    assert data["redundant"] == ["pin, z", "pin, tilt 1", "pin, tilt 2"]
    assert data["rotors"] == [{"name": "armature", "on": "joint 0 of crank", "inertia": "0.001", "ratio": "50"}]
    assert data["limits"] == [{"coordinate": "q1", "lower": -3.0, "upper": None, "velocity": None, "effort": 5.0}]
    assert [(shape["body"], shape["kind"]) for shape in data["shapes"]] == [("rocker", "box"), ("crank", "sphere")]
    assert data["assemble"] is False


FLYING = """
name = "flying"
coordinates = { a = {}, b = {}, c = {}, w = { start = 1 }, x = {}, y = {}, z = {}, s = {}, p = {} }
[[body]]
name = "hull"
mass = 1
inertia = [1, 2, 2.5]
joint = { type = "free", displacement = ["a", "b", "c"], quaternion = ["w", "x", "y", "z"] }
[[body]]
name = "mast"
parent = "hull"
mass = 1
inertia = [1, 1, 1]
joint = { type = "cylindrical", axis = [0, 0, 1], angle = "s", displacement = "p" }
[[joint_torque]]
name = "lift"
body = "mast"
motion = 1
value = 3
"""


def test_joints_with_several_motions(run, tmp_path):
    (tmp_path / "flying.toml").write_text(FLYING)
    found = run("check", "flying.toml")
    assert found.code == 0, found.err
    assert "free(along x a, along y b, along z c, w w, x x, y y, z z)" in found.out
    assert "cylindrical(angle s, displacement p)" in found.out
    assert "joint 0 of mast, displacement" in found.out
    mast = run("check", "flying.toml", "--json").data["bodies"][1]["joints"][0]
    assert mast["motions"] == [{"name": "angle", "formula": "s"}, {"name": "displacement", "formula": "p"}]
    assert (mast["axis"], mast["axes"]) == ([0, 0, 1], [[0, 0, 1]])


def test_prints_notes_of_importers(run, monkeypatch):
    from dalembert.io import gallery

    monkeypatch.setattr(dl, "load", lambda _: gallery.load("cart-pendulum").note("the wheel was left out"))
    assert "note                   the wheel was left out" in run("check", "cart-pendulum").out
    assert run("check", "cart-pendulum", "--json").data["notes"] == ["the wheel was left out"]


def test_reports_the_same_problems_as_model_check(run, tmp_path):
    text = LOOP.replace("q2 = { start = -1.0471975511965976 }", "q2 = { start = -1 }")
    (tmp_path / "open.toml").write_text(f"{text}\n[simulation]\nintegrator = 'rk5'\n")
    found = run("check", "open.toml", "--json")
    problems = dl.load(tmp_path / "open.toml").check()
    assert (found.code, found.data["problems"]) == (2, [vars(problem) for problem in problems])
    assert [problem.path for problem in problems] == ["loop 'pin'", "simulation"]


def test_problems_of_published_data_are_printed_not_raised(run):
    found = run("check", "puma560")
    assert found.code == 0
    assert "Published data, used unchanged:\nbody 'forearm', inertia: the principal moments" in found.out
    assert len(run("check", "puma560", "--json").data["problems"]) == 1
