"""The folder of a studio: plain names only, bounded numbers of files, and nothing outside."""

import json
import os
import time
from typing import Any

import pytest

from dalembert.errors import InputError
from dalembert.studio import folder as rooms
from dalembert.studio.folder import OWN, Folder

KEY = "0123456789abcdef"
BAD_KEYS = ("", "short", "../../../etc", "A" * 16, "a" * 33, "abcdefgh/", "abcdefgh\x00", "abcd efgh", "abcdefg\n")
BAD_NAMES = (
    "",
    ".",
    "..",
    "../secret",
    "a/b",
    "/etc/passwd",
    "a\\b",
    ".hidden",
    "C:\\x",
    "a\x00b",
    "x" * 200,
    "a\n",
    "é",
)


@pytest.mark.parametrize("key", BAD_KEYS)
def test_keys_are_small_letters_and_digits(tmp_path, key):
    place = Folder(tmp_path)
    for use in (place.draft, place.run, place.upload, lambda it: place.save_draft(it, {})):
        with pytest.raises(InputError, match="Expected 8 to 32 small letters and digits"):
            use(key)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", BAD_NAMES)
def test_files_are_known_by_plain_names(tmp_path, name):
    (tmp_path / ".hidden").write_text("x")
    with pytest.raises(InputError, match="there is no file"):
        Folder(tmp_path).file(name)


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_links_are_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret.toml").write_text("x")
    (inside / "secret.toml").symlink_to(outside / "secret.toml")
    (inside / OWN).symlink_to(outside)
    place = Folder(inside)
    with pytest.raises(InputError, match="there is no file"):
        place.file("secret.toml")
    for write in (lambda: place.save_draft(KEY, {}), place.new_run, lambda: place.new_upload("a.toml")):
        with pytest.raises(InputError, match="leads elsewhere"):
            write()
    assert [path.name for path in outside.iterdir()] == ["secret.toml"]


def test_a_free_name_is_never_one_that_is_taken(tmp_path):
    place = Folder(tmp_path)
    (tmp_path / "arm.toml").write_text("mine")
    assert place.free("arm", ".toml").name == "arm-2.toml"
    for stem in ("../../x", "<script>alert(1)</script>", "", "...", "\x00", "a" * 500, "con/../y", "NUL", "com1.x"):
        path = place.free(stem, ".toml")
        assert path.parent == tmp_path
        assert rooms._NAME.fullmatch(path.name)
        assert not rooms._RESERVED.match(path.name)


def test_drafts_come_back_and_only_the_newest_are_kept(tmp_path):
    place = Folder(tmp_path)
    for number in range(rooms.MOST_DRAFTS + 3):
        place.save_draft(f"{number:08d}", {"name": f"model {number}", "text": "é"})
        os.utime(tmp_path / OWN / "drafts" / f"{number:08d}.json", (number, number))
    found = place.drafts()
    assert len(found) == rooms.MOST_DRAFTS
    assert found[0]["name"] == f"model {rooms.MOST_DRAFTS + 2}"
    assert place.draft("00000000") is None
    assert (place.draft(found[0]["key"]) or {})["text"] == "é"
    assert (tmp_path / OWN / ".gitignore").read_text() == "*\n"


def test_a_draft_that_cannot_be_kept_leaves_the_last_one(tmp_path):
    place = Folder(tmp_path)
    place.save_draft(KEY, {"text": "good"})
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for draft, words in (
        ({"text": "x" * rooms.MAX_DRAFT}, "Expected at most"),
        ({"x": float("nan")}, "a number that is none"),
        (deep, "nested too deeply"),
    ):
        with pytest.raises(InputError, match=words):
            place.save_draft(KEY, draft)
    assert place.draft(KEY) == {"text": "good"}


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00", '{"a":' * 100_000, "1" * 5000])
def test_a_broken_draft_is_none(tmp_path, text):
    place = Folder(tmp_path)
    place.save_draft(KEY, {})
    (tmp_path / OWN / "drafts" / f"{KEY}.json").write_text(text)
    assert place.draft(KEY) is None
    assert json.dumps(place.drafts()) == "[]"


def test_uploads_keep_their_ending_and_nothing_else_of_a_path(tmp_path):
    place = Folder(tmp_path)
    for given, kept in (
        ("robot.urdf", "robot.urdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\arm.m", "arm.m"),
        ("<b>x</b>.toml", "b-.toml"),
        ("", "model"),
        ("x" * 300 + ".mat", "x" * 76 + ".mat"),
    ):
        key, path = place.new_upload(given)
        path.write_bytes(b"1")
        assert place.upload(key) == (kept, path)
        assert path.parent == tmp_path / OWN / "uploads"
    with pytest.raises(InputError, match="no longer kept"):
        place.upload(KEY)


def test_uploads_and_runs_are_bounded_in_number(tmp_path):
    place = Folder(tmp_path)
    for _ in range(rooms.MOST_RUNS + 5):
        place.new_run()[1].write_bytes(b"")
        place.new_upload("a.csv")[1].write_bytes(b"")
    assert len(list((tmp_path / OWN / "runs").iterdir())) == rooms.MOST_RUNS
    assert len(list((tmp_path / OWN / "uploads").iterdir())) == rooms.MOST_UPLOADS


def test_a_strange_name_of_a_draft_does_no_harm(tmp_path):
    place, name = Folder(tmp_path), []
    for _ in range(900):
        name = [name]
    place.save_draft(KEY, {"name": name})
    assert [each["name"] for each in place.drafts()] == [""]
    place.save_draft(KEY, {"name": "x" * 1000})
    os.utime(tmp_path / OWN / "drafts" / f"{KEY}.json", (1, 1))
    assert [each["name"] for each in place.drafts()] == ["x" * 200]


def test_what_was_left_behind_is_removed(tmp_path):
    place = Folder(tmp_path)
    scratch = place.scratch()
    for name, age in (("old", rooms.LEFT_BEHIND + 10), ("new", 0)):
        (scratch / name).mkdir()
        then = time.time() - age
        os.utime(scratch / name, (then, then))
        part = place.new_upload("a.toml")[1].with_name(f".{name}.toml")
        part.write_text("half")
        os.utime(part, (then, then))
    place.new_upload("a.toml")
    place.scratch()
    assert [path.name for path in scratch.iterdir()] == ["new"]
    assert [path.name for path in (tmp_path / OWN / "uploads").iterdir()] == [".new.toml"]


def test_two_tasks_never_get_the_same_name(tmp_path):
    one, other = Folder(tmp_path), Folder(tmp_path)
    first = one.free("arm", ".csv")
    assert other.free("arm", ".csv") != first
    one.release()
    other.release()
    assert other.free("arm", ".csv") == first  # nobody wrote it
