"""Starts the server of the studio and opens its page."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from pathlib import Path

import uvicorn

from dalembert.errors import WorkError
from dalembert.studio.app import Options, Studio
from dalembert.studio.talk import MAX_MESSAGE

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at the port, or at any free one for 0."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise WorkError(
            f"studio: port {port} of {host} cannot be used ({error.strerror}). Give another --port, or none."
        ) from None
    return made


def serve(root: Path, options: Options, *, host: str = "127.0.0.1", port: int = 0, browser: bool = True) -> None:
    """Serves until it is interrupted; prints the address, which holds the token."""
    door = listening(host, port)
    number, token = door.getsockname()[1], secrets.token_urlsafe(24)
    hosts = [f"{name}:{number}" for name in dict.fromkeys((*LOOPBACK, host))]
    studio = Studio(root, token, hosts, options)
    address = f"http://{host}:{number}/{token}/"
    settings = uvicorn.Config(
        studio.app,
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE,
        limit_concurrency=200,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    print(
        f"The studio is open at\n\n    {address}\n\nFiles are written to {studio.folder.root}. End it with Ctrl+C.",
        flush=True,
    )
    if browser:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    uvicorn.Server(settings).run(sockets=[door])
