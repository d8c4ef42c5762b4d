"""The addresses of the studio, behind the token."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from dalembert.errors import DalembertError, InputError
from dalembert.studio.folder import Folder
from dalembert.studio.guard import POLICY, Guard
from dalembert.studio.talk import Talk
from dalembert.studio.upload import received
from dalembert.studio.workers import Workers
from dalembert.viewer import studio_file

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>dalembert studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="studio.css">
</head>
<body data-model="{model}" data-nonce="{nonce}">
<noscript>The studio needs JavaScript.</noscript>
<script src="studio.js"></script>
</body>
</html>
"""


@dataclass(frozen=True)
class Options:
    """How a studio runs: what it opens, and the bounds of its work."""

    model: str = ""  # the name of an example, or of a file in the folder
    workers: int = 2
    seconds: float = 3600.0  # of a long task
    quick_seconds: float = 30.0
    memory: int = 4 << 30  # bytes of a worker


class Studio:
    """The rooms of one studio: a folder, workers, and the app that brings them together."""

    def __init__(self, root: Path, token: str, hosts: list[str], options: Options = Options()) -> None:
        self.folder, self.options = Folder(root), options
        self._receiving = asyncio.Semaphore(4)  # uploads at once
        self.quick = Workers(self.folder.root, 1, options.quick_seconds, options.memory)
        self.long = Workers(self.folder.root, options.workers, options.seconds, options.memory)
        routes = [
            Route("/", self._page),
            Route("/upload", self._upload, methods=["POST"]),
            Route("/{name:str}", self._asset),
            Route("/files/{name:str}", self._file),
            WebSocketRoute("/talk/{tab:str}", self._talk),
        ]
        self.app: ASGIApp = Guard(Starlette(routes=routes, lifespan=self._living), token, hosts)

    @contextlib.asynccontextmanager
    async def _living(self, app: Starlette) -> AsyncIterator[None]:
        self.quick.start()
        self.long.start()
        try:
            yield
        finally:
            self.quick.end()
            self.long.end()

    async def _page(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        page = _PAGE.format(model=escape(self.options.model, quote=True), nonce=nonce)
        return HTMLResponse(page, headers={"content-security-policy": POLICY.format(nonce=nonce)})

    async def _asset(self, request: Request) -> Response:
        kinds = {"studio.js": "text/javascript", "studio.css": "text/css"}
        name = request.path_params["name"]
        if name not in kinds:
            return PlainTextResponse("There is nothing at this address.\n", 404)
        return Response(studio_file(name), media_type=kinds[name])

    async def _file(self, request: Request) -> Response:
        try:
            path = self.folder.file(request.path_params["name"])
        except InputError as error:
            return PlainTextResponse(f"{error}\n", 404)
        # what is taken away is never shown inside the studio's own origin
        return FileResponse(path, filename=path.name, headers={"content-security-policy": "sandbox"})

    async def _upload(self, request: Request) -> Response:
        """Keeps a dropped file; what is larger than the bound is cut off while it is read."""
        try:
            key = await received(request, self.folder, self._receiving)
        except DalembertError as error:
            # the rest of the body is not waited for
            return PlainTextResponse(f"{error}\n", 413, {"connection": "close"})
        return JSONResponse({"key": key})

    async def _talk(self, socket: WebSocket) -> None:
        await socket.accept()
        tab = socket.path_params["tab"]
        try:
            draft = self.folder.draft(tab)
        except InputError as error:
            await socket.close(4400, str(error)[:100])
            return
        await socket.send_json({"draft": draft, "drafts": self.folder.drafts()})
        await Talk(socket, tab, self.folder, self.quick, self.long).go_on()
