"""Descriptions of sources, examples and files for the page."""

import base64
import json
import shutil
from pathlib import Path

import pytest

from dalembert.errors import DalembertError
from dalembert.io import gallery
from dalembert.studio.folder import Folder
from dalembert.studio.tasks import TASKS

GALLERY = Path(gallery.__file__).parent


def run_task(folder: Path, task: str, **values):
    """Return the answer of a task as sent to the page."""
    return json.loads(json.dumps(TASKS[task].work(values, Folder(folder), lambda *_: None), allow_nan=False))


def dropped(folder: Path, path: Path) -> str:
    key, target = Folder(folder).new_upload(path.name)
    shutil.copy(path, target)
    return key


def test_valid_source_has_a_scene_and_form_values(tmp_path):
    text = (GALLERY / "four-bar" / "model.toml").read_text("utf-8")
    found = run_task(tmp_path, "describe", text=text)
    assert found["problems"] == []
    assert found["scene"]["model"]["name"] == "four-bar"
    assert found["outline"]["tables"]["parameters"]["a"]["value"] == "0.038"
    crank = next(each for each in found["outline"]["elements"] if each["values"]["name"] == "crank")
    assert crank["values"]["joint"] == [{"type": "revolute", "axis": "0, 0, 1", "angle": "q1"}]


def test_invalid_model_has_form_values_if_it_is_valid_toml(tmp_path):
    found = run_task(tmp_path, "describe", text="name = 'x'\n[parameters]\na = 'b'\n")
    assert found["outline"]["tables"]["parameters"] == {"a": {"value": "b"}}
    assert found["problems"][0]["line"] == 3
    assert run_task(tmp_path, "describe", text="name = ")["outline"] is None


@pytest.mark.parametrize(
    "value", ["inf", "nan", "1979-05-27", "[[[1]], {}]", "{ a = { b = [1] } }", "9" * 400, '"<b>"']
)
def test_any_value_is_json_compatible(tmp_path, value):
    run_task(
        tmp_path,
        "describe",
        text=f"name = {value}\nbody = [{value}]\nparameters = {value}\nsimulation.step = {value}\n",
    )


def test_examples_have_titles_descriptions_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    listed = run_task(tmp_path, "examples")
    assert sorted(each["name"] for each in listed["examples"]) == sorted(gallery.names())
    assert all(each["title"] for each in listed["examples"])
    assert "loops" in next(each for each in listed["examples"] if each["name"] == "four-bar")["tags"]
    opened = run_task(tmp_path, "example", name="simple-pendulum")
    assert opened["title"] == "Simple pendulum"
    assert "<h3>" in opened["description"]
    url = run_task(tmp_path, "picture", name="incline-block")["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    (cached,) = (tmp_path / "cache").glob("*.picture")
    before = cached.stat().st_mtime_ns
    assert run_task(tmp_path, "picture", name="incline-block")["url"] == url
    assert cached.stat().st_mtime_ns == before


def test_empty_model_has_problems_and_no_elements(tmp_path):
    found = run_task(tmp_path, "describe", text=run_task(tmp_path, "examples")["empty"])
    assert found["problems"]
    assert found["outline"]["elements"] == []


def test_every_key_has_an_expected_value(tmp_path):
    found = run_task(tmp_path, "format")
    kinds = {**found["elements"], **found["joints"], **found["tables"], "head": found["head"]}
    silent = [(kind, key) for kind, keys in kinds.items() for key, about in keys.items() if not about["expects"]]
    assert silent == []
    assert sorted(kind for family in found["families"].values() for kind in family) == sorted(found["elements"])
    assert found["elements"]["force"]["body"]["form"] == "body"
    assert found["elements"]["spring"]["bodies"]["form"] == "bodies"
    assert found["elements"]["event"]["direction"]["options"] == ["up", "down", "both"]
    assert found["elements"]["drive"]["coordinate"]["form"] == "coordinate"
    assert found["elements"]["gear"]["internal"]["form"] == "switch"


def test_uploaded_robot_is_converted_to_toml(tmp_path):
    key = dropped(tmp_path, GALLERY / "double-pendulum-urdf" / "model.urdf")
    found = run_task(tmp_path, "import", key=key)
    assert found["name"] == "model.urdf"
    assert run_task(tmp_path, "describe", text=found["text"])["problems"] == []
    table = tmp_path / "arm.csv"
    table.write_text("# convention = dh\nname, type, theta, d, a, alpha, mass\nupper, R, 0, 0, 0.4, 0, 1\n", "utf-8")
    text = run_task(tmp_path, "import", key=dropped(tmp_path, table))["text"]
    assert run_task(tmp_path, "describe", text=text)["name"] == "arm"


def test_uploaded_toml_is_not_changed(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("# my own\nname = 'x'\nbodi = 3\n", "utf-8")
    assert run_task(tmp_path, "import", key=dropped(tmp_path, path))["text"] == "# my own\nname = 'x'\nbodi = 3\n"


def test_errors_use_the_original_file_name(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("<robot name='r'><joint/></robot>", "utf-8")
    with pytest.raises(DalembertError) as raised:
        run_task(tmp_path, "import", key=dropped(tmp_path, path))
    assert str(raised.value).startswith("robot.urdf")
    assert str(tmp_path) not in str(raised.value)
    picture = tmp_path / "robot.png"
    picture.write_bytes(b"PNG")
    with pytest.raises(DalembertError, match=r"robot\.png: files with the suffix '\.png' cannot be read"):
        run_task(tmp_path, "import", key=dropped(tmp_path, picture))


def test_draft_of_another_tab(tmp_path):
    Folder(tmp_path).save_draft("abcdefgh", {"name": "mine", "text": "name = 'mine'", "settings": {}})
    assert run_task(tmp_path, "draft", key="abcdefgh")["text"] == "name = 'mine'"
    with pytest.raises(DalembertError, match="no longer stored"):
        run_task(tmp_path, "draft", key="hgfedcba")
