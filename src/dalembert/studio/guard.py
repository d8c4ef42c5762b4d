"""Access control: accepts requests of bounded size to this host, from this page, with the token in the path.

A page of another site can send requests to a local server, and a domain name it owns can be made to resolve to this machine (DNS
rebinding). So the Host header must be one of ours, an Origin header must name the page of that host, Sec-Fetch-Site must be
consistent with that, and every request needs the token in its path: `/TOKEN/...`. Only top-level navigation by a link may start
on another site. Accepted requests are forwarded with the path after the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
