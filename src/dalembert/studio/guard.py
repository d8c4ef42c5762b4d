"""Who may come in: requests for this host, from this page, with the token in their address, of a bounded size.

A page of another site can send requests to a server on this machine, and a name that it owns can be made to point here (DNS
rebinding). So the Host has to be one of ours, an Origin has to be the page of that very host, what a browser says about where a
request came from (Sec-Fetch-Site) has to fit, and nothing is answered without the token, which stands in the path: `/TOKEN/...`.
Only a person may come from elsewhere, by a link. What is let in goes on with the path behind the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_PATH = 2_000  # characters
MAX_HEAD = 16_384  # bytes of the head of a request
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; connect-src 'self';"
    " font-src data:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FOLLOWED = ("GET", "navigate", "document")  # a person has followed a link
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets in what comes from our own page, and answers everything else with a short refusal."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str], port: int | None = None) -> None:
        """`hosts` are our names with their ports; with a `port`, any address in numbers is one of ours, too."""
        self._app, self._token, self._hosts, self._port = app, token, frozenset(hosts), port

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
            await PlainTextResponse(refusal[1], refusal[0], {**HEADERS, "connection": "close"})(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and reason, where a request is not let in."""
        headers = Headers(scope=scope)
        if sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEAD:
            return 431, "The head of the request is too large.\n"
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0].lower()):
            return 421, "This server answers only to its own address.\n"
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return 403, "Requests of other pages are not answered.\n"
        method = scope.get("method", "")
        if not origins and (scope["type"] == "websocket" or method not in ("GET", "HEAD")):
            return 403, "A request that changes something has to say which page it belongs to.\n"
        followed = (method, headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == _FOLLOWED
        if not origins and headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not followed:
            return 403, "Requests of other pages are not answered.\n"
        path = scope["path"]
        parts = path.split("/", 2)
        if len(path) > MAX_PATH or len(parts) < 3 or not hmac.compare_digest(parts[1].encode(), self._token.encode()):
            return 403, "The address has to contain the token that 'dalembert studio' printed.\n"
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host is one of ours; rebinding needs a name, so an address in numbers is safe."""
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
    """Answers with the headers that every answer has."""

    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return headed
