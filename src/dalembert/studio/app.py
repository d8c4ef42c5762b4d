"""HTTP routes of the studio, behind the token."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import hashlib
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from dalembert.display.viewer import studio_file
from dalembert.errors import ComputationError, DalembertError, InputError
from dalembert.io.files import atomic_write
from dalembert.studio.folder import MAX_UPLOAD, Folder
from dalembert.studio.guard import POLICY, Guard
from dalembert.studio.payload import Answer
from dalembert.studio.process_pool import Workers
from dalembert.studio.protocol import Tabs

MAX_SECONDS = 60.0  # for one upload


async def store_upload(request: Request, folder: Folder, slots: asyncio.Semaphore) -> str:
    """Store the file in the body of a request and return its key."""
    declared = request.headers.get("content-length", "0")
    if not re.fullmatch(r"[0-9]{1,18}", declared) or int(declared) > MAX_UPLOAD:
        raise _too_large(declared)
    name = request.query_params.get("name", "")
    async with slots:
        key, path = await asyncio.to_thread(folder.new_upload, name)
        try:
            with atomic_write(path) as part, part.open("wb") as file:
                async with asyncio.timeout(MAX_SECONDS):
                    async for piece in request.stream():
                        if file.tell() + len(piece) > MAX_UPLOAD:
                            raise _too_large(f"more than {MAX_UPLOAD}")
                        await asyncio.to_thread(file.write, piece)
        except TimeoutError:
            raise ComputationError(f"upload: the file did not arrive within {MAX_SECONDS:g} s. Try again.") from None
        except ClientDisconnect:
            raise ComputationError("upload: the connection closed before the file was complete. Try again.") from None
    return key


def _too_large(got: str) -> InputError:
    return InputError(f"upload: the file has {got[:20]} bytes. Expected at most {MAX_UPLOAD}.")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>dalembert studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="math.css">
<link rel="stylesheet" href="studio.css">
</head>
<body data-nonce="{nonce}">
<noscript>The studio needs JavaScript.</noscript>
<script src="studio.js"></script>
</body>
</html>
"""


@dataclass(frozen=True)
class Options:
    """Limits of the tasks of a studio."""

    workers: int = 3  # long tasks at once; one is reserved for other tabs
    seconds: float = 3600.0  # time limit of a long task
    quick_seconds: float = 60.0
    memory: int = 4 << 30  # bytes per worker


class Studio:
    """One studio: its folder, workers, tabs and ASGI app."""

    def __init__(
        self,
        root: Path,
        token: str,
        hosts: list[str],
        *,
        port: int | None = None,
        first: Answer | None = None,
        options: Options = Options(),
    ) -> None:
        """`hosts` and `port` are for the guard; `first` is the initial content of a new tab, see `server.initial_content`."""
        self.folder = Folder(root)
        self.quick = Workers(self.folder.root, 2, options.quick_seconds, options.memory)
        self.long = Workers(self.folder.root, options.workers, options.seconds, options.memory, patient=True)
        self._tabs = Tabs(self.folder, self.quick, self.long, first or {})
        self._upload_slots = asyncio.Semaphore(4)  # uploads at once
        routes = [
            Route("/", self._page),
            Route("/upload", self._upload, methods=["POST"]),
            Route("/{name:str}", self._asset),
            Route("/files/{name:str}", self._file),
            WebSocketRoute("/socket/{tab:str}", self._serve_tab),
        ]
        app = Starlette(routes=routes, lifespan=self._lifespan)
        app.router.redirect_slashes = False
        self.app: ASGIApp = Guard(app, token, hosts, port)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        starting = [asyncio.create_task(each.start()) for each in (self.quick, self.long)]
        try:
            yield
        finally:
            self._tabs.end()
            for each in starting:
                each.cancel()
            self.quick.end()
            self.long.end()

    async def _page(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        return HTMLResponse(_PAGE.format(nonce=nonce), headers={"content-security-policy": POLICY.format(nonce=nonce)})

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _KINDS:
            return PlainTextResponse("Not found.\n", 404)
        return (await asyncio.to_thread(_asset, name)).answer(request)

    async def _file(self, request: Request) -> Response:
        try:
            path = await asyncio.to_thread(self.folder.file, request.path_params["name"])
        except InputError as error:
            return PlainTextResponse(f"{error}\n", 404)
        # a download is never displayed in the origin of the studio
        return FileResponse(path, filename=path.name, headers={"content-security-policy": "sandbox"})

    async def _upload(self, request: Request) -> Response:
        """Store an uploaded file; reading stops at the size limit."""
        try:
            key = await store_upload(request, self.folder, self._upload_slots)
        except DalembertError as error:
            # do not wait for the rest of the body
            return PlainTextResponse(f"{error}\n", 413, {"connection": "close"})
        return JSONResponse({"key": key})

    async def _serve_tab(self, socket: WebSocket) -> None:
        await socket.accept()
        await self._tabs.serve(socket, socket.path_params["tab"])


_KINDS = {"studio.js": "text/javascript", "studio.css": "text/css", "math.css": "text/css"}


class _Asset:
    """A script or a style sheet, compressed once; a reloaded page only checks whether it has changed."""

    def __init__(self, name: str, kind: str) -> None:
        self._plain, self._kind = studio_file(name).encode(), kind
        self._packed = gzip.compress(self._plain, 5)
        self._tag = f'"{hashlib.sha256(self._plain).hexdigest()[:16]}"'

    def answer(self, request: Request) -> Response:
        headers = {"etag": self._tag, "cache-control": "private, no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self._packed, media_type=self._kind, headers={**headers, "content-encoding": "gzip"})
        return Response(self._plain, media_type=self._kind, headers=headers)


@functools.cache
def _asset(name: str) -> _Asset:
    return _Asset(name, _KINDS[name])
