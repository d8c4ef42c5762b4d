"""Who may come in: requests for this host, from this page, with the token in their address, of a bounded size.

A page of another site can send requests to a server on this machine, and a name that it owns can be made to point here (DNS
rebinding). So the Host has to be one of ours, an Origin has to be ours as well, and nothing is answered without the token, which
stands in the path: `/TOKEN/...`. What is let in goes on with the path behind the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_PATH = 2_000  # characters
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; connect-src 'self';"
    " media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets in what comes from our own page, and answers everything else with a short refusal."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self._app, self._token, self._hosts = app, token, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or one websocket."""
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
            await PlainTextResponse(refusal[1], refusal[0], HEADERS)(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason, where a request is not let in."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "This server answers only to its own address.\n"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() not in self._hosts:
            return 403, "Requests of other pages are not answered.\n"
        if scope["type"] == "websocket" and origin is None:
            return 403, "A websocket has to say which page it belongs to.\n"
        path = scope["path"]
        parts = path.split("/", 2)
        if len(path) > MAX_PATH or len(parts) < 3 or not hmac.compare_digest(parts[1].encode(), self._token.encode()):
            return 403, "The address has to contain the token that 'dalembert studio' printed.\n"
        return None


def _headed(send: Send) -> Send:
    """Answers with the headers that every answer has."""

    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return headed
