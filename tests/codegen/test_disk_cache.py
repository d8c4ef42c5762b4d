"""The disk cache: an entry is valid only under its own key, and a folder writable by others is rejected with a warning."""

import ctypes
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalembert.codegen import disk_cache
from dalembert.codegen.disk_cache import CODE, TRACE, read_entry, write_entry
from dalembert.codegen.function import NativeFunction
from dalembert.codegen.llvm.loop_statements import c_functions
from dalembert.codegen.program import program_of
from dalembert.errors import CacheWarning
from dalembert.symbolic.algebra_base import vector
from dalembert.symbolic.graph import GRAPH

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no owners and modes of this kind")
ROOT = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a file to another user")
KEYS = ["a" * 64, "b" * 64, "0f" * 32]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A separate disk cache, with no warning issued before."""
    monkeypatch.setattr(disk_cache, "_REPORTED", set())
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def multiple(factor):
    """A compiled function that multiplies by a number; two of them swapped on disk would be called with each other's layout."""
    return NativeFunction(program_of(vector(GRAPH.symbols(["x"]) * factor), ["x"]))


def test_an_entry_is_found_under_its_key(folder):
    for kind in (CODE, TRACE):
        write_entry(KEYS[0], kind, kind.encode())
    assert [read_entry(KEYS[0], kind) for kind in (CODE, TRACE)] == [b"o", b"trace"]
    assert read_entry(KEYS[1], CODE) is None
    assert os.stat(folder).st_mode & 0o077 == 0


def test_the_oldest_half_is_deleted_beyond_the_limit_of_files(folder, monkeypatch):
    monkeypatch.setattr(disk_cache, "_MAX_FILES", 5)
    digests = [f"{digit}{i}" for i, digit in enumerate("1234560")]
    for age, digest in enumerate(digests[:-1]):
        write_entry(digest, CODE, digest.encode())
        (path,) = folder.glob(f"{digest}-*")
        os.utime(path, (age, age))
    write_entry(digests[0], TRACE, b"another type")
    assert all(read_entry(digest, CODE) for digest in digests[:-1])  # files are counted at some keys only
    write_entry(digests[-1], CODE, b"last")
    assert [bool(read_entry(digest, CODE)) for digest in digests] == [False] * 3 + [True] * 4
    assert read_entry(digests[0], TRACE) == b"another type"


def test_two_valid_objects_swapped_on_disk_are_not_run(folder):
    """The wrong machine code would give wrong numbers, or crash the process."""
    first = multiple(3)(np.array([2.0]), np.zeros(0))
    (a,) = folder.iterdir()
    second = multiple(7)(np.array([2.0]), np.zeros(0))
    (b,) = set(folder.iterdir()) - {a}
    contents = a.read_bytes(), b.read_bytes()
    a.write_bytes(contents[1])
    b.write_bytes(contents[0])
    assert multiple(3)(np.array([2.0]), np.zeros(0)) == first == [6.0]
    assert multiple(7)(np.array([2.0]), np.zeros(0)) == second == [14.0]
    assert (a.read_bytes(), b.read_bytes()) == contents  # recompiled and stored


DAMAGES = st.one_of(
    st.tuples(st.just("truncate"), st.integers(0, 200)),
    st.tuples(st.just("flip"), st.integers(0, 10_000), st.integers(1, 255)),
    st.tuples(st.just("extend"), st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("swap"), st.sampled_from([(KEYS[1], CODE), (KEYS[2], TRACE), (KEYS[0], TRACE)])),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), DAMAGES)
def test_a_damaged_or_exchanged_entry_is_not_read(folder, data, damage):
    write_entry(KEYS[0], CODE, data)
    path = disk_cache._path(folder, KEYS[0], CODE)
    content = bytearray(path.read_bytes())
    match damage:
        case "truncate", count:
            content = content[: min(count, len(content) - 1)]
        case "flip", at, bits:
            content[at % len(content)] ^= bits
        case "extend", more:
            content += more
        case "swap", (key, kind):
            write_entry(key, kind, data)  # the same content is valid only under its own key
            content = bytearray(disk_cache._path(folder, key, kind).read_bytes())
    path.write_bytes(content)
    assert read_entry(KEYS[0], CODE) is None
    write_entry(KEYS[0], CODE, data)
    assert read_entry(KEYS[0], CODE) == data


def rejected(match):
    """The warning for a rejected folder; nothing is read from it or written to it."""
    with pytest.warns(CacheWarning, match=match) as caught:
        assert read_entry(KEYS[0], CODE) is None
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # only once
        write_entry(KEYS[1], CODE, b"new")
        assert read_entry(KEYS[0], CODE) is None
        assert multiple(5)(np.array([2.0]), np.zeros(0)) == [10.0]


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o757, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_is_rejected(folder, mode):
    write_entry(KEYS[0], CODE, b"code")
    folder.chmod(mode)
    rejected(f"cache is not used: its mode {mode:04o} lets other users write")
    assert len(list(folder.iterdir())) == 1
    folder.chmod(0o755)  # others may read
    assert read_entry(KEYS[0], CODE) == b"code"


@ROOT
def test_a_folder_of_another_user_is_rejected(folder):
    write_entry(KEYS[0], CODE, b"code")
    os.chown(folder, 12345, -1)
    rejected("it is owned by the user with id 12345, but this process runs as 0")


@POSIX
def test_a_symbolic_link_is_rejected(folder):
    write_entry(KEYS[0], CODE, b"code")
    folder.rename(folder.with_name("real"))
    folder.symlink_to(folder.with_name("real"))
    rejected("it is a symbolic link")


@ROOT
def test_a_file_of_another_user_is_not_read(folder):
    write_entry(KEYS[0], CODE, b"code")
    path = disk_cache._path(folder, KEYS[0], CODE)
    os.chown(path, 12345, -1)
    assert read_entry(KEYS[0], CODE) is None
    write_entry(KEYS[0], CODE, b"code")
    assert read_entry(KEYS[0], CODE) == b"code"


@POSIX
def test_a_file_that_others_can_write_or_a_link_is_not_read(folder, tmp_path):
    write_entry(KEYS[0], CODE, b"code")
    path = disk_cache._path(folder, KEYS[0], CODE)
    path.chmod(0o666)
    assert read_entry(KEYS[0], CODE) is None
    path.chmod(0o644)
    assert read_entry(KEYS[0], CODE) == b"code"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert read_entry(KEYS[0], CODE) is None


@POSIX
def test_the_command_line_names_the_folder_on_stderr(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    arguments = ["simulate", "simple-pendulum", "--duration", "0.1", "--integrator", "dop853"]
    command = [sys.executable, "-m", "dalembert", *arguments]
    surroundings = os.environ | {"DALEMBERT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings)
    assert done.stderr.count("the disk cache") == 1
    assert not list((tmp_path / "cache").iterdir())


def tripled(x: np.ndarray, p: np.ndarray, tables: np.ndarray, out: np.ndarray) -> None:
    out[0] = 3.0 * x[0]


def test_compiled_functions_are_in_the_same_folder(folder):
    def call():
        (address,) = c_functions({tripled: ()})
        x, out = np.array([2.0]), np.zeros(1)
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)(x.ctypes.data, 0, 0, out.ctypes.data)
        return out[0]

    assert call() == 6.0
    (path,) = folder.glob("*.o")
    before = path.stat().st_mtime_ns
    assert call() == 6.0
    assert path.stat().st_mtime_ns == before  # read, not compiled
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert call() == 6.0
    assert path.stat().st_mtime_ns != before
