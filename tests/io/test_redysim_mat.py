"""ReDySim's data files: inputs.mat, the inputs.m that loads it, initials.m, and invalid files."""

import json
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

import dalembert as dl
from dalembert.cli.entry_point import main
from dalembert.errors import InputError, ModelFileError
from dalembert.io._mat_file import MAX_UNPACKED, parse_mat
from dalembert.io._redysim import read_redysim, read_trajectory
from dalembert.papers.printed_values import published

FILE = Path(__file__).parents[1] / "papers" / "redysim_models.json"
MODELS = json.loads(FILE.read_text(encoding="utf-8"))
FOURBAR = "fixed_base_v2/fordyn/fourbar_mechanism"
# the eight kinds of examples whose equations are compared in full
# one of each kind that the gallery does not verify already: kuka-kr5, floating-arm-3-link and hexapod are models of it
VERIFIED = tuple(
    f"fixed_base_v2/fordyn/{name}" for name in ("fourbar_mechanism", "robotic_leg", "slider_crank", "spatial_biped")
)


def columns(data):
    """Arrays as MATLAB stores them: columns, integers in the smallest type."""
    out = {}
    for key, value in data.items():
        array = np.array(value, dtype=float).reshape(-1, 1)
        small = (array >= 0).all() and (array == array.round()).all() and array.max(initial=0) < 256
        out[key] = array.astype(np.uint8) if small else array
    return out


def write(path, data, **options):
    savemat(path, columns(data), **{"do_compression": True, **options})
    return path


def data_of(name: str = FOURBAR, **changes: Any) -> dict[str, Any]:
    data = {**MODELS[name], **changes}
    return {key: value for key, value in data.items() if value is not None}


def same(found, known):
    """True if two models are equal except for their names."""
    q, qd = known.initial
    return (
        found.bodies == known.bodies
        and found.generalized_coordinates == known.generalized_coordinates
        and np.array_equal(found.initial, (q, qd))
        and (found.gravity, found.duration, found.samples) == (known.gravity, known.duration, known.samples)
    )


@pytest.mark.parametrize("name", MODELS)
def test_stored_arrays_are_the_same_robot(name, tmp_path):
    known = read_redysim(FILE, name)
    path = write(tmp_path / "robot.mat", MODELS[name])
    found = dl.load(path)
    assert same(found, known)
    assert (found.name, found.notes) == ("robot", known.notes)


@pytest.mark.nightly
@pytest.mark.parametrize("name", VERIFIED)
def test_formalisms_agree_on_stored_robots(name, tmp_path):
    assert dl.verify(write(tmp_path / "robot.mat", MODELS[name])).agrees


@pytest.mark.parametrize("options", [{"format": "4"}, {"do_compression": False}, {"oned_as": "row"}])
def test_reads_level_4_uncompressed_and_row_files(options, tmp_path):
    path = tmp_path / "robot.mat"
    arrays = {key: np.array(value, dtype=float) for key, value in data_of().items()}
    savemat(path, arrays, **{"oned_as": "column", **options})
    assert same(dl.load(path), read_redysim(FILE, FOURBAR))


def test_options_are_passed_to_the_reader(tmp_path):
    path = write(tmp_path / "arm.mat", MODELS["floating_base/fordyn/7-link"])
    assert "e0" in dl.load(path, quaternion=True).coordinate_names
    with pytest.raises(ModelFileError, match="only JSON files hold several robots"):
        dl.load(path, model="arm")


# the inputs.m that loads them


def wrapper(data, load="inputs_file = load ('inputs.mat');"):
    lines = [f"{key} = inputs_file.{key};" for key in data]
    return "\n".join([f"function [{' '.join(data)}]=inputs()", load, *lines, "% th = inputs_file.th;", "end"])


def test_a_file_name_that_no_file_can_have_is_reported(tmp_path):
    (tmp_path / "inputs.m").write_text(wrapper(data_of(), f"inputs_file = load('{'a' * 300}.mat');"))
    with pytest.raises(ModelFileError, match="there is no such file"):
        dl.load(tmp_path / "inputs.m")


@pytest.mark.parametrize(
    "load",
    [
        "inputs_file = load ('inputs.mat');",
        'inputs_file=load("inputs");',
        "clc; clear all\ninputs_file = load('./inputs.mat');",
        "inputs_file = load('inputs.mat', '-mat');",
        "disp('loading')\ninputs_file = load inputs.mat;",
    ],
)
def test_inputs_m_loads_fields_from_mat_file(load, tmp_path):
    write(tmp_path / "inputs.mat", data_of())
    (tmp_path / "inputs.m").write_text(wrapper(data_of(), load))
    found = dl.load(tmp_path / "inputs.m")
    assert found.description == dl.load(tmp_path / "inputs.mat").description
    assert same(found, read_redysim(FILE, FOURBAR))


def test_loaded_arrays_in_expressions(tmp_path):
    write(tmp_path / "inputs.mat", data_of())
    (tmp_path / "inputs.m").write_text("load inputs.mat\nm(1) = 2*m(2);")
    assert [float(body.mass) for body in dl.load(tmp_path / "inputs.m").bodies] == [10, 5, 3]
    (tmp_path / "inputs.m").write_text(wrapper(data_of()).replace("end", "m(1) = inputs_file.al(4); end"))
    assert float(dl.load(tmp_path / "inputs.m").bodies[0].mass) == 0.15


def test_load_of_selected_names_and_subfolders(tmp_path):
    (tmp_path / "default_input").mkdir()
    write(tmp_path / "default_input" / "inputs.mat", data_of())
    path, words = tmp_path / "inputs.m", " ".join(data_of())
    for load in (
        "load('default_input/inputs.mat')",
        r"load default_input\inputs",
        f"load 'default_input/inputs.mat' {words}",
        f"load default_input/inputs.mat {words} -mat",
    ):
        path.write_text(load)
        assert same(dl.load(path), read_redysim(FILE, FOURBAR)), load
    path.write_text("x = load('default_input/inputs.mat', 'n', 'm');\nn = x.n; g = x.g;")
    with pytest.raises(ModelFileError, match=r"line 2: there is no 'g' in .*inputs.mat. Known names: m, n"):
        dl.load(path)
    path.write_text("load default_input/inputs.mat -ascii")
    with pytest.raises(
        ModelFileError, match=r"load has the argument '-ascii'\. Expected names of arrays after the file"
    ):
        dl.load(path)


def test_reports_missing_file_or_field(tmp_path):
    path = tmp_path / "inputs.m"
    path.write_text(wrapper(data_of()))
    with pytest.raises(ModelFileError) as caught:
        dl.load(path)
    advice = "there is no such file. Copy it into the directory of inputs.m."
    assert str(caught.value) == f"{path}, line 2: load failed. {tmp_path / 'inputs.mat'}: {advice}"
    write(tmp_path / "inputs.mat", data_of(dx=None))
    with pytest.raises(ModelFileError, match=r"inputs\.m, line \d+: there is no 'dx' in .*inputs\.mat\. Known names: "):
        dl.load(path)


# other content of a file


def test_reports_inputs_that_redysim_does_not_read(tmp_path):
    path = tmp_path / "robot.mat"
    arm = data_of("floating_base/fordyn/3-link", r=[1, 1], th=[0.3, 0.4], gx=1, gy=0, gz=0, Tp=0, steps=0.01)
    savemat(path, {**columns(arm), "handles": {"figure": 1}, "names": ["a", "b"], "ans": np.eye(3)})
    model = dl.load(path)
    assert same(model, read_redysim(FILE, "floating_base/fordyn/3-link"))
    assert model.notes[1:] == (
        "r has 2 entries and is ignored: with nq ReDySim does not read it.",
        "th has 2 entries and is ignored: with nq ReDySim does not read it.",
        "gravity is g = [0.0, 0.0, 0.0], which ReDySim reads, not [1.0, 0.0, 0.0] of gx, gy, gz.",
        "Tp is 0 and ignored: no simulation time is set.",
        "ignored, since ReDySim has no inputs of these names: ans, handles, names.",
    )


def test_longer_arrays_are_truncated_to_n(tmp_path):
    long = {key: [*MODELS[FOURBAR][key], 9.0] for key in ("m", "dx", "th", "bt")}
    model = dl.load(write(tmp_path / "robot.mat", data_of(FOURBAR, **long)))
    assert same(model, read_redysim(FILE, FOURBAR))
    assert model.notes[-1] == "arrays with more than n = 3 entries, of which ReDySim reads the first n: bt, th, dx, m."


def test_unneeded_inputs_are_not_checked(tmp_path):
    path = tmp_path / "inputs.mat"
    odd = {"aj": np.eye(3), "al": "long", "Tp": [], "steps": []}
    savemat(path, {**columns(data_of()), **odd})
    model, known = dl.load(path), read_redysim(FILE, FOURBAR)
    assert (model.bodies, model.notes[0]) == (known.bodies, known.notes[0])
    assert model.notes[2:] == ("Tp is empty and ignored.", "steps is empty and ignored.")
    (tmp_path / "inputs.m").write_text(wrapper(data_of()))
    assert dl.load(tmp_path / "inputs.m").description == model.description


@pytest.mark.parametrize(
    "kinds",
    [
        {"n": np.int64, "bt": np.uint64, "r": bool, "th": np.float64},
        {"n": np.int8, "bt": np.int16, "r": np.uint16, "dof": np.int32, "type": np.uint32},
    ],
)
def test_numbers_may_be_of_any_size(kinds, tmp_path):
    path = tmp_path / "robot.mat"
    arrays = {key: np.array(value, dtype=float) for key, value in data_of().items()}
    savemat(path, {key: value.astype(kinds.get(key, float)) for key, value in arrays.items()})
    assert same(dl.load(path), read_redysim(FILE, FOURBAR))


def big_endian(arrays):
    """A big-endian file of level 5."""

    def element(kind, data):
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    out = b""
    for name, value in arrays.items():
        column = np.ravel(value)
        flags, size = struct.pack(">II", 6, 0), struct.pack(">ii", len(column), 1)
        parts = (
            element(6, flags),
            element(5, size),
            element(1, name.encode()),
            element(9, column.astype(">f8").tobytes()),
        )
        out += element(14, b"".join(parts))
    return level_5(out, mark=b"MI")


def test_files_of_other_machines_are_read(tmp_path):
    path = tmp_path / "robot.mat"
    path.write_bytes(big_endian(data_of()))
    assert same(dl.load(path), read_redysim(FILE, FOURBAR))


def test_gravity_defaults_to_gx_gy_gz(tmp_path):
    model = dl.load(write(tmp_path / "robot.mat", data_of(g=None, gx=0, gy=0, gz=-1.62)))
    assert [float(x) for x in model.gravity] == [0, 0, -1.62]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"m": "heavy"}, "'m' in robot.mat is of class char. Expected a vector of real numbers."),
        ({"m": {"a": 1}}, "'m' in robot.mat is of class struct."),
        ({"m": np.array([1, "a"], dtype=object)}, "'m' in robot.mat is of class cell."),
        ({"m": np.eye(3)}, "'m' in robot.mat is an array of 3×3."),
        ({"m": np.array([[1j], [2], [3]])}, "'m' in robot.mat is complex."),
        ({"m": np.array([[1.0], [np.nan], [1]])}, "m, link 2: the value nan"),
        ({"m": np.ones((2, 1))}, "m: got an array of 2. Expected an array of 3, one entry for each link."),
        ({"n": np.ones((2, 1))}, "robot.mat, n: got [1.0, 1.0]."),
        ({"r": np.array([[1], [2], [1]])}, "r, link 2: got 2.0. Expected 1 (revolute) or 0 (prismatic)."),
        ({"bt": np.array([[0], [0], [3]])}, "bt, link 3: the parent is 3.0."),
        ({"n": None}, "the key 'n' is missing."),
        ({"n": None, "inputs_file": {"n": 3}}, "'n' is missing. The file contains inputs_file (of class struct)."),
        (
            {"g": -9.81},
            "has 1 problem:\n  - g: got an array of 1. Expected an array of 3, the acceleration of gravity.",
        ),
        ({"steps": 1e-320}, "Tp: Tp/steps gives inf samples. Expected 2 to 1000000."),
        ({"m": csc_matrix(np.ones((3, 1)))}, "'m' in robot.mat is of class sparse."),
        ({"dx": None}, "the array 'dx' is missing."),
    ],
)
def test_reports_wrong_arrays_by_name(changes, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays = {**columns(data_of()), **changes}
    savemat("robot.mat", {key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(ModelFileError) as caught:
        dl.load("robot.mat")
    assert message in str(caught.value)


# invalid and damaged files


def level_5(*elements, mark=b"IM"):
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1" + mark + b"".join(elements)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is not a MAT file of level 4 or 5, or it is damaged"),
        (b"# Created by Octave 8.4\n# name: n\n", "In MATLAB or Octave save it with save('inputs.mat', '-v7')."),
        (b"MATLAB 7.3 MAT-file", "MAT files of version 7.3 (HDF5) are not supported."),
        (b"\x89HDF\r\n\x1a\n", "MAT files of version 7.3 (HDF5) are not supported."),
        (b"\0" * 200, "it is damaged"),
        (level_5(struct.pack("<II", 14, 1000)), "it is damaged"),
        (level_5(struct.pack("<II", 15, 8) + b"no zlib!"), "it is damaged"),
        (b"x" * 1_000_001, "the file is larger than 1000000 bytes."),
    ],
)
def test_rejects_other_files(data, message, tmp_path):
    path = tmp_path / "robot.mat"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        dl.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_limits_unpacked_size():
    packed = zlib.compress(bytes(50 * MAX_UNPACKED))
    with pytest.raises(ModelFileError, match="the arrays are larger than 1000000 bytes"):
        parse_mat(level_5(struct.pack("<II", 15, len(packed)), packed))


def test_rejects_duplicate_names():
    savemat(file := BytesIO(), {"n": 1.0}, do_compression=False)
    twice = file.getvalue() + file.getvalue()[128:]
    with pytest.raises(ModelFileError, match="duplicate name 'n'"):
        parse_mat(twice)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_files_raise_only_input_errors(seed, tmp_path):
    random = np.random.default_rng(seed)
    options = [{"do_compression": True}, {"do_compression": False}, {"format": "4"}][seed % 3]
    savemat(file := BytesIO(), columns(data_of()), **options)
    data = bytearray(file.getvalue())
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(len(data)))
        if seed % 2:
            data[at : at + int(random.integers(4))] = random.bytes(int(random.integers(4)))
        else:  # one bit, or the end of the file
            data[at] ^= 1 << int(random.integers(8))
            del data[at + 1 if random.random() < 0.2 else len(data) :]
    path = tmp_path / "robot.mat"
    path.write_bytes(data)
    try:
        model = dl.load(path)
    except InputError:
        return
    assert model.bodies


# initials.m


INITIALS = """
function[n, y0, ti, tf, incr, rtol, atol, int_type] = initials()
[n ]=inputs();
q=[0; 145.54*pi/180; (130.54)*pi/180];
dq=zeros(n,1); dq(1)=0.5;
act_en=0;
y0=[q; dq; act_en];
ti=0; tf=1.33; incr=.01; % sampling time
rtol=1e-4; atol=1e-6; int_type=0;
end
"""


def test_initials_next_to_inputs_set_state_and_time(tmp_path):
    write(tmp_path / "inputs.mat", data_of())
    (tmp_path / "initials.m").write_text(INITIALS)
    model = dl.load(tmp_path / "inputs.mat")
    assert [x.tolist() for x in model.initial] == [pytest.approx(np.radians([0, 145.54, 130.54])), [0.5, 0, 0]]
    assert (model.duration, model.samples) == (1.33, 134)
    assert model.notes[-1] == "initial state and time span are those of initials.m."
    # a file with another name does not use initials.m by default
    path = write(tmp_path / "leg.mat", data_of())
    assert dl.load(path).duration == 10
    assert dl.load(path, initials=tmp_path / "initials.m").duration == 1.33


def test_initials_may_call_inputs(tmp_path):
    write(tmp_path / "inputs.mat", data_of())
    (tmp_path / "inputs.m").write_text(wrapper(data_of()))
    head = f"[{' '.join(data_of())}] = inputs();"
    rest = "q=th; q(1) = al(4);\ny0=[q; zeros(n,1); 0];\nt_initial=0; t_final=Tp/2; incr=steps;"
    (tmp_path / "initials.m").write_text(f"function [y0, t_initial, t_final, incr]=initials()\n{head}\n{rest}")
    model = dl.load(tmp_path / "inputs.m")
    assert model.notes[-1] == "initial state and time span are those of initials.m."
    assert model.initial[0] == pytest.approx([0.15, *MODELS[FOURBAR]["th"][1:]])
    assert (model.duration, model.samples) == (5, 501)


@pytest.mark.parametrize(
    ("name", "joints", "start"),
    [("floating_base/fordyn/3-link", 3, [0.1, 0.2, 0.4, 1, 2, 3]), ("floating_base/fordyn/7-link", 7, None)],
)
def test_initials_of_a_floating_base_begin_with_six_coordinates(name, joints, start, tmp_path):
    write(tmp_path / "inputs.mat", MODELS[name])
    base = [0.1, 0.2, 0, 0.4, 0, 0] if start else [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    angles = list(range(1, joints + 1))
    text = f"[n]=inputs();\nq={base};\nth={angles};\ny0=[q; th; zeros(6,1); zeros(n-1,1); 0];\nti=0; tf=20; incr=0.1;"
    (tmp_path / "initials.m").write_text(text)
    q, qd = dl.load(tmp_path / "inputs.mat").initial
    assert q.tolist() == (start or [*base, *angles])
    assert not qd.any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[q, dq] = trajectory(0);", "line 1: unknown function 'trajectory'."),
        ("n = 3;", "y0 is missing. Define the initial state, y0 = [q; dq; 0]."),
        ("y0 = zeros(5,1);", "y0 has 5 entries. Expected at least 6: 3 coordinates, then their rates."),
    ],
)
def test_reports_unusable_initials(text, message, tmp_path):
    path = write(tmp_path / "inputs.mat", data_of())
    (tmp_path / "initials.m").write_text(text)
    model = dl.load(path)
    assert same(model, read_redysim(FILE, FOURBAR))
    assert model.notes[-1].startswith("initials.m is ignored, and the initial state is that of the arrays: ")
    assert message in model.notes[-1]
    with pytest.raises(ModelFileError) as caught:
        dl.load(path, initials=tmp_path / "initials.m")
    assert message in str(caught.value)


def test_rejects_initials_out_of_plane_or_with_quaternion(tmp_path):
    flat = write(tmp_path / "flat.mat", MODELS["floating_base/fordyn/3-link"])
    (tmp_path / "initials.m").write_text("y0 = ones(18,1);")
    with pytest.raises(ModelFileError, match="y0 moves the base out of the plane"):
        dl.load(flat, initials=tmp_path / "initials.m")
    arm = write(tmp_path / "arm.mat", MODELS["floating_base/fordyn/7-link"])
    with pytest.raises(ModelFileError, match="y0 has base angles, but the model has a quaternion"):
        dl.load(arm, quaternion=True, initials=tmp_path / "initials.m")


# trajectory.m


TRAJECTORY = """
function [qi dqi ddqi]= trajectory(tim, dof, Tp)
% from rest to rest, (34) of papers/denoc
qin=[0 0 0 0 0 0];
qf=[pi/3 pi/3 pi/3 pi/3 pi/3 pi/3];
w=2*pi/Tp;
for i=1:dof
    step=(qf(i)-qin(i))/Tp;
    qi(i)=qin(i)+step*(tim-sin(w*tim)/w);
    dqi(i,1)=step*(1-cos(w*tim));
    ddqi(i)=step*w*sin(w*tim);
end
"""


def test_trajectory_torques_match_redysim(tmp_path):
    path = tmp_path / "trajectory.m"
    path.write_text(TRAJECTORY)
    shipped = published("denoc")["kuka-kr5"]
    printed = dict(zip(shipped["columns"], np.array(shipped["rows"]).T, strict=True))
    motion = read_trajectory(path, printed["t"], 6, 1.0)
    np.testing.assert_allclose(
        [x[0] for x in motion], [printed[f"{x}1"] for x in ("q", "qd", "qdd")], rtol=1e-6, atol=1e-12
    )
    tau = dl.inverse_dynamics(read_redysim(FILE, "fixed_base_v2/invdyn/kuka_robot"), *motion)
    for i in range(6):
        np.testing.assert_allclose(tau[i], printed[f"tau{i + 1}"], rtol=1e-6, atol=1e-9)


def test_initials_may_start_on_a_trajectory(tmp_path):
    path = write(tmp_path / "inputs.mat", data_of())
    (tmp_path / "initials.m").write_text("[n] = inputs();\n[q, dq] = trajectory(0.5, n, 2);\ny0 = [q dq 0];")
    (tmp_path / "trajectory.m").write_text(TRAJECTORY)
    q, qd = dl.load(path).initial
    known = read_trajectory(tmp_path / "trajectory.m", [0.5], 3, 2)
    assert [q, qd] == [pytest.approx(known[0][:, 0]), pytest.approx(known[1][:, 0])]
    assert qd[0] == pytest.approx(np.pi / 6)


@pytest.mark.parametrize(
    ("text", "times", "message"),
    [
        ("x = 1;", [0], "the file defines no function. Expected function [...] = name(...) at the top."),
        (TRAJECTORY, [], "the number of results changes with time, or `times` is empty."),
        ("function q = f(t)\nq = [0];\nif t > 0\nq = [1 2];\nend", [0, 1], "the number of results changes with time"),
    ],
)
def test_reports_wrong_trajectories(text, times, message, tmp_path):
    (tmp_path / "trajectory.m").write_text(text)
    with pytest.raises(ModelFileError) as caught:
        read_trajectory(tmp_path / "trajectory.m", times)
    assert message in str(caught.value)


def test_check_command_reports_open_loops(tmp_path, capsys):
    assert main(["check", str(write(tmp_path / "robot.mat", data_of()))]) == 0
    assert "closed loops" in " ".join(capsys.readouterr().out.split())
