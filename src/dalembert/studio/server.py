"""Start the server of the studio and open its page."""

from __future__ import annotations

import asyncio
import json
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
from dalembert.errors import ComputationError, DalembertError, InputError
from dalembert.io import gallery
from dalembert.io.toml_reader import read_text
from dalembert.io.toml_writer import to_toml
from dalembert.studio.app import MAX_HEAD, Options, Studio
from dalembert.studio.folder import Folder
from dalembert.studio.payload import MAX_STRING
from dalembert.studio.process_pool import error_data
from dalembert.studio.protocol import MAX_MESSAGE
from dalembert.studio.tasks import TASKS

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE = ("0.0.0.0", "::")
HEAD_SECONDS = 10.0  # time limit for a complete request header
MAX_CONNECTIONS = 400
DEFAULT = "four-bar"


class Prompt(H11Protocol):
    """Closes a connection whose request header is not completed in time."""

    _header_timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of a new connection."""
        super().connection_made(transport)
        self._header_timeout = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Process received bytes."""
        if self._header_timeout is None and (self.cycle is None or self.cycle.response_complete):
            self._header_timeout = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        super().data_received(data)
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.transport.get_protocol() is not self:  # the header is complete, or it is a websocket
            self._cancel_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout of a closed connection."""
        self._cancel_timeout()
        super().connection_lost(exc)

    def _cancel_timeout(self) -> None:
        if self._header_timeout is not None:
            self._header_timeout.cancel()
            self._header_timeout = None


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the port; 0 selects any free port."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"--host: '{host}' is not an address of this machine ({error.strerror}).") from None
    server = socket.socket(family, kind)
    if os.name == "posix":  # on Windows the option would let a second program use the same port
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind(address)
        server.listen(128)
    except OSError as error:
        server.close()
        raise ComputationError(
            f"studio: port {port} of {host} cannot be used ({error.strerror}). Use another --port, or omit it."
        ) from None
    return server


def accepted_hosts(host: str, port: int) -> list[str]:
    """Return the host names accepted in the address of a page; the first one is printed.

    >>> accepted_hosts("127.0.0.1", 8080)
    ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080']
    """
    printed = socket.gethostname().lower() if host in EVERYWHERE else f"[{host}]" if ":" in host else host.lower()
    found = list(dict.fromkeys((printed, *LOOPBACK)))
    return [f"{each}:{port}" for each in found] + (found if port == 80 else [])  # browsers omit port 80


def serve(
    root: Path,
    model: str,
    options: Options,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    as_json: bool = False,
) -> None:
    """Print the address with the token, as text or as one JSON document, and serve until interrupted."""
    if not os.access(root, os.W_OK):
        raise InputError(f"{root}: the studio cannot write to this folder. Start it in a folder with write permission.")
    with listen(host, port) as listener:
        number, token = listener.getsockname()[1], secrets.token_urlsafe(24)
        hosts, first = accepted_hosts(host, number), initial_content(model, Folder(root))
        wide = number if host in EVERYWHERE else None
        studio = Studio(root, token, hosts, port=wide, first=first, options=options)
        address = f"http://{hosts[0]}/{token}/"
        for problem in first["described"]["problems"]:
            print(f"{model}: {problem['path']}: {problem['fact']} {problem['advice']}".rstrip(), file=sys.stderr)
        folder = str(studio.folder.root)
        announcement = f"The studio is open at\n\n    {address}\n\nFiles are written to {folder}. End it with Ctrl+C."
        print(json.dumps({"url": address, "folder": folder}) if as_json else announcement, flush=True)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            uvicorn.Server(settings(studio)).run(sockets=[listener])
        except KeyboardInterrupt:
            if not as_json:
                print("The studio is closed.")


def settings(studio: Studio) -> uvicorn.Config:
    """Return the server settings; all resources are limited."""
    return uvicorn.Config(
        studio.app,
        http=Prompt,
        h11_max_incomplete_event_size=MAX_HEAD,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=2,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,  # on the same machine compression takes longer than sending
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


def initial_content(model: str, folder: Folder) -> dict[str, Any]:
    """Return the source and the description of the first model; raise if there is no such model or its file cannot be read.

    A model file may still have problems: the page displays them next to its source.
    """
    source = _source(model or DEFAULT, folder)
    if len(source) > MAX_STRING:
        raise InputError(f"{model}: the model has {len(source)} characters. Expected at most {MAX_STRING}.")
    try:
        described = TASKS["describe"].work({"text": source}, folder, _ignore_progress)
    except DalembertError as error:
        described = {"problems": [{"path": "the model", "fact": error_data(error)["message"], "advice": ""}]}
    return {"text": source, "described": described}


def _source(model: str, folder: Folder) -> str:
    """Return the TOML source of a model; files in other formats are converted."""
    if model in gallery.names():
        return str(TASKS["example"].work({"name": model}, folder, _ignore_progress)["text"])
    if Path(model).suffix.lower() == ".toml":
        return read_text(model, MAX_STRING)
    return to_toml(load.load(model))


def _ignore_progress(fraction: float, message: str = "") -> None:
    """Ignore progress."""
