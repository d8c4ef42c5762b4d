"""Messages between a tab and the server, as JSON over a websocket.

    {"ask": 7, "task": "simulate", "given": {...}}     →   {"ask": 7, "progress": 0.4, "words": "simulating"} ...
                                                           {"ask": 7, "result": {...}}  or  {"ask": 7, "error": {...}}
    {"cancel": 7}                                      →   {"ask": 7, "error": {"kind": "cancelled", ...}}
    {"save": {...}}                                    →   {"saved": true}

The server sends first: {"draft": ..., "drafts": [...], "first": ..., "asked": {"7": "simulate"}}. A tab is identified by its key,
under which its draft is stored. When its socket closes, its tasks continue for a minute: a tab that was reloaded, or lost its
connection, reconnects with the same key, reads the pending tasks in `asked`, and receives the answers. If two pages have the same
key because a browser duplicated a tab, the older socket is closed with the code TAKEN and that page chooses another key.
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
MAX_ASKED = 16  # pending tasks per tab
MAX_TABS = 200
MAX_NUMBER = 2**53
PATIENCE = 60.0  # s before a disconnected tab is closed
TAKEN, CROWDED = 4409, 4429  # websocket close codes


class Tabs:
    """All open tabs, including those disconnected less than a minute ago."""

    def __init__(self, folder: Folder, quick: Workers, long: Workers, first: dict[str, object]) -> None:
        self._folder, self._quick, self._long, self._first = folder, quick, long, first
        self._tabs: dict[str, Tab] = {}

    async def talk(self, socket: WebSocket, key: str) -> None:
        """Serve a tab until its socket closes."""
        if not KEY.fullmatch(key):
            await socket.close(4400, "the key of a tab has 8 to 32 lowercase letters and digits")
            return
        if key not in self._tabs and len(self._tabs) >= MAX_TABS:
            await socket.close(CROWDED, "too many tabs are open")
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
            asked = {str(number): name for number, (name, _) in self._pending.items()}
            await self._send_message({**welcome, "asked": asked})
            self._connected.set()
            while self._socket is socket:
                await self._receive(await socket.receive_text())
        except (WebSocketDisconnect, RuntimeError, KeyError):  # KeyError: binary instead of text
            pass
        finally:
            if self._socket is socket:
                self._socket = None
                self._connected.clear()
                self._timeout = asyncio.get_running_loop().call_later(PATIENCE, self._leave, gone)

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
                {"error": {"kind": "input", "text": "studio: got a message that is not a JSON object."}}
            )
        elif "cancel" in message:
            if isinstance(message["cancel"], int) and (pending := self._pending.get(message["cancel"])):
                pending[1].cancel()
        elif "save" in message:
            await self._save(message["save"])
        else:
            await self._ask(message)

    async def _save(self, draft: object) -> None:
        try:
            if not isinstance(draft, dict):
                raise InputError("studio: got a draft that is not a JSON object.")
            await asyncio.to_thread(self._folder.save_draft, self._key, draft)
        except (DalembertError, OSError) as error:
            await self._send_message({"saved": False, "text": str(error)})
        else:
            await self._send_message({"saved": True})

    async def _ask(self, message: dict[str, object]) -> None:
        number, name = message.get("ask"), message.get("task")
        question = _question(name, message.get("given", {}))
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_NUMBER:
            number, wrong = None, "studio: every request needs a number."
        elif number in self._pending:
            wrong = "studio: every request needs a unique number."
        elif not isinstance(name, str) or name not in TASKS:
            wrong = f"studio: there is no task '{name[:40] if isinstance(name, str) else ''}'."
        elif question is None:
            wrong = "studio: the arguments are nested too deeply."
        elif len(self._pending) >= MAX_ASKED:
            wrong = f"studio: {MAX_ASKED} tasks of this tab are pending. Wait for one of them, or cancel it."
        else:
            task = asyncio.create_task(self._answer(number, name, question))
            self._pending[number] = name, task
            task.add_done_callback(lambda _: self._pending.pop(number, None))
            return
        await self._send_message({"ask": number, "error": {"kind": "input", "text": wrong}})

    async def _answer(self, number: int, name: str, question: bytes) -> None:
        def tell(progress: dict[str, object]) -> None:
            if self._sending.locked():
                return  # a slow reader gets only the latest progress
            sending = asyncio.create_task(self._send_message({"ask": number, **progress}))
            self._background.add(sending)
            sending.add_done_callback(self._background.discard)

        try:
            workers = self._quick if TASKS[name].quick else self._long
            answer = (await workers.ask(self._key, question, tell)).decode()
            await self._deliver(f'{{"ask":{number},{answer[1:]}')
        except WorkLost as lost:
            words = f"{lost}. Other results are not affected. Try again, or use a smaller task."
            await self._deliver(json.dumps({"ask": number, "error": {"kind": "work", "text": words}}))
        except asyncio.CancelledError:
            await self._send_message({"ask": number, "error": {"kind": "cancelled", "text": "cancelled."}})

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


def _question(name: object, given: object) -> bytes | None:
    try:
        return json.dumps([name, given]).encode()
    except RecursionError:
        return None


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a finite number")


async def _close_replaced(socket: WebSocket) -> None:
    try:
        await socket.close(TAKEN, "this tab is open elsewhere")
    except (RuntimeError, WebSocketDisconnect):
        return  # it was already closed
