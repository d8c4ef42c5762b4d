"""Starts the server of the studio and opens its page."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dalembert.api import load
from dalembert.errors import DalembertError, InputError, WorkError
from dalembert.io import gallery
from dalembert.io.toml_source import read_text
from dalembert.io.toml_writer import to_toml
from dalembert.studio.app import Options, Studio
from dalembert.studio.folder import Folder
from dalembert.studio.guard import MAX_HEAD
from dalembert.studio.payload import MAX_TEXT
from dalembert.studio.process_pool import told
from dalembert.studio.protocol import MAX_MESSAGE
from dalembert.studio.tasks import TASKS

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE = ("0.0.0.0", "::")
HEAD_SECONDS = 10.0  # within which it has to be complete
MAX_CONNECTIONS = 400
DEFAULT = "four-bar"


class Prompt(H11Protocol):
    """Closes a connection that begins a request and does not end its head."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection begins."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self._late is None and (self.cycle is None or self.cycle.response_complete):
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        super().data_received(data)
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.transport.get_protocol() is not self:  # the head is here, or a websocket goes on
            self._in_time()

    def connection_lost(self, exc: Exception | None) -> None:
        """A connection ends."""
        self._in_time()
        super().connection_lost(exc)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at the port, or at any free one for 0."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"--host: '{host}' is no address of this machine ({error.strerror}).") from None
    made = socket.socket(family, kind)
    if os.name == "posix":  # on Windows the option would let a second program have the same port
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(address)
        made.listen(128)
    except OSError as error:
        made.close()
        raise WorkError(
            f"studio: port {port} of {host} cannot be used ({error.strerror}). Give another --port, or none."
        ) from None
    return made


def names(host: str, port: int) -> list[str]:
    """What the server may be called in the address of a page; the first one is shown.

    >>> names("127.0.0.1", 8080)
    ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080']
    """
    shown = socket.gethostname().lower() if host in EVERYWHERE else f"[{host}]" if ":" in host else host.lower()
    found = list(dict.fromkeys((shown, *LOOPBACK)))
    return [f"{each}:{port}" for each in found] + (found if port == 80 else [])  # which browsers leave out


def serve(
    root: Path, model: str, options: Options, *, host: str = "127.0.0.1", port: int = 0, browser: bool = True
) -> None:
    """Serves until it is interrupted; prints the address, which holds the token."""
    if not os.access(root, os.W_OK):
        raise InputError(f"{root}: the studio writes its files here, and may not. Start it in a folder of your own.")
    with listening(host, port) as door:
        number, token = door.getsockname()[1], secrets.token_urlsafe(24)
        hosts, first = names(host, number), opened(model, Folder(root))
        wide = number if host in EVERYWHERE else None
        studio = Studio(root, token, hosts, port=wide, first=first, options=options)
        address = f"http://{hosts[0]}/{token}/"
        for problem in first["described"]["problems"]:
            print(f"{model}: {problem['path']}: {problem['fact']} {problem['advice']}".rstrip(), file=sys.stderr)
        print(
            f"The studio is open at\n\n    {address}\n\nFiles are written to {studio.folder.root}. End it with Ctrl+C.",
            flush=True,
        )
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            uvicorn.Server(settings(studio)).run(sockets=[door])
        except KeyboardInterrupt:
            print("The studio is closed.")


def settings(studio: Studio) -> uvicorn.Config:
    """How the server runs: everything is bounded."""
    return uvicorn.Config(
        studio.app,
        http=Prompt,
        h11_max_incomplete_event_size=MAX_HEAD,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=2,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,  # on the same machine packing takes longer than sending
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


def opened(model: str, folder: Folder) -> dict[str, Any]:
    """Text and description for the first picture; raises where there is no such model, or its file is broken.

    A model file may still have problems: the page shows them beside its text.
    """
    text = _text(model or DEFAULT, folder)
    if len(text) > MAX_TEXT:
        raise InputError(f"{model}: the model has {len(text)} characters. Expected at most {MAX_TEXT}.")
    try:
        described = TASKS["describe"].work({"text": text}, folder, _silent)
    except DalembertError as error:
        described = {"problems": [{"path": "the model", "fact": told(error)["text"], "advice": ""}]}
    return {"text": text, "described": described}


def _text(model: str, folder: Folder) -> str:
    """The text of a model; a file in another format becomes one in ours."""
    if model in gallery.names():
        return str(TASKS["example"].work({"name": model}, folder, _silent)["text"])
    if Path(model).suffix.lower() == ".toml":
        return read_text(model, MAX_TEXT)
    return to_toml(load.load(model))


def _silent(share: float, words: str = "") -> None:
    """Progress is ignored."""
