"""Messages between a tab and the server, as JSON over a websocket.

    {"id": 7, "task": "simulate", "arguments": {...}}   →   {"id": 7, "progress": 0.4, "message": "simulating"} ...
                                                            {"id": 7, "result": {...}}  or  {"id": 7, "error": {...}}
    {"cancel": 7}                                       →   {"id": 7, "error": {"kind": "cancelled", ...}}
    {"save": {...}}                                     →   {"saved": true}

The server sends first: {"draft": ..., "drafts": [...], "first": ..., "pending": {"7": "simulate"}}. A tab is identified by its
key, under which its draft is stored. When its socket closes, its tasks continue for a minute: a tab that was reloaded, or lost
its connection, reconnects with the same key, reads its tasks in `pending`, and receives the answers. If two pages have the same
key because a browser duplicated a tab, the older socket is closed with the code CODE_REPLACED and that page chooses another key.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import NoReturn

from starlette.websockets import WebSocket, WebSocketDisconnect

from dalembert.errors import DalembertError, InputError
from dalembert.studio.folder import KEY, Folder
from dalembert.studio.process_pool import Workers, WorkLost
from dalembert.studio.tasks import TASKS

MAX_MESSAGE = 5_000_000  # bytes
MAX_PENDING = 16  # pending tasks per tab
MAX_TABS = 200
MAX_ID = 2**53
RECONNECT_SECONDS = 60.0  # before a disconnected tab is closed
CODE_REPLACED, CODE_TOO_MANY_TABS = 4409, 4429  # websocket close codes


class Tabs:
    """All open tabs, including those disconnected less than a minute ago."""

    def __init__(self, folder: Folder, quick: Workers, long: Workers, first: dict[str, object]) -> None:
        self._folder, self._quick, self._long, self._first = folder, quick, long, first
        self._tabs: dict[str, Tab] = {}

    async def serve(self, socket: WebSocket, key: str) -> None:
        """Serve a tab until its socket closes."""
        if not KEY.fullmatch(key):
            await socket.close(4400, "the key of a tab has 8 to 32 lowercase letters and digits")
            return
        if key not in self._tabs and len(self._tabs) >= MAX_TABS:
            await socket.close(CODE_TOO_MANY_TABS, "too many tabs are open")
            return
        draft = await asyncio.to_thread(self._folder.draft, key)
        drafts = await asyncio.to_thread(self._folder.drafts)
        tab = self._tabs.setdefault(key, Tab(key, self._folder, self._quick, self._long))
        welcome = {"draft": draft, "drafts": drafts, **({} if draft else {"first": self._first})}
        await tab.attend(socket, welcome, lambda: self._tabs.pop(key, None))

    def end(self) -> None:
        """Cancel all pending tasks."""
        for each in self._tabs.values():
            each.end()


class Tab:
    """A tab: its pending tasks and its current socket, if any."""

    def __init__(self, key: str, folder: Folder, quick: Workers, long: Workers) -> None:
        self._key, self._folder, self._quick, self._long = key, folder, quick, long
        self._socket: WebSocket | None = None
        self._pending: dict[int, tuple[str, asyncio.Task[None]]] = {}
        self._connected = asyncio.Event()  # set while there is a socket
        self._background: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()
        self._timeout: asyncio.TimerHandle | None = None

    async def attend(self, socket: WebSocket, welcome: dict[str, object], gone: Callable[[], object]) -> None:
        """Receive and answer messages until the socket closes or is replaced."""
        if self._timeout is not None:
            self._timeout.cancel()
        before, self._socket = self._socket, socket
        if before is not None:
            self._background.add(closing := asyncio.create_task(_close_replaced(before)))
            closing.add_done_callback(self._background.discard)
        try:
            pending = {str(number): name for number, (name, _) in self._pending.items()}
            await self._send_message({**welcome, "pending": pending})
            self._connected.set()
            while self._socket is socket:
                await self._receive(await socket.receive_text())
        except (WebSocketDisconnect, RuntimeError, KeyError):  # KeyError: binary instead of text
            pass
        finally:
            if self._socket is socket:
                self._socket = None
                self._connected.clear()
                self._timeout = asyncio.get_running_loop().call_later(RECONNECT_SECONDS, self._leave, gone)

    def _leave(self, gone: Callable[[], object]) -> None:
        self.end()
        gone()

    def end(self) -> None:
        """Cancel pending tasks."""
        self._connected.set()  # releases waiting deliveries
        for _, each in list(self._pending.values()):
            each.cancel()

    async def _receive(self, text: str) -> None:
        try:
            message = json.loads(text, parse_constant=_reject_constant)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            await self._send_message(
                {"error": {"kind": "input", "message": "studio: got a message that is not a JSON object."}}
            )
        elif "cancel" in message:
            if isinstance(message["cancel"], int) and (pending := self._pending.get(message["cancel"])):
                pending[1].cancel()
        elif "save" in message:
            await self._save(message["save"])
        else:
            await self._start_task(message)

    async def _save(self, draft: object) -> None:
        try:
            if not isinstance(draft, dict):
                raise InputError("studio: got a draft that is not a JSON object.")
            await asyncio.to_thread(self._folder.save_draft, self._key, draft)
        except (DalembertError, OSError) as error:
            await self._send_message({"saved": False, "message": str(error)})
        else:
            await self._send_message({"saved": True})

    async def _start_task(self, message: dict[str, object]) -> None:
        number, name = message.get("id"), message.get("task")
        request = _request(name, message.get("arguments", {}))
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_ID:
            number, wrong = None, "studio: every request needs an id: an int of at least 0."
        elif number in self._pending:
            wrong = "studio: every request needs a unique id."
        elif not isinstance(name, str) or name not in TASKS:
            wrong = f"studio: there is no task '{name[:40] if isinstance(name, str) else ''}'."
        elif request is None:
            wrong = "studio: the arguments are nested too deeply."
        elif len(self._pending) >= MAX_PENDING:
            wrong = f"studio: {MAX_PENDING} tasks of this tab are pending. Wait for one of them, or cancel it."
        else:
            task = asyncio.create_task(self._answer(number, name, request))
            self._pending[number] = name, task
            task.add_done_callback(lambda _: self._pending.pop(number, None))
            return
        await self._send_message({"id": number, "error": {"kind": "input", "message": wrong}})

    async def _answer(self, number: int, name: str, request: bytes) -> None:
        def report(progress: dict[str, object]) -> None:
            if self._sending.locked():
                return  # a slow reader gets only the latest progress
            sending = asyncio.create_task(self._send_message({"id": number, **progress}))
            self._background.add(sending)
            sending.add_done_callback(self._background.discard)

        try:
            workers = self._quick if TASKS[name].quick else self._long
            answer = (await workers.run(self._key, request, report)).decode()
            await self._deliver(f'{{"id":{number},{answer[1:]}')
        except WorkLost as lost:
            message = f"{lost}. Other results are not affected. Try again, or use a smaller task."
            await self._deliver(json.dumps({"id": number, "error": {"kind": "work", "message": message}}))
        except asyncio.CancelledError:
            await self._send_message({"id": number, "error": {"kind": "cancelled", "message": "cancelled."}})

    async def _deliver(self, text: str) -> None:
        """Send an answer; if the tab is disconnected, wait until it reconnects."""
        await self._connected.wait()
        while not await self._send(text):
            await asyncio.sleep(0.1)  # until the closed socket is detected
            await self._connected.wait()

    async def _send_message(self, message: dict[str, object]) -> None:
        await self._send(json.dumps(message))

    async def _send(self, text: str) -> bool:
        async with self._sending:
            if self._socket is None:
                return False
            try:
                await self._socket.send_text(text)
            except (RuntimeError, WebSocketDisconnect):
                return False  # it has just closed
            return True


def _request(name: object, arguments: object) -> bytes | None:
    try:
        return json.dumps([name, arguments]).encode()
    except RecursionError:
        return None


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a finite number")


async def _close_replaced(socket: WebSocket) -> None:
    try:
        await socket.close(CODE_REPLACED, "this tab is open elsewhere")
    except (RuntimeError, WebSocketDisconnect):
        return  # it was already closed
