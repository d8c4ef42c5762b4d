"""Hostile requests, invalid messages, huge files, many clients: no crash, no writes elsewhere, no answer without the token.

A few hundred messages to a studio in this process daily; ten thousand to the program itself nightly.
"""

import contextlib
import inspect
import json
import random
import re
import socket
import threading
from pathlib import Path

import pytest
from studio_client import SECONDS, TEXT, Client, answer, program, receive, studio_here
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from dalembert.studio import server, tasks
from dalembert.studio.app import Options
from dalembert.studio.folder import MAX_UPLOAD, OWN
from dalembert.studio.tasks import TASKS

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
MARKUP = "<img src=x onerror=alert(1)>"
TRAVERSAL = (
    "files/../../etc/passwd",
    "files/%2e%2e/%2e%2e/etc/passwd",
    "files/..%2f..%2fetc%2fpasswd",
    "files//etc/passwd",
    "files/%00",
    "files/....//....//etc/passwd",
    "files/..%5c..%5cwindows",
    f"files/{OWN}%2f.gitignore",
    "../../../etc/passwd",
    "%2e%2e/secret",
    "studio.js/../../x",
    "talk/../x",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    outer = tmp_path_factory.mktemp("outer")
    (outer / "secret").write_text("not yours")
    (outer / "inner").mkdir()
    with studio_here(outer / "inner", options=Options(quick_seconds=SECONDS, seconds=SECONDS)) as found:
        yield found


def listing(folder: Path, without: Path) -> dict[str, tuple[int, int]]:
    """Return all files below a folder but not below another one, with their sizes and times."""
    found = {}
    for path in folder.rglob("*"):
        if not path.is_relative_to(without) and not path.is_symlink():
            with contextlib.suppress(FileNotFoundError):
                found[str(path)] = path.stat().st_size, path.stat().st_mtime_ns
    return found


# requests


def raw(client: Client, data: bytes, seconds: float = SECONDS) -> bytes:
    """Return the response to bytes, until the server closes the connection or a timeout."""
    name, _, port = client.host.rpartition(":")
    found = b""
    with contextlib.suppress(OSError), socket.create_connection((name, int(port)), timeout=seconds) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        while len(found) < 1_000_000 and (piece := line.recv(65536)):
            found += piece
    return found


def request(client: Client, chance: random.Random) -> bytes:
    """Return an invalid request; none contains the token."""
    kind = chance.randrange(8)
    noise = chance.randbytes(chance.randrange(1, 400))
    host = f"Host: {client.host}\r\n".encode()
    token = chance.choice((b"", b"x" * 32, noise[:32].hex().encode(), client.token[:-1].encode(), b"..", b"%00", b"*"))
    if kind == 0:
        return noise
    if kind == 1:
        return b"GET /" + noise.replace(b"\n", b"") + b" HTTP/1.1\r\n" + host + b"\r\n"
    if kind == 2:
        return b"GET / HTTP/" + noise[:4] + b"\r\n\r\n"
    if kind == 3:
        many = b"".join(b"X-%d: %s\r\n" % (i, noise[:50].hex().encode()) for i in range(chance.randrange(2000)))
        return b"GET /" + token + b"/ HTTP/1.1\r\n" + host + many + b"\r\n"
    if kind == 4:
        word = chance.choice((b"DELETE", b"PUT", b"TRACE", b"CONNECT", b"OPTIONS", b"POST", b"HEAD", b"\x16\x03\x01"))
        return word + b" /" + token + b"/upload?name=a HTTP/1.1\r\n" + host + b"Content-Length: 5\r\n\r\nhello"
    if kind == 5:
        length = chance.choice((b"-1", b"9" * 30, b"x", b"5\r\nTransfer-Encoding: chunked", b"5\r\nContent-Length: 6"))
        return b"POST /" + token + b"/upload HTTP/1.1\r\n" + host + b"Content-Length: " + length + b"\r\n\r\n" + noise
    if kind == 6:
        upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + (
            chance.choice((b"dGhlIHNhbXBsZSBub25jZQ==", b"x", b"")) + b"\r\n"
        )
        return b"GET /" + token + b"/socket/0123456789abcdef HTTP/1.1\r\n" + host + upgrade + b"\r\n" + noise
    other = chance.choice((b"evil.example", b"127.0.0.1", b"", client.host.encode() + b"\r\nHost: evil.example"))
    return b"GET /" + client.token.encode() + b"/ HTTP/1.1\r\nHost: " + other + b"\r\n\r\n"


def send_requests(client: Client, count: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        found = raw(client, request(client, chance))
        assert not found.startswith(b"HTTP/1.1 2"), found[:200]
        assert not found.startswith(b"HTTP/1.1 101")
        assert not found.startswith(b"HTTP/1.1 5"), found[:200]
        assert client.token.encode() not in found
        assert b"<html" not in found


def send_paths(client: Client) -> None:
    for path in TRAVERSAL:
        for method in ("GET", "HEAD", "POST"):
            status, body = client.request(path, method, origin=f"http://{client.host}")
            assert status in (403, 404, 405), path
            assert b"root:" not in body
            assert b"not yours" not in body


# messages


def names() -> list[str]:
    """Return the names of all arguments of tasks, from their source code."""
    folder = Path(inspect.getfile(tasks)).parent
    found = {
        name for path in folder.glob("*.py") for name in re.findall(r"payload\.\w+\(\s*\"(\w+)\"", path.read_text())
    }
    return sorted(found | {"text"})


def strange(chance: random.Random, depth: int = 0) -> object:
    """Return a value that no task expects."""
    kinds = (
        None, True, False, 0, -1, 1, 3, 10**20, -(10**300), 1e308, 5e-324, "", "a", MARKUP, "\x00", "..", "__class__",
        "x" * 5000, "é∑\U0001f600", "NaN", "lagrange", "0123456789abcdef", TEXT[:40], "[[body]]", "a = " + "[" * 500, [], {},
    )  # fmt: skip
    pick = chance.randrange(len(kinds) + 4)
    if pick < len(kinds):
        return kinds[pick]
    if depth > 3:
        return []
    if pick == len(kinds):
        return {chance.choice(names()): strange(chance, depth + 1) for _ in range(chance.randrange(4))}
    if pick == len(kinds) + 1:
        deep: object = 0
        for _ in range(chance.randrange(1, 900)):
            deep = [deep] if chance.random() < 0.5 else {"a": deep}
        return deep
    return [strange(chance, depth + 1) for _ in range(chance.randrange(5))]


def questions(count: int, seed: int, right: float):
    """Yield requests for every task, most of them invalid; `right` is the fraction with a valid source."""
    chance, known, every = random.Random(seed), names(), sorted(TASKS)
    for number in range(count):
        given: object = {name: strange(chance) for name in chance.sample(known, chance.randrange(min(8, len(known))))}
        if isinstance(given, dict) and chance.random() < right:
            given["text"] = TEXT
        yield every[number % len(every)], strange(chance) if chance.random() < 0.05 else given


def noise(chance: random.Random) -> str | bytes:
    """Return an invalid message."""
    return chance.choice(
        (
            chance.randbytes(200),
            chance.randbytes(200).decode("latin-1"),
            "[" * chance.randrange(1, 100_000),
            '{"ask":' * 50_000,
            '{"id": 1' + "0" * chance.randrange(10_000) + ', "task": "describe"}',
            '{"id": NaN, "task": "describe"}',
            '{"id": 1, "task": "describe", "arguments": {"text": Infinity}}',
            '{"cancel": {"a": 1}}',
            '{"cancel": 99999999999999999999}',
            '{"save": "x"}',
            '{"save": {"x": 1e999}}',
            '{"save": ' + '{"a":' * 900 + "1" + "}" * 900 + "}",
            '{"id": 1, "task": "\\ud800", "arguments": {"\\udfff": "\\ud800"}}',
            "",
            "null",
            '"' + "x" * 100_000 + '"',
        )
    )


def send_messages(client: Client, count: int, seed: int, right: float = 0.0) -> list[str]:
    """Send messages of all kinds; every request gets an answer. Return the reported defects."""
    chance, defects = random.Random(seed), []
    with contextlib.ExitStack() as tabs:
        tab = tabs.enter_context(client.connect("fedcba9876543210"))
        receive(tab)
        for number, (task, given) in enumerate(questions(count, seed, right)):
            if number % 4 == 3:
                try:
                    tab.send(noise(chance))
                    tab.send('{"id": -5}')  # always answered
                    receive(tab)
                except ConnectionClosed:
                    tab = tabs.enter_context(client.connect("fedcba9876543210"))
                    receive(tab)
            error = answer(tab, 1000 + number, task, given).get("error", {})
            if error.get("kind") == "defect":
                defects.append(f"{task}: {error['message']} {json.dumps(given)[:300]}")
            assert len(json.dumps(error)) < 100_000
    return defects


def send_frames(client: Client, count: int, seed: int) -> None:
    """Send bytes that are not frames, after a valid handshake."""
    chance = random.Random(seed)
    for _ in range(count):
        with (
            contextlib.suppress(ConnectionClosed, InvalidStatus, InvalidMessage, OSError),
            client.connect("aaaabbbbccccdddd", close_timeout=0.1) as tab,
        ):
            receive(tab)
            tab.socket.sendall(chance.randbytes(chance.randrange(1, 300)))
            tab.socket.shutdown(socket.SHUT_RDWR)


def is_well(client: Client) -> None:
    """Assert that the studio still answers."""
    with client.connect("9999888877776666") as tab:
        receive(tab)
        assert answer(tab, 1, "describe", {"text": TEXT})["result"]["name"] == "pendulum"
    assert client.request("")[0] == 200


def test_invalid_requests_and_messages(client):
    inner = client.studio.folder.root
    before = listing(inner.parent, inner)
    send_requests(client, 100, 1)
    send_paths(client)
    send_frames(client, 10, 2)
    assert send_messages(client, 100, 3) == []
    is_well(client)
    assert listing(inner.parent, inner) == before
    assert {path.name for path in inner.iterdir()} <= {OWN}


# slow, huge, many


def test_connection_with_an_incomplete_request_is_closed(client, monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    name, _, port = client.host.rpartition(":")
    head = f"GET /{client.token}/ HTTP/1.1\r\nHost: {client.host}\r\n".encode()
    for data in (b"", b"G", head):
        with socket.create_connection((name, int(port)), timeout=SECONDS) as line:
            line.sendall(data)
            assert line.recv(10) == b""
    with socket.create_connection((name, int(port)), timeout=SECONDS) as line:
        line.sendall(head + b"\r\n")
        found = line.recv(65536)
        assert found.startswith(b"HTTP/1.1 200")
        while b"</html>" not in found:
            found += line.recv(65536)
        line.sendall(head)  # a second request on the same connection
        assert line.recv(10) == b""
    is_well(client)


def test_too_large_header_is_rejected(client):
    head = f"GET /{client.token}/ HTTP/1.1\r\nHost: {client.host}\r\nX: {'x' * 100_000}\r\n\r\n"
    assert raw(client, head.encode()).startswith(b"HTTP/1.1 431")


def test_too_large_message_closes_only_its_socket(client):
    with client.connect("1111222233334444", close_timeout=1) as tab:
        receive(tab)
        with contextlib.suppress(ConnectionClosed):
            tab.send("x" * 6_000_000)
        with pytest.raises(ConnectionClosed):
            tab.recv(SECONDS)
    is_well(client)


def pages(found: object) -> list[str]:
    """Return all HTML in an answer."""
    if isinstance(found, dict | list):
        return [page for each in (found.values() if isinstance(found, dict) else found) for page in pages(each)]
    return [found] if isinstance(found, str) and "</" in found else []


def test_model_name_with_markup_gives_a_plain_file_name(client):
    text = TEXT.replace('"pendulum"', json.dumps(MARKUP))
    with client.connect("5555666677778888") as tab:
        receive(tab)
        assert answer(tab, 1, "describe", {"text": text})["result"]["name"] == MARKUP
        files = answer(tab, 2, "download", {"text": text, "kind": "toml"})["result"]["files"]
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", files[0]["name"])
        path = client.studio.folder.root / files[0]["name"]
        assert path.read_text() == text
        path.unlink()
        found = answer(tab, 3, "describe", {"text": TEXT.replace('"rod"', json.dumps(MARKUP))})["result"]
        assert "invalid body name" in found["problems"][0]["fact"]


@pytest.mark.nightly
def test_names_with_markup_are_escaped_in_every_answer(client):
    given = {"text": TEXT.replace('"pendulum"', json.dumps(MARKUP)), "duration": 0.1, "formalism": "lagrange"}
    with client.connect("5555666677778888") as tab:
        receive(tab)
        for number, task in enumerate(sorted(TASKS)):
            found = answer(tab, number, task, given)
            assert not [page for page in pages(found) if "<img" in page], task


def send_at_once(client: Client, clients: int) -> list[str]:
    """Return the answers of many tabs that send a quick and a long task at the same time."""
    found, at_once = [], threading.Barrier(clients)

    def use_tab(number: int) -> None:
        with client.connect(f"{number:016d}") as tab:
            receive(tab)
            at_once.wait(SECONDS)
            tab.send(json.dumps({"id": 1, "task": "file_kinds"}))
            tab.send(json.dumps({"id": 2, "task": "describe", "arguments": {"text": TEXT}}))
            for _ in range(2):
                message = receive(tab, lambda message: "progress" not in message)
                found.append("result" if "result" in message else json.dumps(message))

    threads = [threading.Thread(target=use_tab, args=(number,)) for number in range(clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def test_many_clients_at_once(client):
    assert send_at_once(client, 10) == ["result"] * 20


# nightly: the program itself


def send_file(client: Client, size: int, *, announced: bool) -> bytes:
    """Return the response to an upload of that size."""
    name, _, port = client.host.rpartition(":")
    length = f"Content-Length: {size}" if announced else "Transfer-Encoding: chunked"
    head = f"POST /{client.token}/upload?name=a HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n{length}\r\n\r\n"
    piece, found = b"x" * 1_000_000, b""
    with contextlib.suppress(OSError), socket.create_connection((name, int(port)), timeout=SECONDS) as line:
        line.sendall(head.encode())
        for _ in range(size // len(piece)):
            line.sendall(piece if announced else b"%x\r\n%s\r\n" % (len(piece), piece))
        line.sendall(b"" if announced else b"0\r\n\r\n")
        found = line.recv(65536)
    return found


@pytest.mark.nightly
def test_ten_thousand_messages_a_huge_file_and_fifty_clients(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret").write_text("not yours")
    with program(inner, "--timeout", "60", "--memory", "2") as client:
        is_well(client)
        before, most = listing(tmp_path, inner), client.memory()
        send_requests(client, 5000, 11)
        send_paths(client)
        send_frames(client, 1000, 12)
        defects = send_messages(client, 4000, 13, right=0.1)
        print("after messages", client.memory())
        for announced in (True, False):
            assert not send_file(client, 1_000_000_000, announced=announced).startswith(b"HTTP/1.1 200")
        assert send_file(client, MAX_UPLOAD, announced=False).startswith(b"HTTP/1.1 200")
        print("after files", client.memory())
        assert send_at_once(client, 50) == ["result"] * 100
        is_well(client)
        print("before", most, "after", client.memory())
        assert client.memory()[client.pid] < most[client.pid] + 100
        assert all(each < 2048 for each in client.memory().values())
        assert listing(tmp_path, inner) == before
        assert sum(path.stat().st_size for path in (inner / OWN).rglob("*")) < 2 * MAX_UPLOAD
    assert defects == []
