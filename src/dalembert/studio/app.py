"""HTTP routes of the studio, behind access control: this host, this page, the token, requests of bounded size.

A page of another site can send requests to a local server, and a domain name it owns can be made to resolve to this machine (DNS
rebinding). So the Host header must be one of ours, an Origin header must name the page of that host, Sec-Fetch-Site must be
consistent with that, and every request needs the token in its path: `/TOKEN/...`. Only top-level navigation by a link may start
on another site. Accepted requests are forwarded with the path after the token.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import hashlib
import hmac
import re
import secrets
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from dalembert.display.viewer import studio_file
from dalembert.errors import ComputationError, DalembertError, InputError
from dalembert.io.files import atomic_write
from dalembert.studio.folder import MAX_UPLOAD, Folder
from dalembert.studio.payload import Answer
from dalembert.studio.process_pool import Workers
from dalembert.studio.protocol import Tabs

MAX_PATH = 2_000  # characters
MAX_HEAD = 16_384  # bytes of the request header
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; connect-src 'self';"
    " font-src data:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NAVIGATION = ("GET", "navigate", "document")  # a user followed a link
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """ASGI middleware that forwards requests of the studio's page and rejects all others."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str], port: int | None = None) -> None:
        """`hosts` are the accepted Host headers; with a `port`, any numeric address with this port is accepted too."""
        self._app, self._token, self._hosts, self._port = app, token, frozenset(hosts), port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or one websocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            inner = "/" + scope["path"].split("/", 2)[2]
            await self._app({**scope, "path": inner, "raw_path": inner.encode()}, receive, _headed(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403, "reason": refusal[1]})
        else:
            await PlainTextResponse(refusal[1], refusal[0], {**HEADERS, "connection": "close"})(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason if a request is rejected."""
        headers = Headers(scope=scope)
        if sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEAD:
            return 431, "The request header is too large.\n"
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0].lower()):
            return 421, "This server answers only requests to its own address.\n"
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return 403, "Requests from other pages are rejected.\n"
        method = scope.get("method", "")
        if not origins and (scope["type"] == "websocket" or method not in ("GET", "HEAD")):
            return 403, "A request that changes data needs an Origin header.\n"
        navigation = (method, headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == _NAVIGATION
        if not origins and headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not navigation:
            return 403, "Requests from other pages are rejected.\n"
        path = scope["path"]
        parts = path.split("/", 2)
        if len(path) > MAX_PATH or len(parts) < 3 or not hmac.compare_digest(parts[1].encode(), self._token.encode()):
            return 403, "The address must contain the token that 'dalembert studio' printed.\n"
        return None

    def _is_ours(self, host: str) -> bool:
        """Return True if a Host is accepted; rebinding needs a domain name, so a numeric address is safe."""
        if host in self._hosts:
            return True
        name, _, port = host.rpartition(":")
        if self._port is None or port != str(self._port):
            return False
        try:
            ip_address(name[1:-1] if name.startswith("[") else name)
        except ValueError:
            return False
        return True


def _headed(send: Send) -> Send:
    """Add the headers that every response has."""

    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in present]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return headed


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
