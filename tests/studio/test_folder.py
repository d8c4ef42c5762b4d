"""The folder of a studio: only plain names, bounded numbers of files, and no access outside."""

import json
import os
import time
from typing import Any

import pytest

from dalembert.errors import InputError
from dalembert.studio import folder as folders
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
def test_keys_are_lowercase_letters_and_digits(tmp_path, key):
    folder = Folder(tmp_path)
    for use in (folder.draft, folder.run, folder.upload, lambda it: folder.save_draft(it, {})):
        with pytest.raises(InputError, match="Expected 8 to 32 lowercase letters and digits"):
            use(key)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", BAD_NAMES)
def test_files_have_plain_names(tmp_path, name):
    (tmp_path / ".hidden").write_text("x")
    with pytest.raises(InputError, match="there is no file"):
        Folder(tmp_path).file(name)


@pytest.mark.skipif(os.name != "posix", reason="links need permissions on Windows")
def test_links_are_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret.toml").write_text("x")
    (inside / "secret.toml").symlink_to(outside / "secret.toml")
    (inside / OWN).symlink_to(outside)
    folder = Folder(inside)
    with pytest.raises(InputError, match="there is no file"):
        folder.file("secret.toml")
    for write in (lambda: folder.save_draft(KEY, {}), folder.new_run, lambda: folder.new_upload("a.toml")):
        with pytest.raises(InputError, match="is a symbolic link"):
            write()
    assert [path.name for path in outside.iterdir()] == ["secret.toml"]


def test_free_name_is_never_in_use(tmp_path):
    folder = Folder(tmp_path)
    (tmp_path / "arm.toml").write_text("mine")
    assert folder.free("arm", ".toml").name == "arm-2.toml"
    for stem in ("../../x", "<script>alert(1)</script>", "", "...", "\x00", "a" * 500, "con/../y", "NUL", "com1.x"):
        path = folder.free(stem, ".toml")
        assert path.parent == tmp_path
        assert folders._NAME.fullmatch(path.name)
        assert not folders._RESERVED.match(path.name)


def test_only_the_newest_drafts_are_stored(tmp_path):
    folder = Folder(tmp_path)
    for number in range(folders.MAX_DRAFTS + 3):
        folder.save_draft(f"{number:08d}", {"name": f"model {number}", "text": "é"})
        os.utime(tmp_path / OWN / "drafts" / f"{number:08d}.json", (number, number))
    found = folder.drafts()
    assert len(found) == folders.MAX_DRAFTS
    assert found[0]["name"] == f"model {folders.MAX_DRAFTS + 2}"
    assert folder.draft("00000000") is None
    assert (folder.draft(found[0]["key"]) or {})["text"] == "é"
    assert (tmp_path / OWN / ".gitignore").read_text() == "*\n"


def test_draft_that_cannot_be_saved_leaves_the_last_one(tmp_path):
    folder = Folder(tmp_path)
    folder.save_draft(KEY, {"text": "good"})
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for draft, words in (
        ({"text": "x" * folders.MAX_DRAFT}, "Expected at most"),
        ({"x": float("nan")}, "a non-finite number"),
        (deep, "nested too deeply"),
    ):
        with pytest.raises(InputError, match=words):
            folder.save_draft(KEY, draft)
    assert folder.draft(KEY) == {"text": "good"}


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00", '{"a":' * 100_000, "1" * 5000])
def test_unreadable_draft_is_none(tmp_path, text):
    folder = Folder(tmp_path)
    folder.save_draft(KEY, {})
    (tmp_path / OWN / "drafts" / f"{KEY}.json").write_text(text)
    assert folder.draft(KEY) is None
    assert json.dumps(folder.drafts()) == "[]"


def test_uploads_have_their_suffix_and_no_path(tmp_path):
    folder = Folder(tmp_path)
    for name, stored in (
        ("robot.urdf", "robot.urdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\arm.m", "arm.m"),
        ("<b>x</b>.toml", "b-.toml"),
        ("", "model"),
        ("x" * 300 + ".mat", "x" * 76 + ".mat"),
    ):
        key, path = folder.new_upload(name)
        path.write_bytes(b"1")
        assert folder.upload(key) == (stored, path)
        assert path.parent == tmp_path / OWN / "uploads"
    with pytest.raises(InputError, match="no longer stored"):
        folder.upload(KEY)


def test_uploads_and_runs_are_bounded_in_number(tmp_path):
    folder = Folder(tmp_path)
    for _ in range(folders.MAX_RUNS + 5):
        folder.new_run()[1].write_bytes(b"")
        folder.new_upload("a.csv")[1].write_bytes(b"")
    assert len(list((tmp_path / OWN / "runs").iterdir())) == folders.MAX_RUNS
    assert len(list((tmp_path / OWN / "uploads").iterdir())) == folders.MAX_UPLOADS


def test_unusual_draft_names_are_harmless(tmp_path):
    folder, name = Folder(tmp_path), []
    for _ in range(900):
        name = [name]
    folder.save_draft(KEY, {"name": name})
    assert [each["name"] for each in folder.drafts()] == [""]
    folder.save_draft(KEY, {"name": "x" * 1000})
    os.utime(tmp_path / OWN / "drafts" / f"{KEY}.json", (1, 1))
    assert [each["name"] for each in folder.drafts()] == ["x" * 200]


def test_old_incomplete_files_are_removed(tmp_path):
    folder = Folder(tmp_path)
    scratch = folder.scratch()
    for name, age in (("old", folders.STALE_SECONDS + 10), ("new", 0)):
        (scratch / name).mkdir()
        then = time.time() - age
        os.utime(scratch / name, (then, then))
        part = folder.new_upload("a.toml")[1].with_name(f".{name}.toml")
        part.write_text("half")
        os.utime(part, (then, then))
    folder.new_upload("a.toml")
    folder.scratch()
    assert [path.name for path in scratch.iterdir()] == ["new"]
    assert [path.name for path in (tmp_path / OWN / "uploads").iterdir()] == [".new.toml"]


def test_two_tasks_never_get_the_same_file_name(tmp_path):
    one, other = Folder(tmp_path), Folder(tmp_path)
    first = one.free("arm", ".csv")
    assert other.free("arm", ".csv") != first
    one.release()
    other.release()
    assert other.free("arm", ".csv") == first  # it was not written
