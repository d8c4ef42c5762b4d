"""Robots in URDF: the resulting models against closed forms and explicit models."""

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.io.urdf._urdf_reader import loads_urdf, read_urdf
from dalembert.mechanics import state_batch
from dalembert.mechanics.state_batch import States
from dalembert.model.elements import Limits
from dalembert.model.joints.fixed import Fixed
from dalembert.model.joints.free import Free
from dalembert.model.joints.planar import Planar
from dalembert.model.joints.prismatic import Prismatic
from dalembert.model.joints.revolute import Revolute
from dalembert.model.loads.joint_friction import JointFriction
from dalembert.model.model import Model
from dalembert.symbolic.floats import real

L1, C1, C2, M1, M2, I1, I2, G = 0.7, 0.3, 0.25, 1.3, 0.8, 0.02, 0.015, 9.81
DAMPING = 0.05

# the moment about y of the first link is ixx, since its inertial axes are rotated by 90 degrees about z
DOUBLE_PENDULUM = f"""<?xml version="1.0"?>
<robot name="double pendulum">
  <link name="ceiling"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 {-C1}" rpy="0 0 {math.pi / 2!r}"/>
      <mass value="{M1}"/>
      <inertia ixx="{I1}" ixy="0" ixz="0" iyy="0.021" iyz="0" izz="0.004"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0 0 {-C2}"/>
      <mass value="{M2}"/>
      <inertia ixx="0.016" ixy="0" ixz="0" iyy="{I2}" iyz="0" izz="0.003"/>
    </inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="ceiling"/>
    <child link="upper"/>
    <axis xyz="0 2 0"/>
  </joint>
  <joint name="elbow" type="revolute">
    <origin xyz="0 0 {-L1}"/>
    <parent link="upper"/>
    <child link="lower"/>
    <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2.5" velocity="3" effort="4"/>
    <dynamics damping="{DAMPING}"/>
  </joint>
</robot>
"""


def mass_matrix(model: Model, q: np.ndarray) -> np.ndarray:
    """M = Σ m BᵀB + Dᵀ I D at one state, from the numerical motion."""
    state = States(q[:, None], np.zeros((len(q), 1)), np.zeros(1))
    M = np.zeros((len(q), len(q)))
    for body in state_batch.motion_at(model, state).bodies:
        B, D, inertia = (as_floats(x) for x in (body.B, body.D, body.inertia))
        M += real(body.mass) * B.T @ B + D.T @ inertia @ D
    return M


def as_floats(entries: np.ndarray) -> np.ndarray:
    return np.array([float(np.squeeze(x)) for x in entries.flat]).reshape(entries.shape)


def frame(model: Model, name: str, **q: float) -> tuple[np.ndarray, np.ndarray]:
    """R and p of a body at coordinates q."""
    starts = zip(model.coordinate_names, model.initial[0], strict=True)
    at = np.array([[q.get(coordinate, start)] for coordinate, start in starts])
    found = state_batch.motion_at(model, States(at, np.zeros_like(at), np.zeros(1))).frames[name]
    return as_floats(found.R), as_floats(found.p)


def links(*names: str, mass: float = 1.0) -> str:
    inertial = f'<inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    return "".join(f'<link name="{name}">{inertial}</link>\n' for name in names)


def joint(name: str, kind: str, parent: str, child: str, inside: str = '<axis xyz="0 0 1"/>') -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>\n'


def robot(*parts: str) -> str:
    return f'<robot name="sample">\n{"".join(parts)}</robot>'


# the double pendulum


def test_double_pendulum_has_its_closed_form():
    model = loads_urdf(DOUBLE_PENDULUM)
    assert model.coordinate_names == ("shoulder", "elbow")
    q, qd = np.array([0.4, -1.1]), np.array([0.7, 1.9])
    c, s = math.cos(q[1]), math.sin(q[1])
    M12 = I2 + M2 * (C2**2 + L1 * C2 * c)
    M = np.array(
        [
            [I1 + I2 + M1 * C1**2 + M2 * (L1**2 + C2**2 + 2 * L1 * C2 * c), M12],
            [M12, I2 + M2 * C2**2],
        ]
    )
    both = M2 * C2 * G * math.sin(q[0] + q[1])
    h = np.array(
        [
            M2 * L1 * C2 * s * (2 * qd[0] * qd[1] + qd[1] ** 2) - (M1 * C1 + M2 * L1) * G * math.sin(q[0]) - both,
            -M2 * L1 * C2 * s * qd[0] ** 2 - both - DAMPING * qd[1],
        ]
    )
    assert np.abs(mass_matrix(model, q) - M).max() < 1e-14
    assert dl.derive(model, "lagrange").accelerations(q, qd) == pytest.approx(np.linalg.solve(M, h), rel=1e-12)


def test_double_pendulum_is_the_model_written_by_hand():
    hand = Model("double pendulum", gravity=(0, 0, -9.81)).coordinates("shoulder", "elbow")
    hand.body(
        "upper",
        joint=hand.revolute((0, 1, 0), "shoulder"),
        mass=M1,
        center=(0, 0, -C1),
        inertia=(0.021, I1, 0.004),
    )
    hand.body(
        "lower",
        parent="upper",
        joint=hand.revolute((0, 1, 0), "elbow", position=(0, 0, -L1)),
        mass=M2,
        center=(0, 0, -C2),
        inertia=(0.016, I2, 0.003),
    )
    hand.joint_friction("lower", viscous=DAMPING)
    read = loads_urdf(DOUBLE_PENDULUM)
    q, qd = np.array([-0.8, 0.3]), np.array([2.0, -0.6])
    expected = dl.derive(hand, "lagrange").accelerations(q, qd)
    assert dl.derive(read, "lagrange").accelerations(q, qd) == pytest.approx(expected, rel=1e-12)
    assert [b.parent for b in read.bodies] == ["world", "upper"]
    assert read.limits == {"elbow": Limits(-2, 2.5, 3, 4)}
    assert read.check() == []


def test_a_file_and_its_content_give_the_same_model(tmp_path):
    path = tmp_path / "pendulum.urdf"
    path.write_text(DOUBLE_PENDULUM, encoding="utf-8")
    read, text = read_urdf(path), loads_urdf(DOUBLE_PENDULUM)
    assert read.bodies == text.bodies
    assert read.loads == text.loads
    assert read.notes == text.notes


# links


def test_inertia_is_rotated_to_link_axes():
    rpy = (0.3, -0.7, 1.2)
    text = robot(
        links("base"),
        f"""<link name="arm"><inertial><origin xyz="1 2 3" rpy="{" ".join(map(str, rpy))}"/><mass value="2"/>
        <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/></inertial></link>""",
        joint("turn", "continuous", "base", "arm"),
    )
    inertia = np.array([[float(x) for x in row] for row in loads_urdf(text).bodies[1].inertia])
    from scipy.spatial.transform import Rotation

    R = Rotation.from_euler("xyz", rpy).as_matrix()
    given = np.array([[1, 0.1, 0.2], [0.1, 1.5, 0.3], [0.2, 0.3, 2]])
    assert np.abs(inertia - R @ given @ R.T).max() < 1e-15
    assert [float(x) for x in loads_urdf(text).bodies[1].center] == [1, 2, 3]


def test_root_with_mass_is_a_body_fixed_to_the_world():
    model = loads_urdf(robot(links("base", "arm"), joint("turn", "continuous", "base", "arm")))
    assert [body.name for body in model.bodies] == ["base", "arm"]
    assert isinstance(model.bodies[0].joints[0], Fixed)
    assert model.bodies[1].parent == "base"


@pytest.mark.parametrize("root", ['<link name="base"/>', links("world")])
def test_root_without_mass_or_named_world_is_omitted(root):
    name = "world" if "world" in root else "base"
    place = '<origin xyz="1 0 0"/><axis xyz="0 0 1"/>'
    model = loads_urdf(robot(root, links("arm"), joint("turn", "continuous", name, "arm", place)))
    assert [(body.name, body.parent) for body in model.bodies] == [("arm", "world")]
    assert any(note.startswith("the root link") and "(line 2)" in note for note in model.notes)
    assert frame(model, "arm")[1].tolist() == [1, 0, 0]


def test_floating_root_moves_by_a_quaternion():
    model = loads_urdf(robot(links("base", "arm"), joint("turn", "continuous", "base", "arm")), floating=True)
    base = ("base_x", "base_y", "base_z", "base_qw", "base_qx", "base_qy", "base_qz")
    assert model.coordinate_names == (*base, "turn")
    assert model.initial[0].tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    assert not model.initial[1].any()
    assert isinstance(model.bodies[0].joints[0], Free)
    half = math.sqrt(0.5)
    R, p = frame(model, "base", base_x=1.0, base_qw=half, base_qz=half)
    assert p.tolist() == [1, 0, 0]
    assert pytest.approx(R) == np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    # a free body falls: every formalism agrees that it does so with g
    q, qd = model.initial
    assert dl.derive(model, "lagrange").accelerations(q, qd)[:3] == pytest.approx([0, 0, -9.81])


def test_reports_links_without_inertial():
    text = robot(links("base", "arm"), '<link name="tool"/>\n', joint("turn", "continuous", "base", "arm"))
    text = text.replace("</robot>", joint("flange", "fixed", "arm", "tool") + "</robot>")
    model = loads_urdf(text)
    assert model.bodies[2].mass == 0
    assert "<inertial> is missing; the link has no mass: 'tool' (line 4)." in model.notes


def test_links_on_fixed_joints_can_be_merged():
    place = '<origin xyz="0 0 2" rpy="0 0 1.5"/>'
    parts = (links("base", "arm", "tool", "tip"), joint("turn", "continuous", "base", "arm"))
    chain = (joint("flange", "fixed", "arm", "tool", place), joint("slide", "prismatic", "tool", "tip"))
    whole, merged = loads_urdf(robot(*parts, *chain)), loads_urdf(robot(*parts, *chain), merge_fixed=True)
    assert [body.name for body in merged.bodies] == ["base", "arm", "tip"]
    arm = merged.bodies[1]
    # two unit masses at a distance of 2: the reduced mass 1/2 times 4 adds to the moments across
    assert float(arm.mass) == 2
    assert [float(x) for x in arm.center] == [0, 0, 1]
    assert [float(arm.inertia[i][i]) for i in range(3)] == pytest.approx([4, 4, 2])
    q = np.array([0.4, 0.7])
    assert np.abs(mass_matrix(whole, q) - mass_matrix(merged, q)).max() < 1e-13
    assert any(note == "links on fixed joints are merged into 'arm': 'tool' (line 4)." for note in merged.notes)
    for found, expected in zip(frame(merged, "tip"), frame(whole, "tip"), strict=True):
        assert np.abs(found - expected).max() < 1e-15


def test_links_fixed_to_the_world_are_not_lost_by_merging():
    model = loads_urdf(
        robot(
            '<link name="world"/>\n',
            links("base", "arm"),
            joint("stand", "fixed", "world", "base"),
            joint("turn", "continuous", "base", "arm"),
        ),
        merge_fixed=True,
    )
    assert [body.name for body in model.bodies] == ["base", "arm"]


# joints


def test_every_kind_of_joint():
    names = ("base", "a", "b", "c", "d", "e", "f")
    kinds = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
    joints = [joint(f"j{i}", kind, *names[i : i + 2]) for i, kind in enumerate(kinds)]
    model = loads_urdf(robot(links(*names), *joints))
    assert [type(body.joints[0]) for body in model.bodies] == [
        Fixed,
        Revolute,
        Revolute,
        Prismatic,
        Fixed,
        Free,
        Planar,
    ]
    free = tuple(f"j4_{key}" for key in ("x", "y", "z", "qw", "qx", "qy", "qz"))
    assert model.coordinate_names == ("j0", "j1", "j2", *free, "j5_x", "j5_y", "j5_angle")
    assert [c.unit for c in model.generalized_coordinates] == [
        "rad",
        "rad",
        "m",
        "m",
        "m",
        "m",
        "",
        "",
        "",
        "",
        "m",
        "m",
        "rad",
    ]
    assert model.initial[0][6] == 1.0


def test_axis_is_normalized_and_defaults_to_x():
    text = robot(
        links("base", "a", "b"),
        joint("slant", "continuous", "base", "a", '<axis xyz="3 0 4"/>'),
        joint("plain", "continuous", "a", "b", ""),
    )
    model = loads_urdf(text)
    assert model.bodies[1].joints[0] == model.revolute((0.6, 0, 0.8), "slant")
    assert model.bodies[2].joints[0] == model.revolute((1, 0, 0), "plain")
    assert any("<axis> is missing; the x axis is used" in note and "'plain' (line 6)" in note for note in model.notes)


def test_limits_of_speed_and_effort_alone_and_without_end():
    inside = '<axis xyz="0 0 1"/><limit {}/>'
    cases = {
        'lower="-1" upper="2" velocity="3" effort="4"': Limits(-1, 2, 3, 4),
        'velocity="3" effort="4"': Limits(None, None, 3, 4),
        'upper="2" velocity="inf" effort="1e300"': Limits(0, 2, None, None),
    }
    for given, expected in cases.items():
        model = loads_urdf(robot(links("base", "a"), joint("j", "revolute", "base", "a", inside.format(given))))
        assert model.limits["j"] == expected


def test_friction_is_read_or_ignored_with_a_note():
    inside = '<axis xyz="0 0 1"/><dynamics damping="0.4" friction="0.3"/>'
    text = robot(links("base", "a"), joint("j", "continuous", "base", "a", inside))
    (load,) = loads_urdf(text).loads
    assert isinstance(load, JointFriction)
    assert (load.body, float(load.viscous), float(load.coulomb[0])) == ("a", 0.4, 0.3)
    without = loads_urdf(text, friction=False)
    assert without.loads == ()
    assert "damping and friction are ignored because of friction=False: joint 'j' (line 4)." in without.notes


def test_mimic_joints_become_constraints():
    follow = '<axis xyz="0 0 1"/><mimic joint="{}" multiplier="{}" offset="{}"/>'
    text = robot(
        links("base", "a", "b", "c"),
        joint("third", "continuous", "b", "c", follow.format("second", -1, 0)),
        joint("second", "continuous", "a", "b", follow.format("first", 2, 0.5)),
        joint("first", "continuous", "base", "a"),
    )
    model = loads_urdf(text)
    assert model.coordinate_names == ("first", "second", "third")
    assert {c.name: c.phi for c in model.holonomic_constraints} == {
        "mimic of second": model.formula("second - 2*first - 0.5"),
        "mimic of third": model.formula("third + second"),
    }
    assert model.initial[0].tolist() == [0, 0.5, -0.5]
    assert model.check() == []
    assert dl.mobility(model).degrees_of_freedom == 1


# shapes


def test_shapes_and_their_colors():
    text = """<robot name="painted">
    <material name="red"><color rgba="1 0 0 1"/></material>
    <link name="base">
      <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
      <visual><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry><box size="1 2 3"/></geometry>
        <material name="red"/></visual>
      <visual><geometry><cylinder radius="0.1" length="2"/></geometry>
        <material name="blue"><color rgba="0 0 1 0.5"/></material></visual>
      <visual><geometry><sphere radius="0.2"/></geometry><material name="blue"/></visual>
      <visual><geometry><capsule radius="0.3" length="1"/></geometry></visual>
      <visual><geometry><mesh filename="package://p/a.stl" scale="1 1 2"/></geometry><material name="no"/></visual>
      <visual><geometry><torus/></geometry></visual>
    </link>
    </robot>"""
    model = loads_urdf(text)
    red, blue = (1, 0, 0, 1), (0, 0, 1, 0.5)
    assert [(s.kind, s.size, s.color) for s in model.shapes] == [
        ("box", (1, 2, 3), red),
        ("cylinder", (0.1, 2), blue),
        ("sphere", (0.2,), blue),
        ("capsule", (0.3, 1), None),
        ("mesh", (1, 1, 2), None),
    ]
    assert model.shapes[0].position == (1, 2, 3)
    assert model.shapes[0].rotation == (0.1, 0.2, 0.3)
    assert model.shapes[4].mesh == "package://p/a.stl"
    assert "a material is not defined; the shape has no color: 'no' (line 11)." in model.notes
    assert "shape <torus> is not used, it cannot be drawn: line 12." in model.notes


def test_reports_missing_mesh_files(tmp_path):
    folder = tmp_path / "arm_description" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "arm_description" / "here.stl").write_text("")
    (folder / "beside.stl").write_text("")
    names = ("package://arm_description/here.stl", "beside.stl", "package://arm_description/gone.stl", "http://x/y.stl")
    visuals = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>\n' for name in names)
    text = robot(links("base").replace("</link>", f"{visuals}</link>"))
    path = folder / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    (note,) = [note for note in read_urdf(path).notes if "mesh" in note]
    assert "not found (2 times): 'package://arm_description/gone.stl' (line 4), 'http://x/y.stl' (line 5)" in note
    assert not any("mesh" in note for note in loads_urdf(text).notes)


# names and unused content


def test_names_become_identifiers_and_clashes_are_resolved():
    text = robot(
        links("base", "left arm", "left_arm", "world", "t"),
        joint("joint 1", "continuous", "base", "left arm"),
        joint("joint_1", "continuous", "left arm", "left_arm"),
        joint("sin", "continuous", "left_arm", "world"),
        joint("2nd", "continuous", "world", "t"),
    )
    model = loads_urdf(text)
    assert [body.name for body in model.bodies] == ["base", "left_arm_2", "left_arm", "link_world", "link_t"]
    assert model.coordinate_names == ("joint_1_2", "joint_1", "joint_sin", "joint_2nd")
    notes = "\n".join(model.notes)
    assert "left_arm_2 for link 'left arm' (line 3)" in notes
    assert "joint_1_2 for joint 'joint 1' (line 7)" in notes
    assert model.check() == []


def test_names_of_the_floating_base_come_before_those_of_joints():
    text = robot(links("root", "arm"), joint("base_x", "continuous", "root", "arm"))
    model = loads_urdf(text, floating=True)
    assert model.coordinate_names[0] == "base_x"
    assert model.coordinate_names[-1] == "base_x_2"
    assert any("base_x_2 for joint 'base_x'" in note for note in model.notes)


def test_reports_unused_content_with_lines():
    text = robot(
        links("base", "arm"),
        joint("turn", "continuous", "base", "arm"),
        '<transmission name="a"/>\n<transmission name="b"/>\n<gazebo/>\n<sensor name="c"/>\n<strange/>\n',
    ).replace("<inertial>", "<collision/><inertial>")
    notes = loads_urdf(text).notes
    assert (
        "element <transmission> is not used, add drives with model.actuator and model.rotor (2 times): lines 5, 6."
        in notes
    )
    assert "element <gazebo> is not used, it contains settings of another program: line 7." in notes
    assert "element <sensor> is not used, sensors are not part of the equations: line 8." in notes
    assert "element <strange> is not used, it is unknown: line 9." in notes
    assert "element <collision> is not used, it is not needed for the equations (2 times): lines 2, 3." in notes
    assert len(notes) == 5


def test_gravity_points_down():
    assert [float(g) for g in loads_urdf(DOUBLE_PENDULUM).gravity] == [0, 0, -9.81]
