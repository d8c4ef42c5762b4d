"""ReDySim's arrays in TOML, JSON and MATLAB, the supported subset of MATLAB, and messages for invalid inputs."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, ModelFileError
from dalembert.io._matlab_interpreter import read_assignments
from dalembert.io._matlab_values import MAX_DEPTH
from dalembert.io._redysim import loads_redysim, read_redysim
from dalembert.io._redysim_arrays import KEYS, from_arrays
from dalembert.io.file_formats import loads, read
from dalembert.mechanics.energies import mass_matrix
from dalembert.mechanics.motion import move
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.revolute import Revolute
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS

PAGE = (Path(__file__).parents[2] / "docs" / "robot-tables.md").read_text(encoding="utf-8")
PAPERS = Path(__file__).parents[1] / "papers" / "redysim_models.json"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def block(kind, place=0):
    return [text for name, text in BLOCKS if name == kind][place]


def arrays(count=1, **changes):
    """A chain of rods; None removes a key."""
    n = count
    data = {"name": "rods", "n": n, "bt": list(range(n)), "g": [0, -9.81, 0]}
    data |= {key: [0] * n for key in ("alp", "a", "b", "th", "dy", "dz", "Icxx", "Icyy", "Icxy", "Icyz", "Iczx")}
    data |= {"r": [1] * n, "m": [2] * n, "dx": [0.25] * n, "Iczz": [0.04] * n} | changes
    return {key: value for key, value in data.items() if value is not None}


# conversion of the arrays


def test_the_three_kinds_of_files_are_the_same_robot(tmp_path):
    matlab = tmp_path / "inputs.m"
    matlab.write_text(block("matlab"))
    first = read_redysim(matlab)
    assert first.coordinate_names == ("q1", "q2")
    assert first.initial[0] == pytest.approx([np.pi / 6, 0])
    moments = [0.5 * 0.3**2 / 12, 0.4 * 0.25**2 / 12]
    data = arrays(2, a=[0, 0.3], th=["pi/6", 0], m=[0.5, 0.4], dx=[0.15, 0.125], Icyy=moments, Iczz=moments)
    toml = tmp_path / "rods.toml"
    toml.write_text("convention = 'redysim'\n" + "".join(f"{key} = {value!r}\n" for key, value in data.items()))
    (tmp_path / "rods.json").write_text(json.dumps(data | {"th": [np.pi / 6, 0]}))
    others = [read_redysim(toml), read_redysim(tmp_path / "rods.json"), read(toml), read(matlab)]
    q, qd = [0.4, -1.0], [1.0, 2.0]
    known = dl.derive(first, "lagrange").accelerations(q, qd)
    for other in others:
        assert other.initial[0] == pytest.approx(first.initial[0])
        np.testing.assert_allclose(dl.derive(other, "lagrange").accelerations(q, qd), known, rtol=1e-13)
    assert [model.name for model in (first, *others)] == ["inputs", "rods", "rods", "rods", "inputs"]


def test_examples_of_the_page_are_valid():
    assert loads(block("toml", 2)).check() == []
    rod = loads_redysim(block("json"), kind="json")
    assert (rod.name, rod.check()) == ("rod", [])
    assert dl.derive(rod, "lagrange").accelerations([0.5], [0])[0] == pytest.approx(
        -2 * 9.81 * 0.25 * np.cos(0.5) / (0.04 + 2 * 0.0625)
    )


def test_every_key_is_documented():
    for key in (*KEYS, "names", "quaternion"):
        assert f"`{key}`" in PAGE, key


def test_products_of_inertia_are_entries_of_the_matrix():
    data = arrays(Icxx=[0.3], Icyy=[0.4], Iczz=[0.5], Icxy=[0.01], Icyz=[0.02], Iczx=[0.03])
    inertia = np.array(from_arrays(data, "x").bodies[0].inertia, dtype=float)
    np.testing.assert_array_equal(inertia, [[0.3, 0.01, 0.03], [0.01, 0.4, 0.02], [0.03, 0.02, 0.5]])


def test_a_joint_starts_at_its_th_or_b():
    model = from_arrays(arrays(2, r=[1, 0], th=[0.3, 0.2], b=[0.1, 0.5]), "x")
    assert model.initial[0] == pytest.approx([0.3, 0.5])
    turn, slide = (body.joints for body in model.bodies)
    assert isinstance(turn[0], Revolute)
    assert isinstance(slide[0], Prismatic)
    assert str(turn[0].angle) == "q1"
    assert (str(slide[0].displacement), [float(x) for x in slide[1].rotation]) == ("q2", [0, 0, 0.2])


def test_names_coordinates_and_other_sections():
    text = "convention = 'redysim'\n" + "".join(f"{key} = {value!r}\n" for key, value in arrays(2).items())
    text += "names = ['upper', 'lower']\n[parameters]\nc = 0.5\n[coordinates]\nq2 = { start = 0.7, description = 'elbow' }\n"
    text += "[[joint_torque]]\nbody = 'lower'\nvalue = '-c*dot(q2)'\n[simulation]\nduration = 2\nsamples = 21\n"
    model = loads(text)
    assert [(body.name, body.parent) for body in model.bodies] == [("upper", "world"), ("lower", "upper")]
    assert model.generalized_coordinates[1].description == "elbow"
    assert model.generalized_coordinates[0].description == "angle of joint 'upper' about its z axis"
    assert (model.initial[0].tolist(), model.duration, model.samples) == ([0, 0.7], 2, 21)


def test_entries_may_be_formulas_of_parameters():
    text = "convention = 'redysim'\n" + "".join(f"{key} = {value!r}\n" for key, value in arrays().items() if key != "m")
    model = loads(text + "m = ['2*rho']\n[parameters]\nrho = 3\n")
    assert str(model.bodies[0].mass) == "2*rho"


# floating bases


@pytest.mark.parametrize(
    ("nq", "quaternion", "names", "joint"),
    [
        (0, False, ("x", "y", "phi"), "planar"),
        (0, True, ("x", "y", "phi"), "planar"),
        (1, False, ("x", "y", "z", "phi", "theta", "psi"), "free"),
        (1, True, ("x", "y", "z", "e0", "e1", "e2", "e3"), "free"),
    ],
)
def test_the_first_link_floats(nq, quaternion, names, joint):
    data = arrays(3, nq=nq, r=None, th=None, Icxx=[0.5, 0, 0], Icyy=[0.5, 0, 0], Iczz=[0.5, 0.1, 0.1])
    model = from_arrays(data, "x", quaternion=quaternion)
    assert model.coordinate_names == (*names, "q2", "q3")
    assert model.bodies[0].joints[0].kind == joint
    assert model.check() == []
    q, qd = model.initial
    M = mass_matrix(move(model, FLOATS, 0.0, vector(q.tolist()), vector(qd.tolist()), {})).astype(float)
    assert np.linalg.eigvalsh(M)[0] > 1e-3


def test_floating_arm_conserves_mass_center_and_momentum():
    # joint torques are internal: without initial momentum the mass center stays fixed
    data = json.loads(PAPERS.read_text())["floating_base/fordyn/3-link"]
    model = from_arrays({"name": "arm", **data}, "x")
    model.joint_torque("link2", "3*sin(t)").joint_torque("link3", "-2*cos(3*t)")
    run = dl.derive(model, "lagrange").simulate(4.0, samples=9)
    assert abs(run.q).max() > 0.1
    m = np.array(data["m"])
    for k in range(9):
        moving = move(model, FLOATS, 0.0, vector(run.q[:, k].tolist()), vector(run.qd[:, k].tolist()), {})
        p = sum((mass * (body.B @ moving.qd) for mass, body in zip(m, moving.bodies, strict=True)), np.zeros(3))
        center = sum(mass * body.p_WG for mass, body in zip(m, moving.bodies, strict=True)) / m.sum()
        np.testing.assert_allclose(p.astype(float), 0, atol=1e-11)
        np.testing.assert_allclose(center.astype(float), [60 / 530, 0, 0], atol=1e-11)


def test_quaternion_option_in_the_file():
    assert "e0" in from_arrays(arrays(2, nq=1, quaternion=True), "x").coordinate_names


# notes and problems


def test_reports_ignored_inputs():
    notes = from_arrays(arrays(2, al=[1, 1], aj=[1, 1], type=1, dof=1), "x").notes
    assert notes[0].startswith("ignored, since the equations of motion do not need it: al (")
    assert "the arrays describe only its open tree, with 2 degrees of freedom, of which 1 remain" in notes[1]
    assert "[[loop]]" in notes[1]
    assert len(notes) == 2
    (note,) = from_arrays(arrays(2, dof=3), "x").notes
    assert note == "dof is 3, but the tree has 2 degrees of freedom."
    assert from_arrays(arrays(2, dof=2, type=0), "x").notes == ()
    assert from_arrays(arrays(3, nq=1, dof=8), "x").notes == ()


def test_tp_and_steps_set_the_simulation():
    model = from_arrays(arrays(Tp=2, steps=0.05), "x")
    assert (model.duration, model.samples) == (2, 41)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": None}, "the key 'n' is missing."),
        ({"n": 0}, "x, n: got 0."),
        ({"n": 2001}, "Expected the number of links, from 1 to 2000."),
        ({"n": 1.5}, "x, n: got 1.5."),
        ({"n": 10**30}, "x, n: got"),
        ({"m": None}, "the array 'm' is missing. Add m with 1 entries."),
        ({"th": None}, "the array 'th' is missing."),
        ({"r": None}, "the array 'r' is missing."),
        ({"g": None}, "the array 'g' is missing. Add g with 3 entries."),
        ({"name": None}, "the key 'name' is missing."),
        ({"a": [1, 2]}, "a: got an array of 2. Expected an array of 1, one entry for each link."),
        ({"a": {}}, "a: got a table."),
        ({"a": ["x"]}, "a, link 1: formula 'x', column 1: the name 'x' is not known here."),
        ({"dx": [True]}, "dx, link 1: got true."),
        ({"dx": [float("nan")]}, "dx, link 1: the value nan"),
        ({"g": [0, 1]}, "g: got an array of 2. Expected an array of 3"),
        ({"g": [0, 0, "down"]}, "gravity[2]"),
        ({"bt": [1]}, "bt, link 1: the parent is 1. Expected 0."),
        ({"bt": ["0"]}, "bt, link 1: the parent is '0'."),
        ({"r": [2]}, "r, link 1: got 2. Expected 1 (revolute) or 0 (prismatic)."),
        ({"nq": 3}, "nq: got 3. Expected 0 or 1."),
        ({"type": "open"}, "type: got 'open'. Expected 0 or 1."),
        ({"dof": 1.5}, "dof: got the number 1.5."),
        ({"Tp": -1}, "Tp: got the number -1. Expected a positive number of seconds."),
        ({"steps": 0.1}, "steps: the time Tp is missing."),
        ({"Tp": 1, "steps": 1e-9}, "gives 1e+09 samples."),
        ({"Tp": 1, "simulation": {"duration": 2}}, "the section [simulation] is also defined."),
        ({"gravity": [0, 0, 0]}, "gravity: ReDySim's arrays define it as g."),
        ({"quaternion": 1}, "quaternion: got the number 1."),
        ({"names": ["a", "b"]}, "names: got an array of 2."),
        ({"names": [""]}, "names, link 1"),
        ({"names": ["two words"]}, "body 'two words': invalid body name."),
        ({"alpha": [0]}, "there is no key or section 'alpha'. Did you mean 'alp'?"),
        ({"nq": 1, "a": [0.5]}, "a, link 1: the floating base has the value 0.5."),
    ],
)
def test_reports_wrong_arrays(changes, message):
    with pytest.raises(ModelFileError) as caught:
        from_arrays(arrays(**changes), "x")
    assert message in str(caught.value)


def test_parent_must_precede_link():
    with pytest.raises(ModelFileError, match=r"bt, link 2: the parent is 2\. Expected a number from 0 to 1\."):
        from_arrays(arrays(3, bt=[0, 2, 1]), "x")
    with pytest.raises(ModelFileError, match=r"bt, link 3: the parent is 0\. Expected a number from 1 to 2\."):
        from_arrays(arrays(3, bt=[0, 1, 0], nq=1), "x")


# files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "inputs.json, line 1: not valid JSON"),
        ("{", "inputs.json, line 1: not valid JSON"),
        ("[1]", "the top level is not an object."),
        ('{"n": 1, "n": 2}', "duplicate name 'n'"),
        ('{"n": NaN}', "NaN is not a finite number."),
        ('{"n": -Infinity}', "-Infinity is not a finite number."),
        ('{"n": 1e999}', "inputs.json, n: got inf."),
        ("[" * 100_000, "nested too deeply"),
        ('{"n": ' + "1" * 5000 + "}", "too many digits"),
        ('{"a": {"n": 1}, "b": {"n": 2}}', "the file contains 2 robots. Select one with model=..., such as 'a'."),
    ],
)
def test_reports_wrong_json(text, message):
    with pytest.raises(ModelFileError) as caught:
        loads_redysim(text, "inputs.json", kind="json")
    assert message in str(caught.value)


def test_selects_robot_by_name(tmp_path):
    with pytest.raises(ModelFileError, match="there is no robot 'legged_robot/fordyn/bipd'"):
        read_redysim(PAPERS, "legged_robot/fordyn/bipd")
    assert read_redysim(PAPERS, "legged_robot/fordyn/biped").name == "biped"
    with pytest.raises(ModelFileError, match="the file contains one robot"):
        loads_redysim(json.dumps(arrays()), kind="json", model="x")
    with pytest.raises(ModelFileError, match="only JSON files hold several robots"):
        loads_redysim("n=1", kind="matlab", model="x")
    with pytest.raises(ModelFileError, match=r"unknown suffix '\.xml'"):
        read_redysim(tmp_path / "inputs.xml")
    with pytest.raises(InputError, match="there is no kind 'xml'"):
        loads_redysim("", kind="xml")
    with pytest.raises(ModelFileError, match="Expected 'redysim'"):
        loads_redysim('convention = "dh"')


# MATLAB


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = 3", (3,)),
        ("x = 1e-3; % x = 4", (1e-3,)),
        ("x = .5 + 2.", (2.5,)),
        ("x = [1 2 3]", (1, 2, 3)),
        ("x = [1, 2; 3]", (1, 2, 3)),
        ("x = [1\n2\n 3 ]", (1, 2, 3)),
        ("x = [1 2 ...\n 3];", (1, 2, 3)),
        ("x = [1 -2]", (1, -2)),
        ("x = [1 - 2]", (-1,)),
        ("x = [1 -2 - 3]", (1, -5)),
        ("x = [1-2 +3]", (-1, 3)),
        ("x = [(1 -2)]", (-1,)),
        ("y = [4 5]; x = [y(1) y (1)]", (4, 4, 5, 1)),
        ("y = [4 5]; x = y'/2", (2, 2.5)),
        ("y = [4 5]; x = [y 6; y']", (4, 5, 6, 4, 5)),
        ("y = [4 5]; x = y.*y - 2*y + y.^2", (24, 40)),
        ("y = [4 5]; x = 20./y", (5, 4)),
        ("x = 2^3^2", (64,)),
        ("x = -2^2", (-4,)),
        ("x = 2^-1", (0.5,)),
        ("x = (1/12)*6*2^2", (2,)),
        ("x(3) = 1", (0, 0, 1)),
        ("x = [1 2 3]; x(2) = 7; x(4) = x(1)", (1, 7, 3, 1)),
        ("n = 3; x = zeros(n,1); x(n) = 2", (0, 0, 2)),
        ("x = ones(1, 2)", (1, 1)),
        ("x = sum([1 2 3]) + length([4 5]) + numel(3)", (9,)),
        ("x = sqrt(sum([9 16]))", (5,)),
        ("x = [deg2rad(180) rad2deg(pi)]", (np.pi, 180)),
        ("x = [sind(30), cosd(60), abs(-2), sin(0) cos(0)]", (0.5, 0.5, 2, 0, 1)),
        ("function [x] = f()\n x = 1;\nend", (1,)),
        ("function []=matfiles()\n x = 1;\nsave inputs.mat n x\nend", (1,)),
        ("x = 1; save('inputs.mat', 'x')", (1,)),
        ("%{\nx = 9\n%}\nx = 2", (2,)),
        ("x = 1, y = 2; x = x + y", (3,)),
        ("x = [];", ()),
        ("x = 3;\r\n", (3,)),
        ("for i = 1:3\n x(i,1) = i^2;\nend", (1, 4, 9)),
        ("x = 0; for i = 6:-2:1, x = x + i; end", (12,)),
        ("x = 5; for i = 1:0\n x = 1; end", (5,)),
        ("y = [4 5 6]; x = y(2:3)", (5, 6)),
        ("y = [4 5 6]; x = y(1,3)", (6,)),
        ("y = [4 5 6]; x = [y(end) y(end-1:end) y(max(1, end)) y(:)']", (6, 5, 6, 6, 4, 5, 6)),
        ("x = [4 5 6]; x(end+1) = 7; x(2:3) = 0; x(end) = x(1)", (4, 0, 0, 4)),
        ("x = zeros(3,1); x(:) = 2; x(1:2) = [8 9]; x(:,1) = x", (8, 9, 2)),
        ("y = [1 2]; for i = 1:2\n if y(end) == 2, x(i) = y(i); end\nend", (1, 2)),
        ("clear all; clc, close all\nformat long\nwarning off; x = 1;", (1,)),
        ("disp('x = 3; % no')\nx = 1; # 2\nfprintf('%d\\n', x);\r\n", (1,)),
        ("format = 2; x = format", (2,)),
        ("x = 0;\nif rem(7, 2) ~= 0 && ~(1 > 2)\n x = 1;\nelse\n x = 2;\nend", (1,)),
        ("y = 3; if y == 1, x = 1; elseif y == 3, x = 2; elseif y < 9, x = 4; else, x = 3; end", (2,)),
        ("y = 5; if y == 1\n x = 1;\nelseif (y < 3) || y >= 6\n x = 2;\nelse\n if 1\n x = 3;\n end\nend", (3,)),
        ("x = 1; for i = 1:3\n x = x + 1; if i == 2, return; end\nend\nx = 9;", (3,)),
        ("x = [atan2(1, -1) mod(-1, 3) max(2, 3) ceil(1.2) floor(-1.2) cot(pi/4)]", (3 * np.pi / 4, 2, 3, 2, -2, 1)),
    ],
)
def test_evaluates_matlab(text, value):
    assert read_assignments(text)["x"] == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = 2 3", "line 2: the statement continues with '3'."),
        ("x = y", "the name 'y' has no value."),
        ("al = 1;\nx = all", "line 2: the name 'all' has no value. Did you mean 'al'?"),
        ("x = sin", "the name 'sin' has no value. Write its arguments in parentheses."),
        ("x = system(1)", "unknown function or vector 'system'."),
        ("load inputs", "load needs the file 'inputs', but a string has no directory."),
        (
            "x = load('../inputs.mat')",
            "load has the argument '../inputs.mat'. Expected the name of a .mat file in the same directory",
        ),
        ("load /etc/inputs.mat", "'load' is followed by '/', not by '='."),
        ("x = load('/etc/inputs.mat')", "load has the argument '/etc/inputs.mat'. Expected the name of a .mat file"),
        ("load('a/../../inputs.mat')", "load has the argument 'a/../../inputs.mat'."),
        (r"load('C:\inputs.mat')", "load has the argument 'C:"),
        ("x = y(end)", "the name 'end' has no value."),
        ("x = [1 2 3]; x(1:2) = [1 2 3]", "3 values are assigned to 2 entries of 'x'."),
        ("x = inputs_file.n", "'inputs_file' is not a loaded file. Write inputs_file = load('inputs.mat')."),
        ("[n] = inputs()", "unknown function 'inputs'. No function is available here."),
        ("[q, 3] = trajectory(0)", "expected ']', got '3'."),
        ("x = 'text'", 'expected a value, got "\'".'),
        ('x = "text"', "unexpected character '\"'."),
        ("for i = 1:3", "a block has no 'end'."),
        ("for i = 1:3\nelse\nend", "'else' in a loop without 'if'."),
        ("for i = 1:1e9\nend", "the code needs too many operations."),
        ("for i = 1:900\nfor j = 1:900\nx = i*j;\nend\nend", "the code needs too many operations."),
        ("for i = 1:0:3\nend", "':' of  is not a finite number."),
        ("for i = [1 2]:3\nend", "a range bound or step is a vector."),
        ("if 1, " * 100_000, "a block has no 'end'."),
        ("if 1\n" * 50 + "end\n" * 50, "brackets or blocks are nested deeper than"),
        ("while 1\nend", "'while' is followed by '1', not by '='."),
        ("function x = f(\nx = 1;", "the function header is invalid."),
        ("function x = f()\nx = 1;\nfunction y = g()\ny = 2;", "line 3: a second function begins here."),
        ("x = atan2(1)", "atan2 has 1 arguments. Expected two."),
        ("if x", "the name 'x' has no value."),
        ("x == 1", "'x' is followed by '==', not by '='."),
        ("x = {1}", "unexpected character '{'."),
        ("s.m = 1", "the field 's.m' cannot be assigned."),
        ("x = s.m.n", "unexpected character '.'."),
        ("x = @sin", "unexpected character '@'."),
        ("[a, b] = size(3)", "unknown function 'size'."),
        ("x = [1 2", "expected ',' or ']', got the end of the file."),
        ("x = [1 2)", "expected ',' or ']', got ')'."),
        ("x = (1", "expected ')', got the end of the file."),
        ("x = (1\n+2)", "expected ')', got the end of the line."),
        ("x = 1 +", "expected a value, got the end of the file."),
        ("x = 1/0", "'/' of 1, 0 is not a finite number."),
        ("x = 10^400", "is not a finite number."),
        ("x = 1e300*1e300", "line 1: '*' of 1e+300, 1e+300 is not a finite number."),
        ("x = 1e999", "numeric overflow."),
        ("x = (-8)^(1/3)", "is not a finite number."),
        ("x = log(0)", "'log' of 0 is not a finite number."),
        ("x = [1 2]*[3 4]", "'*' between vectors. Write .* for an elementwise operation."),
        ("x = 1/[3 4]", "'/' between vectors. Write ./ for an elementwise operation."),
        ("x = [1 2] + [1 2 3]", "'+' between vectors of 2 and 3 entries."),
        ("x = [1 2]; y = x(3)", "index out of range: x(3), but 'x' has 2 entries."),
        ("x = [1 2]; y = x(2,2)", "'x' has 2 indices."),
        ("x(0) = 1", "the index of 'x' is 0. Expected a number from 1 to 2000."),
        ("x(1.5) = 1", "the index of 'x' is 1.5."),
        ("x(1e9) = 1", "the index of 'x' is 1e+09."),
        ("x(2) = [1 2]", "2 values are assigned to 1 entries of 'x'. Expected one value, or one for each entry."),
        ("x = zeros(3)", "zeros has 1 sizes, [3]. Expected a vector: zeros(n,1) or zeros(1,n)."),
        ("x = zeros(3,3)", "zeros has 2 sizes, [3, 3]."),
        ("x = zeros(99999,1)", "the index of 'zeros' is 99999."),
        ("x = sin(1, 2)", "sin has 2 arguments. Expected one."),
        ("pi = 3", "'pi' is a predefined name and cannot be assigned."),
        ("end end", "'end' is followed by 'end'."),
        ("x = " + "(" * (MAX_DEPTH + 1) + "1", "brackets or blocks are nested deeper than"),
        ("x = " + "[" * 100_000, "brackets or blocks are nested deeper than"),
        ("x = " + "-" * 100_000 + "1; y = " + "2^" * 500 + "2", "is not a finite number."),
        ("y = ones(1,2000); x = " + "+".join(["y"] * 2000), "the code needs too many operations."),
        ("y = ones(1,2000); x = [y y]", "the vector has more than 2000 entries."),
        ("x = 1" + " " * 1_000_001, "the input is larger than 1000000 characters."),
    ],
)
def test_rejects_unsupported_matlab(text, message):
    with pytest.raises(ModelFileError) as caught:
        read_assignments(text, "inputs.m")
    assert message in str(caught.value)
    assert str(caught.value).startswith("inputs.m")


def test_documented_message_matches_wrong_file():
    with pytest.raises(ModelFileError) as caught:
        read_assignments("n = 1;\nal = 0.3;\ndx = all/2;", "inputs.m")
    assert str(caught.value) == block("text", 1).strip()


@pytest.mark.parametrize("seed", range(150))
def test_damaged_files_raise_only_input_errors(seed):
    random = np.random.default_rng(seed)
    kind = ("matlab", "json", "toml")[seed % 3]
    text = list(block("toml", 2) if kind == "toml" else block(kind))
    for _ in range(int(random.integers(1, 6))):
        at = int(random.integers(len(text)))
        text[at : at + int(random.integers(3))] = random.choice(
            list("0a\"[](){}=%,;.-\n'e9 "), int(random.integers(3))
        ).tolist()
    try:
        model = loads_redysim("".join(text), kind=kind)
    except InputError:
        return
    assert model.bodies
