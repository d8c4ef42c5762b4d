"""Denavit–Hartenberg tables, in TOML and CSV: frames, torques, drives, and messages for invalid tables."""

import json
import math
import re
from functools import reduce
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import dalembert as dl
from dalembert.errors import InputError, ModelFileError
from dalembert.io._robot_csv import COLUMNS, loads_csv, read_csv
from dalembert.io.file_formats import loads, read
from dalembert.io.robot_rows import LINK, loads_dh, read_dh
from dalembert.mechanics.energies import mass_matrix, potential
from dalembert.mechanics.motion import move
from dalembert.model.loads.joint_friction import JointFriction
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.floats import FLOATS, number

PAGE = (Path(__file__).parents[2] / "docs" / "robot-tables.md").read_text(encoding="utf-8")
PUMA = json.loads((Path(__file__).parents[1] / "papers" / "puma560_dh.json").read_text(encoding="utf-8"))
HEAD = 'convention = "dh"\nname = "arm"\ngravity = [0, 0, -9.81]\n'


def motion(model, q, qd=None):
    qd = np.zeros(len(q)) if qd is None else qd
    return move(model, FLOATS, 0.0, vector(list(q)), vector(list(qd)), dict(model.parameter_values))


def rotation(axis, angle):
    i, j = {"x": (1, 2), "z": (0, 1)}[axis]
    out = np.eye(4)
    out[i, i] = out[j, j] = math.cos(angle)
    out[i, j], out[j, i] = -math.sin(angle), math.sin(angle)
    return out


def shift(x, z):
    out = np.eye(4)
    out[0, 3], out[2, 3] = x, z
    return out


def step(convention, theta, d, a, alpha):
    if convention == "dh":
        return reduce(np.matmul, [rotation("z", theta), shift(0, d), shift(a, 0), rotation("x", alpha)])
    return reduce(np.matmul, [rotation("x", alpha), shift(a, 0), rotation("z", theta), shift(0, d)])


def random_table(seed, unit):
    """Links with random numbers and parents, some of them zero."""
    random = np.random.default_rng(seed)
    links = []
    for i in range(6):
        theta, d, a, alpha = np.round(random.uniform(-2, 2, 4) * random.integers(0, 2, 4), 3).tolist()
        kind = ("revolute", "revolute", "prismatic", "fixed")[int(random.integers(4))]
        parent = ["world", *(link["name"] for link in links)][int(random.integers(i + 1))]
        links.append({"name": f"l{i}", "type": kind, "theta": theta, "d": d, "a": a, "alpha": alpha, "parent": parent})
    scale = 180 / math.pi if unit == "deg" else 1
    rows = [
        "[[link]]\n"
        + "".join(f"{key} = {value * scale if key in ('theta', 'alpha') else value!r}\n" for key, value in link.items())
        for link in links
    ]
    return links, "\n".join(rows).replace("'", '"')


@pytest.mark.parametrize("unit", ["rad", "deg"])
@pytest.mark.parametrize("convention", ["dh", "mdh"])
@pytest.mark.parametrize("seed", range(8))
def test_frames_are_products_of_the_steps(seed, convention, unit):
    links, rows = random_table(seed, unit)
    model = loads_dh(f'convention = "{convention}"\nunit = "{unit}"\nname = "tree"\n{rows}')
    moving = [link for link in links if link["type"] != "fixed"]
    assert model.coordinate_names == tuple(f"q{i + 1}" for i in range(len(moving)))
    q = np.random.default_rng(seed + 100).uniform(-1, 1, len(moving))
    values = dict(zip((link["name"] for link in moving), q, strict=True))
    found, known = motion(model, q), {"world": np.eye(4)}
    for link in links:
        x = values.get(link["name"], 0.0)
        theta = link["theta"] + (x if link["type"] == "revolute" else 0)
        d = link["d"] + (x if link["type"] == "prismatic" else 0)
        T = known[link["name"]] = known[link["parent"]] @ step(convention, theta, d, link["a"], link["alpha"])
        frame = found.body(link["name"]).frame
        np.testing.assert_allclose(frame.R.astype(float), T[:3, :3], atol=1e-13)
        np.testing.assert_allclose(frame.p.astype(float), T[:3, 3], atol=1e-13)


# PUMA 560


def puma_table(**keys) -> str:
    rows = []
    for i, link in enumerate(PUMA["links"]):
        coulomb = (link["Tc"][0] - link["Tc"][1]) / 2
        rows.append(
            f'[[link]]\nname = "link{i + 1}"\ntheta = {link["theta"]!r}\nd = {link["d"]!r}\na = {link["a"]!r}\n'
            f"alpha = {link['alpha']!r}\nmass = {link['m']!r}\ncenter = {link['r']}\ninertia = {link['I']}\n"
            f"motor = {{ inertia = {link['Jm']!r}, ratio = {link['G']!r} }}\n"
            f'friction = {{ viscous = {link["B"]!r}, coulomb = {coulomb!r}, side = "motor" }}\n'
        )
    return HEAD + "".join(rows)


def puma_torques(q, qd, qdd) -> np.ndarray:
    """Newton–Euler recursion in world axes for a standard Denavit–Hartenberg table; rotors included."""
    T = np.eye(4)
    w = dw = np.zeros(3)
    a = -np.array(PUMA["gravity"])
    axes, forces, moments = [], [], []
    for link, x, v, acc in zip(PUMA["links"], q, qd, qdd, strict=True):
        z, origin = T[:3, 2], T[:3, 3]
        w, dw = w + z * v, dw + z * acc + np.cross(w, z * v)
        T = T @ step("dh", x + link["theta"], link["d"], link["a"], link["alpha"])

        def there(point, a=a, w=w, dw=dw, origin=origin):
            return a + np.cross(dw, point - origin) + np.cross(w, np.cross(w, point - origin))

        center = T[:3, 3] + T[:3, :3] @ link["r"]
        inertia = T[:3, :3] @ np.array(link["I"]) @ T[:3, :3].T
        force = link["m"] * there(center)
        axes.append((z, origin))
        forces.append(force)
        moments.append(inertia @ dw + np.cross(w, inertia @ w) + np.cross(center, force))
        a = there(T[:3, 3])
    tau = [z @ (sum(moments[i:]) - np.cross(origin, sum(forces[i:]))) for i, (z, origin) in enumerate(axes)]
    return np.array(tau) + [link["Jm"] * link["G"] ** 2 * acc for link, acc in zip(PUMA["links"], qdd, strict=True)]


def lagrange_torques(model, q, qd, qdd) -> np.ndarray:
    """M q̈ + Ṁ q̇ − ∂T/∂q + ∂V/∂q from the model's mass matrix and potential, derivatives by complex steps."""
    h, n = 1e-30, len(q)

    def M(q) -> npt.NDArray[np.complex128]:
        return mass_matrix(motion(model, q)).astype(complex)

    Md = M(q + 1j * h * qd).imag / h
    pull = np.empty(n)
    for i, e in enumerate(np.eye(n)):
        near = q + 1j * h * e
        pull[i] = (np.imag(number(potential(motion(model, near)))) - 0.5 * (qd @ M(near) @ qd).imag) / h
    return M(q).real @ qdd + Md @ qd + pull


@pytest.mark.parametrize("seed", range(5))
def test_puma_torques_match_newton_euler(seed):
    q, qd, qdd = np.random.default_rng(seed).uniform(-2, 2, (3, 6))
    model = loads_dh(puma_table())
    np.testing.assert_allclose(lagrange_torques(model, q, qd, qdd), puma_torques(q, qd, qdd), rtol=1e-12, atol=1e-12)


def test_puma_rotors_and_friction_on_the_joint_side():
    model = loads_dh(puma_table())
    for link, rotor, friction in zip(PUMA["links"], model.rotors, model.loads, strict=True):
        assert isinstance(friction, JointFriction)
        assert (float(rotor.inertia), float(rotor.ratio)) == (link["Jm"], link["G"])
        assert float(friction.viscous) == pytest.approx(link["B"] * link["G"] ** 2)
        assert float(friction.coulomb[0]) == pytest.approx((link["Tc"][0] - link["Tc"][1]) / 2 * abs(link["G"]))


# drives


ROD = '[[link]]\nname = "rod"\na = 0.5\nmass = 2\ncenter = [-0.25, 0, 0]\ninertia = [0, 0, 0.04]\n'


def test_rotor_and_friction_enter_the_equation():
    # J q̈ = −b q̇ − c q̇/√(q̇² + ε²), weightless, with the rotor in J
    drive = "motor = { inertia = 0.01, ratio = -10 }\n"
    drive += 'friction = { viscous = 0.002, coulomb = 0.03, smoothing = 0.5, side = "motor" }'
    model = loads_dh('convention = "dh"\nname = "rod"\n' + ROD + drive)
    rate = 0.7
    friction = 0.2 * rate + 0.3 * rate / math.hypot(rate, 0.05)
    found = dl.derive(model, "lagrange").accelerations([0.3], [rate])
    assert found == pytest.approx([-friction / (0.04 + 2 * 0.25**2 + 1.0)], rel=1e-13)
    assert model.notes == ("no gravity is defined; it is zero.",)


def test_friction_is_on_the_joint_side_by_default():
    model = loads_dh(HEAD + ROD + "motor = { inertia = 0, ratio = 50 }\nfriction = { viscous = 0.1, coulomb = 0.2 }")
    (friction,) = model.loads
    assert isinstance(friction, JointFriction)
    assert [float(x) for x in (friction.viscous, friction.coulomb[0], friction.smoothing)] == [0.1, 0.2, 1e-3]
    assert model.rotors == ()


def test_drives_may_be_formulas():
    text = HEAD + "[parameters]\nN = -30\nb = 0.01\n" + ROD
    text += 'motor = { inertia = "b/10", ratio = "N" }\n'
    text += 'friction = { viscous = "b", coulomb = 0.2, smoothing = 0.3, side = "motor" }'
    model = loads_dh(text)
    (friction,), values = model.loads, {"N": -30.0, "b": 0.01}
    assert isinstance(friction, JointFriction)
    found = [float(x.subs(values)) for x in (friction.viscous, friction.coulomb[0], friction.smoothing)]
    assert found == pytest.approx([9.0, 6.0, 0.01])


def test_degrees_apply_to_all_angles():
    text = (
        HEAD
        + 'unit = "deg"\n'
        + ROD
        + "start = 30\nrate = 90\nlimits = { lower = -90, upper = 90, velocity = 180, effort = 5 }\n"
    )
    text += '[[link]]\nname = "slide"\ntype = "prismatic"\nstart = 0.3\nlimits = { upper = 0.5 }\nalpha = "45*2"\n'
    model = loads_dh(text)
    np.testing.assert_allclose(model.initial, [[math.pi / 6, 0.3], [math.pi / 2, 0]])
    turn, slide = model.limits["q1"], model.limits["q2"]
    assert (turn.lower, turn.upper, turn.velocity, turn.effort) == (-math.pi / 2, math.pi / 2, math.pi, 5)
    assert (slide.lower, slide.upper) == (None, 0.5)


def test_other_sections_are_those_of_model_files():
    text = HEAD + '[parameters]\nk = 3\n[coordinates]\nq1 = { description = "the angle", start = 0.2 }\nx = {}\n' + ROD
    text += '[[body]]\nname = "cart"\nparent = "rod"\nmass = 1\n'
    text += 'joint = { type = "prismatic", axis = [1, 0, 0], displacement = "x" }\n'
    text += '[[joint_torque]]\nbody = "rod"\nvalue = "-k*q1"\n[[holonomic]]\nformula = "x - q1/10"\n'
    text += "[simulation]\nduration = 3\n"
    model = loads_dh(text)
    assert model.coordinate_names == ("q1", "x")
    assert (model.generalized_coordinates[0].description, model.generalized_coordinates[0].unit) == ("the angle", "rad")
    assert [body.name for body in model.bodies] == ["rod", "cart"]
    assert model.duration == 3
    assert model.constraint_names == ("holonomic1",)


def test_a_loop_closes_a_table():
    # a parallelogram: crank and rocker stay parallel, as long as it does not pass the position where all bars are in line
    text = 'convention = "mdh"\nname = "parallelogram"\ngravity = [0, -9.81, 0]\n'
    for name, parent, a, start in (
        ("crank", "world", 0, 0.4),
        ("coupler", "crank", 1, -0.4),
        ("rocker", "world", 2, 0.4),
    ):
        text += f'[[link]]\nname = "{name}"\nparent = "{parent}"\na = {a}\nmass = 1\ninertia = [0, 0, 0.1]\nstart = {start}\n'
    text += '[[loop]]\nname = "pin"\nbodies = ["coupler", "rocker"]\nposition = [1, 0, 0]\n'
    text += 'joint = { type = "revolute", axis = [0, 0, 1], position = [2, 0, 0] }\n'
    run = dl.derive(loads_dh(text), "lagrange").simulate(0.25, samples=6)
    np.testing.assert_allclose(run.q[0], run.q[2], atol=1e-10)
    assert abs(run.q[0, -1] - run.q[0, 0]) > 0.05


# the page


BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def block(kind, place=0):
    return [text for name, text in BLOCKS if name == kind][place]


def test_both_conventions_of_the_page_are_the_same_arm():
    standard, modified = loads_dh(block("toml", 0)), loads_dh(block("toml", 1))
    assert (standard.check(), modified.check()) == ([], [])
    q, qd = np.array([0.4, -1.1]), np.array([1.3, 0.8])
    found = [dl.derive(model, "lagrange").accelerations(q, qd) for model in (standard, modified)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)


def test_csv_of_the_page_is_valid():
    model = loads_csv(block("csv"))
    assert model.check() == []
    assert model.name == "scara"
    assert [body.joints[0].kind for body in model.bodies] == ["revolute", "revolute", "prismatic"]
    assert model.limits["q1"].upper == pytest.approx(math.radians(130))
    assert model.limits["q3"].upper == 0.15
    assert [rotor.body for rotor in model.rotors] == ["inner", "outer"]
    assert [float(x) for x in model.gravity] == [0, 0, -9.81]
    # the quill points down: sliding out lowers it
    low, high = (motion(model, [0.2, 0.3, d]).body("quill").frame.p.astype(float) for d in (0.1, 0.0))
    np.testing.assert_allclose(high - low, [0, 0, 0.1], atol=1e-15)


def test_every_key_and_column_is_documented():
    table = PAGE[PAGE.index("### `[[link]]`") :]
    for key in LINK:
        assert f"| `{key}` |" in table, key
    for column in COLUMNS:
        assert f"`{column}`" in PAGE, column


def test_documented_message_matches_invalid_file():
    text = "# convention = dh\nname,theta,d,a,alpha,mass\nx,0,0,0,0,1\na,0,0,1,0,heavy\nb,0,0,0,0\nc,0,0,nan,0,1\n"
    with pytest.raises(ModelFileError) as caught:
        loads_csv(text, "arm.csv")
    assert str(caught.value) == block("text").strip()


# CSV


def test_csv_and_toml_give_the_same_model(tmp_path):
    path = tmp_path / "arm.csv"
    path.write_text(
        "# convention = dh\n# gravity = [0, 0, -9.81]\n\n"
        'IZZ,Joint,a,D,Alpha,theta,type,mass,cx,"parent",gear_ratio,Coulomb\n'
        "0.04,rod,0.5,0,pi/2,0,,2,-0.25,world,,\n0.1,end,0,0.2,-pi/2,0.3,prismatic,1,,rod,5,2\n"
    )
    toml = tmp_path / "arm.toml"
    toml.write_text(
        HEAD
        + ROD
        + 'alpha = "pi/2"\n[[link]]\nname = "end"\ntype = "prismatic"\nd = 0.2\nalpha = "-pi/2"\ntheta = 0.3\n'
        "mass = 1\ninertia = [0, 0, 0.1]\nfriction = { coulomb = 2 }\n"
    )
    first, second = read_csv(path), read_dh(toml)
    assert first.name == "arm"
    assert first.coordinate_names == second.coordinate_names
    q, qd = np.array([0.4, 0.7]), np.array([1.0, -2.0])
    found = [dl.derive(model, "lagrange").accelerations(q, qd) for model in (first, second)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
    assert read(path).name == "arm"
    assert read(toml).name == "arm"


GOOD = "name,theta,d,a,alpha\nrod,0,0,1,0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file contains no table."),
        ("\n# convention = dh\n\n", "the file contains no table."),
        ("# convention = dh\nname,theta,d,a,alpha\n", "there are no links below the header."),
        (GOOD, "the setting 'convention' is missing."),
        ("# convention = craig\n" + GOOD, "line 1, convention: there is no convention 'craig'. Expected dh or mdh."),
        ("# convention = dh\n# unit = turns\n" + GOOD, "line 2, unit: there is no unit 'turns'."),
        ("# convention = dh\n# gravitiy = 0 0 1\n" + GOOD, "there is no setting 'gravitiy'. Did you mean 'gravity'?"),
        ("# convention = dh\n# gravity = 0 1\n" + GOOD, "line 2: gravity has 2 components."),
        ("# convention = dh\n# gravity = 0 0 down\n" + GOOD, "line 2, column 'setting gravity': got 'down'."),
        (
            "# convention = dh\nname,theta,d,a,alfa\n",
            "line 2, column 'alfa': there is no such column. Did you mean 'alpha'?",
        ),
        ("# convention = dh\nname,theta,d,a\nx,0,0,0\n", "line 2, column 'alpha': the column is missing."),
        ("# convention = dh\nname,theta,d,a,alpha,A\nx,0,0,0,0,0\n", "line 2, column 'A': duplicate column."),
        ("# convention = dh\nname;theta;d;a;alpha\n", "Separate the columns by commas."),
        (
            "# convention = dh\nname,theta,d,a,alpha\nx,0,0,0\n",
            "line 3: there are 4 cells. Expected 5, as in the header.",
        ),
        ("# convention = dh\nname,theta,d,a,alpha\nx,0,0,inf,0\n", "line 3, column 'a': got 'inf'."),
        ("# convention = dh\nname,theta,d,a,alpha\nx,0,0,1/0,0\n", "line 3, column 'a': got '1/0'."),
        ("# convention = dh\nname,theta,d,a,alpha\nx,0,0,sqrt(-1),0\n", "line 3, column 'a': got 'sqrt(-1)'."),
        ("# convention = dh\nname,theta,d,a,alpha\nx,0,0,__import__('os'),0\n", "line 3, column 'a'"),
        ("# convention = dh\nname,theta,d,a,alpha\n,0,0,1,0\n", "line 3, column 'name': the link has no name."),
        (
            "# convention = dh\nname,theta,d,a,alpha\nx,0,0,1,0\nx,0,0,1,0\n",
            "line 4, column 'name': the name 'x' is already used in line 3.",
        ),
        (
            "# convention = dh\nname,theta,d,a,alpha,parent\nx,0,0,1,0,y\n",
            "line 3, column 'parent': there is no link 'y'.",
        ),
        ("# convention = dh\nname,theta,d,a,alpha,type\nx,0,0,1,0,ball\n", "there is no joint of type 'ball'."),
        ('# convention = dh\nname,theta,d,a,alpha\n"x,0,0,1,0\n', "line 3: not valid CSV"),
        ("# convention = dh\nname,theta,d,a,alpha,lower,upper\nx,0,0,1,0,2,1\n", "lower is 2 and upper is 1."),
        ("# convention = dh\nname,theta,d,a,alpha,type,lower\nx,0,0,1,0,F,2\n", "a fixed link cannot move."),
    ],
)
def test_reports_line_of_csv_problems(text, message):
    with pytest.raises(ModelFileError) as caught:
        loads_csv(text, "arm.csv")
    assert message in str(caught.value)
    assert str(caught.value).startswith("arm.csv")


def test_rejects_too_many_links():
    rows = "\n".join(f"l{i},0,0,1,0" for i in range(2001))
    with pytest.raises(ModelFileError, match="line 2003: too many links"):
        loads_csv("# convention = dh\nname,theta,d,a,alpha\n" + rows, "arm.csv")
    links = "\n".join(f'[[link]]\nname = "l{i}"' for i in range(2001))
    with pytest.raises(ModelFileError, match="the file has 2001 links"):
        loads_dh(HEAD + links)


# problems of TOML tables


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROD, "the key 'convention' is missing."),
        ('convention = "craig"\n' + ROD, "there is no convention 'craig'. Expected dh or mdh."),
        ("convention = 3\n" + ROD, "there is no convention 3."),
        (HEAD + 'unit = "degrees"\n' + ROD, "there is no unit 'degrees'. Expected rad or deg."),
        (HEAD, "the file has no links."),
        (HEAD + "[link]\nname = 'x'\n", "the file has no links. Add a table [[link]] for each row."),
        (HEAD + "link = [1]\n[coordinates]\nq1.start = 1\n", "link number 1: got the number 1. Expected a table"),
        ('convention = "dh"\n' + ROD, "model file: the key 'name' is missing."),
        (HEAD + "links = 3\n" + ROD, "there is no key or section 'links'. Did you mean 'link'?"),
        (HEAD + "[[link]]\na = 1\n", "link number 1: the key 'name' is missing."),
        (HEAD + ROD + "alfa = 1\n", "link 'rod': there is no key 'alfa' here. Did you mean 'alpha'?"),
        (HEAD + ROD + "theta = true\n", "link 'rod', theta: got true."),
        (HEAD + ROD + 'theta = "q1"\n', "link 'rod', theta: 'q1' depends on q1."),
        (HEAD + ROD + 'theta = "x"\n', "link 'rod', theta: formula 'x', column 1: the name 'x' is not known here."),
        (HEAD + ROD + "theta = nan\n", "link 'rod', theta: the value nan"),
        (HEAD + ROD + 'type = "hinge"\n', "link 'rod', type: unknown value 'hinge'."),
        (HEAD + ROD + 'parent = "rot"\n', "link 'rod', parent: there is no link or body 'rot'."),
        (HEAD + ROD + ROD, "body 'rod': declared twice."),
        (HEAD + ROD + 'coordinate = "t"\n', "coordinate 't': invalid name."),
        (
            HEAD + ROD + '[[link]]\nname = "b"\ncoordinate = "q1"\n',
            "the coordinate 'q1' is already used by link 'rod'.",
        ),
        (
            HEAD + "coordinates.q1 = { start = 1 }\n" + ROD + "start = 2\n",
            "link 'rod', start: the value is defined twice.",
        ),
        (HEAD + ROD + 'type = "fixed"\nrate = 2\n', "link 'rod', rate: a fixed link cannot move."),
        (HEAD + ROD + "motor = 3\n", "link 'rod', motor: got the number 3."),
        (HEAD + ROD + "motor = { ratio = 3 }\n", "link 'rod', motor: the key 'inertia' is missing."),
        (HEAD + ROD + 'friction = { side = "left" }\n', "link 'rod', friction, side: unknown value 'left'."),
        (HEAD + ROD + 'friction = { side = "motor" }\n', "it is specified at the motor, but the motor has no ratio."),
        (
            HEAD + ROD + "motor = { inertia = 1, ratio = 0 }\n",
            "link 'rod', motor: the gear ratio is 0. Expected motor revolutions",
        ),
        (HEAD + ROD + "limits = { lower = 1, upper = 0 }\n", "link 'rod', limits: lower is 1 and upper is 0."),
        (HEAD + ROD + "[[spring]]\nstiffness = 3\n", "spring number 1: the key 'bodies' is missing."),
    ],
)
def test_reports_element_of_table_problems(text, message):
    with pytest.raises(ModelFileError) as caught:
        loads_dh(text, "arm.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("arm.toml")


def test_reports_all_problems():
    with pytest.raises(ModelFileError) as caught:
        loads_dh(HEAD + ROD + 'mas = 1\n[[link]]\nname = "b"\nalpha = "x"\n[[spring]]\nstiffness = 3\n')
    assert len(caught.value.problems) == 3


def test_the_convention_chooses_the_importer():
    assert loads(HEAD + ROD).coordinate_names == ("q1",)
    assert loads('name = "nothing"').bodies == ()
    with pytest.raises(ModelFileError, match="there is no convention 'mhd'"):
        loads('convention = "mhd"', "x.toml")


def test_inconsistent_inertias_of_published_robots_are_notes():
    model = loads_dh(puma_table())
    (problem,) = model.check()
    assert "violate the triangle inequality" in problem.fact
    assert not problem.blocking


@pytest.mark.parametrize("seed", range(150))
def test_damaged_files_raise_only_input_errors(seed):
    random = np.random.default_rng(seed)
    source = [puma_table(), block("toml", 1), block("csv")][seed % 3]
    text = list(source)
    for _ in range(int(random.integers(1, 6))):
        at = int(random.integers(len(text)))
        text[at : at + int(random.integers(3))] = random.choice(
            list("0a\"[]{}=#,.-\n'e9"), int(random.integers(3))
        ).tolist()
    try:
        model = loads_csv("".join(text)) if seed % 3 == 2 else loads_dh("".join(text))
    except InputError:
        return
    assert model.bodies
