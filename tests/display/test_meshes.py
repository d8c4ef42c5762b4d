"""Meshes: four file formats, and untrusted names and files."""

import struct

import numpy as np
import pytest

import dalembert as dl
from dalembert.display.scene._declared_shapes import MAX_DRAWN_FACES, merged, mesh_of
from dalembert.display.scene.scene_builder import scene_of
from dalembert.io.urdf.urdf_elements import mesh_file

POINTS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)], dtype=float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def binary_stl() -> bytes:
    rows = [struct.pack("<12fH", 0, 0, 0, *POINTS[face].ravel(), 0) for face in FACES]
    return b"\0" * 80 + struct.pack("<I", len(rows)) + b"".join(rows)


def text_stl() -> bytes:
    lines = ["solid tetrahedron"]
    for face in FACES:
        lines += ["facet normal 0 0 0", "outer loop", *("vertex {} {} {}".format(*POINTS[k]) for k in face)]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid"]).encode()


def obj() -> bytes:
    lines = ["# made for a test", *("v {} {} {}".format(*point) for point in POINTS)]
    return "\n".join([*lines, *("f " + " ".join(f"{k + 1}/1/1" for k in face) for face in FACES)]).encode()


def collada() -> bytes:
    numbers, corners = " ".join(map(str, 100 * POINTS.ravel())), " ".join(f"{k} 0" for k in FACES.ravel())
    return f"""<?xml version="1.0"?>
    <COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
      <asset><unit meter="0.01"/><up_axis>Z_UP</up_axis></asset>
      <library_geometries><geometry id="g"><mesh>
        <source id="p"><float_array id="pa" count="12">{numbers}</float_array></source>
        <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
        <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
          <input semantic="NORMAL" source="#p" offset="1"/><p>{corners}</p></triangles>
      </mesh></geometry></library_geometries>
      <library_visual_scenes><visual_scene id="s"><node><translate>100 0 0</translate>
        <node><translate>-100 0 0</translate><instance_geometry url="#g"/></node></node></visual_scene>
      </library_visual_scenes>
    </COLLADA>""".encode()


FILES = {"a.stl": binary_stl(), "b.stl": text_stl(), "c.obj": obj(), "d.dae": collada()}


@pytest.mark.parametrize("name", FILES)
def test_all_formats_contain_the_same_tetrahedron(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    found = mesh_of(name, str(tmp_path))
    assert not isinstance(found, str)
    points, faces = found
    a, b, c = np.moveaxis(points[faces], 1, 0)
    assert len(points) == 4
    assert np.einsum("ix,ix->", a, np.cross(b, c)) / 6 == pytest.approx(
        1.0
    )  # positive volume: the faces point outwards


@pytest.mark.parametrize(
    "name",
    ["../a.stl", "x/../../a.stl", "/etc/passwd", "file:///etc/passwd", "http://x/a.stl", "package://../a.stl", "link"],
)
def test_paths_outside_the_folder_are_not_read(name, tmp_path):
    folder = tmp_path / "robot"
    (folder / "x").mkdir(parents=True)
    (tmp_path / "a.stl").write_bytes(FILES["a.stl"])
    (folder / "link").symlink_to(tmp_path / "a.stl")
    assert mesh_file(name, folder) is None


def test_packages_are_found_in_parent_folders(tmp_path):
    (tmp_path / "arm" / "urdf").mkdir(parents=True)
    (tmp_path / "arm" / "meshes").mkdir()
    (tmp_path / "arm" / "meshes" / "a.stl").write_bytes(FILES["a.stl"])
    assert mesh_file("package://arm/meshes/a.stl", tmp_path / "arm" / "urdf") is not None


HOSTILE = {
    "laughs.dae": b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><COLLADA>&b;</COLLADA>',
    "cut.stl": b"solid x\nvertex 1 2",
    "far.obj": b"v 0 0 0\nf 1 2 99",
    "nan.obj": b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3",
    "words.obj": b"v one two three",
    "odd.xyz": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_invalid_mesh_files_are_omitted_with_a_reason(name, tmp_path):
    (tmp_path / name).write_bytes(HOSTILE[name])
    assert isinstance(mesh_of(name, str(tmp_path)), str)


def test_fine_meshes_are_coarsened():
    angle = np.linspace(0, np.pi, 120)
    around = np.linspace(0, 2 * np.pi, 121)
    grid = np.stack(
        [
            np.outer(np.sin(angle), np.cos(around)),
            np.outer(np.sin(angle), np.sin(around)),
            np.outer(np.cos(angle), np.ones(121)),
        ],
        axis=-1,
    )
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    triangles = np.concatenate([np.stack([a, b, c], 2), np.stack([a, c, d], 2)]).reshape(-1, 3, 3)
    points, faces = merged(triangles)
    assert 500 < len(faces) <= MAX_DRAWN_FACES < len(triangles)
    assert np.allclose(np.linalg.norm(points, axis=1), 1)


URDF = """<robot name="arm"><link name="base"/><link name="rod">
<inertial><origin xyz="0 0 -0.5"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.01"/></inertial>
<visual><origin xyz="0 0 -1"/><geometry><mesh filename="{}" scale="2 2 2"/></geometry></visual></link>
<joint name="swing" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>"""


def test_robot_is_drawn_with_its_mesh(tmp_path):
    (tmp_path / "a.stl").write_bytes(FILES["a.stl"])
    (tmp_path / "arm.urdf").write_text(URDF.format("package://a.stl"), encoding="utf-8")
    model = dl.load(tmp_path / "arm.urdf")
    mesh = next(shape for shape in scene_of(model).bodies[1].shapes if shape.kind == "mesh")
    assert mesh.points is not None
    assert np.allclose(mesh.points.max(axis=0), [2, 4, 6])
    assert np.allclose(mesh.at, [0, 0, -1])


def test_missing_mesh_gives_a_default_shape_and_a_note(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF.format("package://gone.stl"), encoding="utf-8")
    scene = scene_of(dl.load(tmp_path / "arm.urdf"))
    assert any(shape.role == "body" for shape in scene.bodies[1].shapes)
    assert scene.notes == ("The mesh 'package://gone.stl' of 'rod' is not drawn: file not found.",)
