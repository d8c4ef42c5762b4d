"""The server of the studio: access control, assets, uploads, and reconnecting tabs."""

import asyncio
import contextlib
import gzip
import json
import os
import signal
import socket
import sys
import time
from typing import Any

import pytest
from studio_client import SECONDS, TEXT, TOKEN, Client, answer, program, receive, studio_here
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dalembert.cli.entry_point import main
from dalembert.display.viewer import studio_file
from dalembert.errors import ComputationError, InputError
from dalembert.studio import protocol, server
from dalembert.studio.app import Studio
from dalembert.studio.folder import OWN, Folder
from dalembert.studio.server import initial_content
from dalembert.studio.tasks import Task

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
HOST = "127.0.0.1:8000"
HERE = {"host": HOST}
OURS = {**HERE, "origin": f"http://{HOST}"}


@pytest.fixture
def studio(tmp_path):
    return Studio(tmp_path, TOKEN, [HOST, "localhost:8000"])


def request(studio, path="/", method="GET", headers=HERE, pieces=(), kind="http", token=TOKEN):
    """Return status, headers and body of the response to a request sent in pieces; None is a disconnect."""
    target, _, query = path.partition("?")
    scope = {
        "type": kind,
        "path": f"/{token}{target}" if token else target,
        "raw_path": b"",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
        **({"method": method} if kind == "http" else {"subprotocols": []}),
    }
    sent = []

    async def coming():
        for piece in pieces:
            yield (
                {"type": "http.disconnect"}
                if piece is None
                else {"type": "http.request", "body": piece, "more_body": True}
            )
        yield {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.Event().wait()

    messages = coming()

    async def receive():
        return {"type": "websocket.connect"} if kind == "websocket" else await anext(messages)

    async def send(message):
        sent.append(message)

    asyncio.run(studio.app(scope, receive, send))
    if sent[0]["type"] == "websocket.close":
        return 403, {}, sent[0]["reason"].encode()
    body = b"".join(each.get("body", b"") for each in sent[1:])
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}, body


# access control


@pytest.mark.parametrize(
    ("headers", "change", "status"),
    [
        (HERE, {}, 200),
        ({"host": "LOCALHOST:8000"}, {}, 200),
        (OURS, {}, 200),
        ({**HERE, "sec-fetch-site": "none"}, {}, 200),
        ({**HERE, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, {}, 200),
        ({}, {}, 421),
        ({"host": "127.0.0.1"}, {}, 421),
        ({"host": "127.0.0.1:8001"}, {}, 421),
        ({"host": "evil.example:8000"}, {}, 421),
        ({"host": "127.0.0.1.evil.example:8000"}, {}, 421),
        ({"host": "10.0.0.7:8000"}, {}, 421),
        ({**HERE, "origin": "http://evil.example"}, {}, 403),
        ({**HERE, "origin": "https://127.0.0.1:8000"}, {}, 403),
        ({**HERE, "origin": "http://localhost:8000"}, {}, 403),
        ({**HERE, "origin": "http://127.0.0.1:8001"}, {}, 403),
        ({**HERE, "origin": "http://x@127.0.0.1:8000"}, {}, 403),
        ({**HERE, "origin": "null"}, {}, 403),
        ({**HERE, "origin": ""}, {}, 403),
        ({**HERE, "sec-fetch-site": "cross-site"}, {}, 403),
        ({**HERE, "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, {}, 403),
        ({**HERE, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, {}, 403),
        (HERE, {"token": ""}, 403),
        (HERE, {"token": TOKEN[:-1]}, 403),
        (HERE, {"token": TOKEN.upper()}, 403),
        (HERE, {"token": f"x/{TOKEN}"}, 403),
        (HERE, {"token": "é\udcff".encode("utf-8", "replace").decode()}, 403),
        (HERE, {"path": "/" + "x" * 3000}, 403),
        (HERE, {"method": "POST", "path": "/upload"}, 403),
        (OURS, {"method": "POST"}, 405),
        (OURS, {"method": "DELETE", "path": "/files/x"}, 405),
        (OURS, {"method": "TRACE"}, 405),
        (OURS, {"path": "/upload"}, 404),
        (HERE, {"kind": "websocket", "path": "/socket/0123456789abcdef"}, 403),
        ({**HERE, "origin": "http://evil.example"}, {"kind": "websocket", "path": "/socket/0123456789abcdef"}, 403),
        (OURS, {"kind": "websocket", "path": "/socket/0123456789abcdef", "token": "x"}, 403),
    ],
)
def test_access_control(studio, headers, change, status):
    found, _, body = request(studio, headers=headers, **change)
    assert found == status
    if status != 200:
        assert len(body) < 200
        assert TOKEN.encode() not in body


def test_public_server_accepts_numeric_addresses_but_no_foreign_names(tmp_path):
    wide = Studio(tmp_path, TOKEN, server.accepted_hosts("0.0.0.0", 8000), port=8000)
    for host, status in {
        "10.0.0.7:8000": 200,
        "[fe80::1]:8000": 200,
        f"{socket.gethostname()}:8000": 200,
        "10.0.0.7:8001": 421,
        "evil.example:8000": 421,
        "10.0.0.7.evil.example:8000": 421,
    }.items():
        assert request(wide, headers={"host": host})[0] == status, host


def test_page_policy_allows_only_its_own_script(studio):
    status, headers, body = request(studio)
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert f'data-nonce="{nonce}"'.encode() in body
    assert request(studio)[1]["content-security-policy"] != policy  # a new nonce each time


def test_assets_are_compressed_and_cached(studio):
    _, headers, body = request(studio, "/studio.js", headers={**HERE, "accept-encoding": "gzip, br"})
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(body).decode() == studio_file("studio.js")
    status, _, body = request(studio, "/studio.js", headers={**HERE, "if-none-match": headers["etag"]})
    assert (status, body) == (304, b"")
    assert request(studio, "/studio.css")[2].decode() == studio_file("studio.css")
    for path in ("/viewer.js", "/studio.py", "/../studio.js", "/files/", "/socket/0123456789abcdef"):
        assert request(studio, path)[0] == 404


def test_files_are_downloads_and_never_displayed(studio, tmp_path):
    (tmp_path / "page.html").write_text("<script>")
    status, headers, body = request(studio, "/files/page.html")
    assert (status, body) == (200, b"<script>")
    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-security-policy"] == "sandbox"
    (tmp_path.parent / "outside.txt").write_text("x")
    for name in ("../outside.txt", "..%2foutside.txt", f"{OWN}/.gitignore", ".gitignore", "", "no.txt", "\x00", "a\\b"):
        assert request(studio, f"/files/{name}")[0] == 404, name


# uploads


def test_uploaded_file_is_stored_under_a_key(studio, tmp_path):
    status, _, body = request(studio, "/upload?name=..%2Fmy%20robot.urdf", "POST", OURS, [b"<robot", b"/>"])
    assert status == 200
    name, path = Folder(tmp_path).upload(json.loads(body)["key"])
    assert (name, path.read_bytes()) == ("my-robot.urdf", b"<robot/>")


@pytest.mark.parametrize("announced", ["1000000000", "-1", "x", "9" * 5000])
def test_upload_with_too_large_content_length_is_not_read(studio, announced, tmp_path):
    status, headers, body = request(studio, "/upload?name=a", "POST", {**OURS, "content-length": announced}, [None])
    assert status == 413
    assert headers["connection"] == "close"
    assert b"Expected at most 20000000" in body
    assert not (tmp_path / OWN).exists()


def test_upload_stops_at_the_size_limit(studio, tmp_path):
    read = []

    def pieces():
        for number in range(10_000):
            read.append(number)
            yield b"x" * 1_000_000

    status, _, body = request(studio, "/upload?name=a", "POST", OURS, pieces())
    assert status == 413
    assert b"Expected at most 20000000" in body
    assert len(read) <= 22
    assert list((tmp_path / OWN / "uploads").iterdir()) == []


def test_incomplete_upload_leaves_no_file(studio, tmp_path, monkeypatch):
    status, _, body = request(studio, "/upload?name=a", "POST", OURS, [b"x", None])
    assert (status, b"before the file was complete" in body) == (413, True)
    assert list((tmp_path / OWN / "uploads").iterdir()) == []


# messages of a tab


def _slow(given, folder, progress) -> dict[str, Any]:
    progress(0.5, "half")
    while not (folder.root / "go").exists():
        time.sleep(0.01)
    return {"slept": True}


TRIALS = {
    "slow": Task(_slow),
    "pid": Task(lambda given, folder, progress: {"pid": os.getpid()}),
    "quick": Task(lambda given, folder, progress: {"answer": given.string("text", "")}, quick=True),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with studio_here(tmp_path_factory.mktemp("studio"), TRIALS) as found:
        yield found


@pytest.fixture
def go(client):
    """The file that slow tasks wait for."""
    path = client.studio.folder.root / "go"
    yield path
    path.unlink(missing_ok=True)


def test_new_tab_gets_a_welcome_and_answers(client):
    with client.connect("aaaaaaaa") as tab:
        welcome = receive(tab)
        assert welcome["draft"] is None
        assert welcome["first"] == {"text": TEXT}
        assert welcome["pending"] == {}
        assert answer(tab, 1, "quick", {"text": "é"})["result"] == {"answer": "é"}
        assert answer(tab, 2, "describe", {"text": TEXT})["result"]["name"] == "pendulum"


def test_draft_is_restored(client):
    with client.connect("bbbbbbbb") as tab:
        receive(tab)
        tab.send(json.dumps({"save": {"name": "<b>", "text": "mine"}}))
        assert receive(tab) == {"saved": True}
        tab.send(json.dumps({"save": 3}))
        assert receive(tab)["saved"] is False
    with client.connect("bbbbbbbb") as tab:
        welcome = receive(tab)
        assert welcome["draft"] == {"name": "<b>", "text": "mine"}
        assert "first" not in welcome
        assert any(each["key"] == "bbbbbbbb" for each in welcome["drafts"])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("[]", "not a JSON object"),
        ("{", "not a JSON object"),
        ('{"id": NaN}', "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ('{"id": ' + "9" * 5000 + "}", "not a JSON object"),
        ("{}", "needs an id"),
        ('{"id": true, "task": "quick"}', "needs an id"),
        ('{"id": -1, "task": "quick"}', "needs an id"),
        ('{"id": 1e3, "task": "quick"}', "needs an id"),
        ('{"id": 1}', "there is no task"),
        ('{"id": 1, "task": ' + "[" * 400 + "]" * 400 + "}", "there is no task"),
        ('{"id": 1, "task": "__class__"}', "there is no task '__class__'"),
        ('{"id": 1, "task": "\\ud800"}', "there is no task"),
        ('{"id": 1, "task": "quick", "arguments": 3}', "Expected an object with named values"),
        ('{"id": 1, "task": "quick", "arguments": {"text": "\\ud800"}}', "Expected a string"),
    ],
)
def test_invalid_message_gets_an_error(client, message, words):
    with client.connect("cccccccc") as tab:
        receive(tab)
        tab.send(message)
        assert words in receive(tab)["error"]["message"]
        assert answer(tab, 5, "quick")["result"] == {"answer": ""}


def test_cancelling_a_task_does_not_affect_another_tab(client, go):
    with client.connect("dddddddd") as one, client.connect("eeeeeeee") as other:
        receive(one)
        receive(other)
        for tab in (one, other):
            tab.send('{"id": 7, "task": "slow"}')
            assert receive(tab)["progress"] == 0.5
        one.send('{"cancel": 7}')
        assert receive(one) == {"id": 7, "error": {"kind": "cancelled", "message": "cancelled."}}
        assert answer(one, 8, "quick")["result"] == {"answer": ""}
        go.touch()
        assert receive(other, lambda message: "result" in message)["result"] == {"slept": True}


def test_killed_process_loses_only_one_answer(client):
    with client.connect("ffffffff") as one, client.connect("gggggggg") as other:
        receive(one)
        receive(other)
        pid = answer(one, 1, "pid")["result"]["pid"]
        one.send('{"id": 2, "task": "slow"}')
        receive(one)
        os.kill(pid, signal.SIGKILL)
        error = receive(one, lambda message: "error" in message)["error"]
        assert error["kind"] == "work"
        assert "ended by the signal SIGKILL" in error["message"]
        assert "Other results are not affected" in error["message"]
        assert "result" in answer(other, 1, "quick")
        assert answer(one, 3, "pid")["result"]["pid"] != pid


def test_number_of_pending_tasks_per_tab_is_limited(client, go):
    with client.connect("hhhhhhhh") as tab:
        receive(tab)
        for number in range(protocol.MAX_PENDING + 1):
            tab.send(json.dumps({"id": number, "task": "slow"}))
        error = receive(tab, lambda message: "error" in message)
        assert error["id"] == protocol.MAX_PENDING
        assert "16 tasks of this tab are pending" in error["error"]["message"]
        tab.send(json.dumps({"id": 0, "task": "slow"}))
        assert "a unique id" in receive(tab, lambda message: "error" in message)["error"]["message"]
        go.touch()
        found = {receive(tab, lambda message: "result" in message)["id"] for _ in range(protocol.MAX_PENDING)}
        assert found == set(range(protocol.MAX_PENDING))


def test_reloaded_tab_gets_the_answer_of_its_task(client, go):
    with client.connect("iiiiiiii") as tab:
        receive(tab)
        tab.send('{"id": 41, "task": "slow"}')
        receive(tab)
    go.touch()
    time.sleep(0.2)  # it may end while the tab is disconnected
    with client.connect("iiiiiiii") as tab:
        assert receive(tab)["pending"] == {"41": "slow"}
        assert receive(tab) == {"id": 41, "result": {"slept": True}}
    with client.connect("iiiiiiii") as tab:
        assert receive(tab)["pending"] == {}


def test_tab_that_does_not_reconnect_is_closed(client, monkeypatch):
    monkeypatch.setattr(protocol, "RECONNECT_SECONDS", 0.05)
    with client.connect("jjjjjjjj") as tab:
        receive(tab)
        pid = answer(tab, 1, "pid")["result"]["pid"]
        tab.send('{"id": 2, "task": "slow"}')
        receive(tab)
    end = time.monotonic() + SECONDS
    while pid in client.studio.long.pids and time.monotonic() < end:
        time.sleep(0.01)
    assert pid not in client.studio.long.pids
    with client.connect("jjjjjjjj") as tab:
        assert receive(tab)["pending"] == {}


def test_older_of_two_pages_with_one_key_is_closed(client):
    with client.connect("kkkkkkkk") as older:
        receive(older)
        with client.connect("kkkkkkkk") as newer:
            receive(newer)
            with pytest.raises(ConnectionClosed) as closed:
                older.recv(SECONDS)
            assert closed.value.rcvd
            assert closed.value.rcvd.code == protocol.CODE_REPLACED
            assert "result" in answer(newer, 1, "quick")


def test_keys_of_tabs_are_validated(client):
    for key in ("short", "..%5c..%5cetc", "A" * 16, "a" * 40):
        with client.connect(key) as tab, pytest.raises(ConnectionClosed) as closed:
            tab.recv(SECONDS)
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 4400
    for key in ("a/b/c", "..%2f..%2fetc"):
        with pytest.raises(InvalidStatus):
            client.connect(key)


# startup


def test_port_in_use_is_reported():
    with server.listen("127.0.0.1", 0) as door, pytest.raises(ComputationError, match="cannot be used"):
        server.listen("127.0.0.1", door.getsockname()[1])
    with pytest.raises(InputError, match="is not an address of this machine"):
        server.listen("no-such-host.invalid", 0)


def test_host_names_of_the_server():
    assert server.accepted_hosts("::1", 9)[0] == "[::1]:9"
    assert server.accepted_hosts("Example", 9)[0] == "example:9"
    assert "localhost" in server.accepted_hosts("127.0.0.1", 80)
    if socket.has_ipv6:
        with contextlib.suppress(ComputationError), server.listen("::1", 0) as door:
            assert door.family == socket.AF_INET6


@pytest.mark.parametrize("name", ["", "four-bar", "rolling-disk"])
def test_studio_starts_with_an_example(tmp_path, name):
    first = initial_content(name, Folder(tmp_path))
    assert first["described"]["problems"] == []
    assert first["described"]["name"] == (name or "four-bar")
    assert f'name = "{name or "four-bar"}"' in first["text"]
    assert list(tmp_path.iterdir()) == []


def test_studio_starts_with_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert initial_content(str(path), Folder(tmp_path))["text"] == TEXT
    robot = tmp_path / "robot.urdf"
    robot.write_text('<robot name="one"><link name="base"/></robot>')
    with contextlib.suppress(InputError):
        assert "one" in initial_content(str(robot), Folder(tmp_path))["text"]
    path.write_text(TEXT.replace("mass = 1", "mass = -1"))
    assert initial_content(str(path), Folder(tmp_path))["described"]["problems"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.toml", None, "there is no such file"),
        ("four-bra", None, "there is no model 'four-bra'"),
        ("a.xyz", b"x", "is not a supported model file"),
        ("a.urdf", b"<robot", "a.urdf"),
        ("a.toml", b"\xff\xfe\x00", "a.toml"),
        ("a.mat", b"x", "a.mat"),
        ("a.toml", b"#" * 3_000_000, "a.toml"),
    ],
)
def test_unreadable_model_is_reported_before_the_server_starts(tmp_path, monkeypatch, capsys, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert main(["studio", name, "--no-browser"]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.out == ""


@pytest.mark.parametrize("words", ["--port 70000", "--workers 0", "--memory 0.1", "--timeout 0", "--memory nan"])
def test_options_are_validated(words, capsys):
    assert main(["studio", *words.split()]) == 2
    assert words.split()[0] in capsys.readouterr().err


def test_help_lists_all_options(capsys):
    assert main(["studio", "--help"]) == 0
    output = capsys.readouterr().out
    for word in (
        "MODEL",
        "--port",
        "--host",
        "--no-browser",
        "--workers",
        "--memory",
        "--timeout",
        "dalembert studio four-bar",
    ):
        assert word in output


# nightly: the program itself


LONG = {"text": TEXT, "duration": 1e5, "samples": 2}


def all_gone(pids):
    """Return True if all these processes end within a timeout."""
    end = time.monotonic() + SECONDS
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind(tmp_path, how):
    with program(tmp_path) as client, client.connect(close_timeout=1) as tab:
        receive(tab)
        assert "result" in answer(tab, 1, "describe", {"text": TEXT})
        tab.send(json.dumps({"id": 2, "task": "simulate", "arguments": LONG}))
        receive(tab)
        pids = client.below()
        assert len(pids) >= 3
        os.kill(client.pid, how)
        assert client.ended() == (0 if how == signal.SIGINT else -how)
        assert all_gone(pids)


@pytest.mark.nightly
def test_several_studios_in_one_folder(tmp_path):
    with program(tmp_path) as one, program(tmp_path, "cart-pendulum", "--host", "localhost") as other:
        assert one.host != other.host
        for client, name in ((one, "four-bar"), (other, "cart-pendulum")):
            with client.connect(f"{name.replace('-', '')}0000") as tab:
                assert receive(tab)["first"]["described"]["name"] == name
                tab.send(json.dumps({"save": {"name": name}}))
                assert receive(tab, lambda message: "saved" in message)["saved"]
        assert Client(one.host, other.token).request("")[0] == 403
