"""Invalid URDF files: all problems are reported with their lines, in bounded time and memory."""

import os

import pytest

from dalembert.errors import ModelFileError
from dalembert.io.urdf._urdf_reader import loads_urdf, read_urdf

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
# one line for each element, so that lines are easy to count
SOUND = f"""<robot name="sample">
<link name="base">{INERTIAL}</link>
<link name="arm">
  <inertial>
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
  </inertial>
  <visual>
    <geometry><box size="1 1 1"/></geometry>
  </visual>
</link>
<joint name="turn" type="revolute">
  <origin xyz="0 0 1"/>
  <parent link="base"/>
  <child link="arm"/>
  <axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/>
  <dynamics damping="0.1"/>
</joint>
</robot>
"""


def problems(text: str, **options) -> list[str]:
    with pytest.raises(ModelFileError) as caught:
        loads_urdf(text, "sample.urdf", **options)
    shown = [str(problem) for problem in caught.value.problems]
    assert all(line.startswith("sample.urdf") for line in shown)
    assert all(line in str(caught.value) for line in shown)
    return shown


def test_base_document_is_valid():
    model = loads_urdf(SOUND)
    assert model.coordinate_names == ("turn",)
    assert model.notes == ()


WRONG = [
    # numbers
    (
        '<mass value="2"/>',
        '<mass value="heavy"/>',
        "line 6, link 'arm', inertial, mass: value is 'heavy'. Expected a finite number.",
    ),
    (
        '<mass value="2"/>',
        '<mass value="nan"/>',
        "line 6, link 'arm', inertial, mass: value is 'nan'. Expected a finite number.",
    ),
    (
        '<mass value="2"/>',
        '<mass value="1e999"/>',
        "line 6, link 'arm', inertial, mass: value is '1e999'. Expected a finite number.",
    ),
    (
        '<mass value="2"/>',
        '<mass value="1_0"/>',
        "line 6, link 'arm', inertial, mass: value is '1_0'. Expected a finite number.",
    ),
    (
        '<mass value="2"/>',
        '<mass value="-2"/>',
        "line 6, link 'arm', inertial, mass: value is -2. Expected a number >= 0.",
    ),
    ('<mass value="2"/>', "<mass/>", "line 6, link 'arm', inertial, mass: the attribute 'value' is missing."),
    ('<mass value="2"/>', "", "line 4, link 'arm', inertial: the mass is missing."),
    (
        'izz="1"/>\n  </inertial>',
        "/>\n  </inertial>",
        "line 7, link 'arm', inertial, inertia: the attribute 'izz' is missing.",
    ),
    (
        'xyz="0 0 1" rpy',
        'xyz="0 1" rpy',
        "line 5, link 'arm', inertial, origin: xyz is '0 1'. Expected 3 finite numbers",
    ),
    (
        'rpy="0 0 0"',
        'rpy="0 0 inf"',
        "line 5, link 'arm', inertial, origin: rpy is '0 0 inf'. Expected 3 finite numbers",
    ),
    ('rpy="0 0 0"', 'rpy="0 0 ٣"', "line 5, link 'arm', inertial, origin: rpy is '0 0 ٣'. Expected 3 finite numbers"),
    (
        '<axis xyz="0 0 1"/>',
        '<axis xyz="0 0 0"/>',
        "line 17, joint 'turn', axis: the axis has length 0. Expected a direction",
    ),
    ('lower="-1"', 'lower="2"', "line 18, joint 'turn', limit: the lower limit 2 is above the upper limit 1."),
    ('lower="-1"', 'lower="low"', "line 18, joint 'turn', limit: lower is 'low'. Expected a finite number."),
    ('damping="0.1"', 'damping="-1"', "line 19, joint 'turn', dynamics: damping is -1. Expected a number >= 0."),
    ('size="1 1 1"', 'size="1 1"', "line 10, link 'arm', visual, box: size is '1 1'. Expected 3 finite numbers"),
    ('size="1 1 1"', 'size="1 -1 1"', "line 10, link 'arm', visual, box: an edge has the length -1."),
    ('<box size="1 1 1"/>', "<mesh/>", "line 10, link 'arm', visual, mesh: the attribute 'filename' is missing"),
    ('<box size="1 1 1"/>', "", "line 9, link 'arm', visual: the geometry is missing."),
    # masses
    (
        'izz="1"/>\n  </inertial>',
        'izz="10"/>\n  </inertial>',
        "line 7, link 'arm', inertia: the principal moments 1, 1, 10 violate the triangle inequality.",
    ),
    ('ixy="0"', 'ixy="2"', "line 7, link 'arm', inertia: a principal moment is negative; they are -1, 1, 3."),
    # names
    ('<link name="arm">', "<link>", "line 3, link: the attribute 'name' is missing or empty."),
    ('<link name="arm">', '<link name="&#10;">', "line 3, link: the attribute 'name' is missing or empty."),
    (
        '<child link="arm"/>',
        '<child link="am"/>',
        "line 13, joint 'turn', child: there is no link 'am'. Did you mean 'arm'?",
    ),
    (
        '<parent link="base"/>',
        '<parent link="bass"/>',
        "line 13, joint 'turn', parent: there is no link 'bass'. Did you mean 'base'?",
    ),
    ('<parent link="base"/>', '<parent link="arm"/>', "line 13, joint 'turn': it connects the link 'arm' with itself."),
    ('<parent link="base"/>', "", "line 13, joint 'turn': <parent> is missing. Add <parent link="),
    (
        'type="revolute"',
        'type="revolut"',
        "line 13, joint 'turn': there is no type 'revolut'. Did you mean 'revolute'?",
    ),
    ('type="revolute"', "", "line 13, joint 'turn': the type is missing."),
    (
        '<dynamics damping="0.1"/>',
        '<mimic joint="trun"/>',
        "line 19, joint 'turn', mimic: there is no joint 'trun'. Did you mean 'turn'?",
    ),
    ('<dynamics damping="0.1"/>', '<mimic joint="turn"/>', "line 19, joint 'turn', mimic: the joint mimics itself"),
    # duplicates
    (
        '<axis xyz="0 0 1"/>',
        '<axis xyz="0 0 1"/>\n<axis xyz="0 1 0"/>',
        "line 18, joint 'turn': duplicate <axis>, first in line 17.",
    ),
    (
        '<mass value="2"/>',
        '<mass value="2"/><mass value="3"/>',
        "line 6, link 'arm', inertial: duplicate <mass>, first in line 6.",
    ),
    # the tree
    (
        "</robot>",
        f'<link name="arm">{INERTIAL}</link></robot>',
        "line 21, link 'arm': the name was already used in line 3.",
    ),
    (
        "</robot>",
        f'<link name="lost">{INERTIAL}</link></robot>',
        "line 21, link 'lost': there are several roots: the links 'base' (line 2) and 'lost' (line 21) have no parent joint.",
    ),
    (
        "</robot>",
        '<joint name="back" type="fixed"><parent link="arm"/><child link="base"/></joint></robot>',
        "line 13, joint 'turn': the links form a cycle: 'arm' on 'base' on 'arm'.",
    ),
    (
        "</robot>",
        '<joint name="two" type="fixed"><parent link="base"/><child link="arm"/></joint></robot>',
        "line 21, joint 'two': the link 'arm' is already a child of joint 'turn' (line 13).",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_reports_problems_with_lines(old, new, message):
    assert SOUND.count(old) == 1
    found = problems(SOUND.replace(old, new))
    # a link without a name is also missing elsewhere; otherwise one mistake is one problem
    assert len(found) == (2 if message.startswith("line 3, link: the attribute 'name'") else 1)
    assert found[0].startswith(f"sample.urdf, {message}")


def test_reports_all_problems():
    text = SOUND.replace('value="2"', 'value="-2"').replace('axis xyz="0 0 1"', 'axis xyz="0 0 0"')
    text = text.replace('izz="1"/></inertial>', 'izz="50"/></inertial>').replace('damping="0.1"', 'damping="x"')
    found = problems(text)
    assert [problem.split(",")[1] for problem in found] == [" line 2", " line 6", " line 17", " line 19"]


def test_limits_the_number_of_problems():
    many = "".join(f'<link name="l{i}"><inertial><mass value="x"/></inertial></link>\n' for i in range(1000))
    with pytest.raises(ModelFileError, match="100 problems") as caught:
        loads_urdf(f'<robot name="r">{many}</robot>')
    assert len(caught.value.problems) == 100
    assert str(caught.value).endswith("and more; correct these first.")


# masses


def test_reports_moving_links_without_mass():
    text = SOUND.replace(SOUND[SOUND.index("  <inertial>") : SOUND.index("  <visual>")], "")
    (problem,) = problems(text)
    assert problem.startswith(
        "sample.urdf, line 3, link 'arm': it moves, but neither it nor its descendants have mass."
    )
    model = loads_urdf(text, strict=False)
    assert any("a moving link has no mass" in note and "'arm' (line 3)" in note for note in model.notes)


def test_a_link_that_slides_needs_mass_and_not_only_inertia():
    text = SOUND.replace('<mass value="2"/>', '<mass value="0"/>')
    assert not any("a moving link has no mass" in note for note in loads_urdf(text).notes)
    sliding = loads_urdf(text.replace("revolute", "prismatic"))
    assert any("a moving link has no mass" in note and "'arm' (line 3)" in note for note in sliding.notes)


def test_a_floating_robot_needs_mass():
    text = '<robot name="r"><link name="base"/></robot>'
    assert "link 'base': it moves" in problems(text, floating=True)[0]
    assert loads_urdf(text).bodies == ()


def test_inconsistent_inertia_is_accepted_without_strict():
    text = SOUND.replace('ixy="0"', 'ixy="2"')
    model = loads_urdf(text, strict=False)
    message = "a physically inconsistent inertia is accepted: 'arm' (line 7): a principal moment is negative"
    assert any(note.startswith(message) for note in model.notes)
    assert float(model.bodies[1].inertia[0][1]) == 2


def test_mild_triangle_inequality_violation_is_a_note():
    model = loads_urdf(SOUND.replace('izz="1"/>\n  </inertial>', 'izz="2.1"/>\n  </inertial>'))
    (note,) = model.notes
    assert note == (
        "a physically inconsistent inertia is accepted: 'arm' (line 7): "
        "the principal moments 1, 1, 2.1 violate the triangle inequality."
    )


def test_inertia_consistency_is_checked_for_rigid_groups():
    small = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="1"/></inertial>'
    fixed = '<joint name="hold" type="fixed"><parent link="arm"/><child link="box"/></joint>'
    model = loads_urdf(SOUND.replace("</robot>", f'<link name="box">{small}</link>{fixed}</robot>'))
    assert any("(compensated by the links fixed to it)" in note and "'box' (line 21)" in note for note in model.notes)
    alone = fixed.replace("fixed", "continuous").replace("</joint>", '<axis xyz="0 0 1"/></joint>')
    (problem,) = problems(SOUND.replace("</robot>", f'<link name="box">{small}</link>{alone}</robot>'))
    assert "link 'box', inertia: the principal moments 0.1, 0.1, 1 violate the triangle inequality" in problem


def test_inertia_that_is_only_rounding_is_zero():
    text = SOUND.replace('ixx="1" ixy="0"', 'ixx="0" ixy="1e-20"').replace('iyy="1" iyz="0" izz="1"', 'iyy="0" izz="0"')
    model = loads_urdf(text)
    assert not any(float(x) for row in model.bodies[1].inertia for x in row)
    assert "the inertia is inconsistent but negligible and set to 0: 'arm' (line 7)." in model.notes


# other documents


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not valid XML: no element found. Unexpected end"),
        (SOUND[:400], "not valid XML: "),
        ("<robot", "line 1: not valid XML: unclosed token"),
        (SOUND.replace("</joint>", "</join>"), "line 20: not valid XML: mismatched tag, at '</join>'."),
        (SOUND.replace('name="arm"', 'name="&arm;"'), "line 3: not valid XML: undefined entity"),
        (SOUND.replace('name="arm"', 'name="arm" name="leg"'), "line 3: not valid XML: duplicate attribute"),
        (f"{SOUND}<robot/>", "line 22: not valid XML: junk after document element"),
        (SOUND.replace("arm", "a\0rm", 1), "line 3: the line contains a NUL character."),
        (SOUND.replace("arm", "a\x01rm", 1), "line 3: not valid XML: not well-formed (invalid token)"),
        (SOUND.replace("arm", "a\ud800rm", 1), "line 3: the character '\\ud800' cannot be written in UTF-8."),
        ('<sdf version="1.6"/>', "line 1: the root element is <sdf>, not <robot>. This is an SDF file"),
        ("<html/>", "line 1: the root element is <html>, not <robot>. Expected a URDF file."),
        (
            "<robot name='r'>\n<xacro:include/></robot>",
            "line 2: <xacro:include> is a macro that has not been expanded.",
        ),
        ("<robot name='r'/>", "line 1, robot: the robot has no links."),
        (
            "<?xml version='1.0'?>\n<!DOCTYPE robot SYSTEM 'file:///etc/passwd'>\n<robot/>",
            "line 2: document types, entities",
        ),
        (f"{SOUND}" + " " * 20_000_001, "the file is larger than 20000000 bytes."),
    ],
)
def test_rejects_other_documents(text, message):
    (problem,) = problems(text)
    assert message in problem


def test_billion_laughs():
    entities = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    text = f'<!DOCTYPE r [<!ENTITY l0 "lol">{entities}]>\n<robot name="&l9;"/>'
    (problem,) = problems(text)
    assert "document types, entities and external references are not supported." in problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot>" + "<a/>" * 300_000 + "</robot>", "the file has more than 200000 elements."),
        ("<a>" * 1_000_000, "elements are nested deeper than 64 levels."),
        ("<robot " + " ".join(f'a{i}=""' for i in range(2000)) + "/>", "an element has more than 1000 attributes."),
        (
            '<robot name="' + "x" * 1_000_000 + '"><link name="a"/></robot>',
            "Expected at most 200 printable characters.",
        ),
        (SOUND.replace('"2"', f'"{"1" * 1_000_000}"'), "value is '1111"),
        (SOUND.replace('"0 0 0"', f'"{"0 " * 1_000_000}"'), "Expected 3 finite numbers"),
        (
            '<robot name="r">' + "".join(f'<link name="l{i}"/>' for i in range(2001)) + "</robot>",
            "the file has 2001 elements <link>.",
        ),
    ],
    ids=["elements", "depth", "attributes", "name", "number", "vector", "links"],
)
def test_rejects_oversized_input(text, message):
    (problem,) = problems(text)
    assert message in problem
    assert len(problem) < 500


def chain(kind: str, count: int, inside: str = "") -> str:
    parts = [f'<link name="l{i}">{INERTIAL}</link>' for i in range(count)]
    for i in range(count - 1):
        ends = f'<parent link="l{i}"/><child link="l{i + 1}"/>'
        parts.append(f'<joint name="j{i}" type="{kind}">{ends}<axis xyz="0 0 1"/>{inside.format(i + 1)}</joint>')
    return f'<robot name="chain">{"".join(parts)}</robot>'


def test_long_chains_are_read():
    assert len(loads_urdf(chain("continuous", 2000)).coordinate_names) == 1999
    assert len(loads_urdf(chain("fixed", 2000), merge_fixed=True).bodies) == 1
    text = chain("continuous", 1000, '<mimic joint="j{}"/>').replace('<mimic joint="j999"/>', "")
    assert len(loads_urdf(text).constraint_names) == 998


def test_too_many_coordinates():
    (problem,) = problems(chain("floating", 300))
    assert "the file has more than 2000 coordinates." in problem


def test_rejects_mimic_chain_overflow():
    text = chain("continuous", 20, '<mimic joint="j{}" multiplier="1e50" offset="1"/>')
    found = problems(text.replace('<mimic joint="j19" multiplier="1e50" offset="1"/>', ""))
    assert "its initial value is not finite." in found[0]


# files


def test_reports_unreadable_files(tmp_path):
    (tmp_path / "arm.urdf").write_text(SOUND, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"there is no such file. Did you mean 'arm.urdf'\?"):
        read_urdf(tmp_path / "arms.urdf")
    with pytest.raises(ModelFileError, match="There is no directory"):
        read_urdf(tmp_path / "nowhere" / "arm.urdf")
    with pytest.raises(ModelFileError, match="the path is a directory"):
        read_urdf(tmp_path)
    with pytest.raises(ModelFileError, match=r"there is no such file|cannot be opened"):
        read_urdf("a\0b.urdf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(ModelFileError, match="the path is not a regular file"):
        read_urdf(tmp_path / "pipe.urdf")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SOUND.encode().replace(b"arm", b"\xe4rm", 1), r"line 3: the byte 0xe4 is not UTF-8"),
        (SOUND.encode("utf-16"), r"line 1: the line contains a NUL character"),
        (b"<robot>" + b" " * 20_000_001, r"the file is larger than 20000000 bytes"),
    ],
)
def test_rejects_invalid_utf8(tmp_path, data, message):
    path = tmp_path / "arm.urdf"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=message):
        read_urdf(path)


@pytest.mark.parametrize("head", ["\ufeff", '<?xml version="1.0" encoding="ISO-8859-1"?>\n'])
def test_byte_order_mark_and_declared_encodings(tmp_path, head):
    """The file is UTF-8, whatever its XML declaration."""
    path = tmp_path / "arm.urdf"
    path.write_text(head + SOUND.replace('name="sample"', 'name="Übung"'), encoding="utf-8")
    assert read_urdf(path).name == "Übung"
