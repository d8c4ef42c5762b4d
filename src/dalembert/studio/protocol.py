"""What a tab and the server say to each other, as JSON in a websocket.

    {"ask": 7, "task": "simulate", "given": {...}}     →   {"ask": 7, "progress": 0.4, "words": "simulating"} ...
                                                           {"ask": 7, "result": {...}}  or  {"ask": 7, "error": {...}}
    {"cancel": 7}                                      →   {"ask": 7, "error": {"kind": "cancelled", ...}}
    {"save": {...}}                                    →   {"saved": true}

The server begins: {"draft": ..., "drafts": [...], "first": ..., "asked": {"7": "simulate"}}. A tab is known by its key, under
which its draft is kept. When its socket closes, what it asked for goes on for a minute: a tab that was loaded again, or lost its
connection, comes back with the same key, reads in `asked` what is under way, and gets the answers. Where two pages have one key,
because a browser has copied a tab, the older one is told so by the code TAKEN and takes another key.
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
MAX_ASKED = 16  # tasks of one tab at once
MAX_TABS = 200
MAX_NUMBER = 2**53
PATIENCE = 60.0  # seconds for which a tab without a socket is waited for
TAKEN, CROWDED = 4409, 4429  # why a socket is closed


class Tabs:
    """All tabs that are open, or were a minute ago."""

    def __init__(self, folder: Folder, quick: Workers, long: Workers, first: dict[str, object]) -> None:
        self._folder, self._quick, self._long, self._first = folder, quick, long, first
        self._tabs: dict[str, Tab] = {}

    async def talk(self, socket: WebSocket, key: str) -> None:
        """The talk with a tab, until its socket closes."""
        if not KEY.fullmatch(key):
            await socket.close(4400, "the key of a tab has 8 to 32 small letters and digits")
            return
        if key not in self._tabs and len(self._tabs) >= MAX_TABS:
            await socket.close(CROWDED, "too many tabs are open")
            return
        kept = await asyncio.to_thread(self._folder.draft, key)
        drafts = await asyncio.to_thread(self._folder.drafts)
        tab = self._tabs.setdefault(key, Tab(key, self._folder, self._quick, self._long))
        welcome = {"draft": kept, "drafts": drafts, **({} if kept else {"first": self._first})}
        await tab.attend(socket, welcome, lambda: self._tabs.pop(key, None))

    def end(self) -> None:
        """Ends what is under way."""
        for each in self._tabs.values():
            each.end()


class Tab:
    """A tab: its pending tasks, and its socket, if it has one now."""

    def __init__(self, key: str, folder: Folder, quick: Workers, long: Workers) -> None:
        self._key, self._folder, self._quick, self._long = key, folder, quick, long
        self._socket: WebSocket | None = None
        self._pending: dict[int, tuple[str, asyncio.Task[None]]] = {}
        self._here = asyncio.Event()  # whether there is a socket
        self._telling: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()
        self._leaving: asyncio.TimerHandle | None = None

    async def attend(self, socket: WebSocket, welcome: dict[str, object], gone: Callable[[], object]) -> None:
        """Hears and answers until the socket closes, or another one takes its place."""
        if self._leaving is not None:
            self._leaving.cancel()
        before, self._socket = self._socket, socket
        if before is not None:
            self._telling.add(closing := asyncio.create_task(_close_replaced(before)))
            closing.add_done_callback(self._telling.discard)
        try:
            asked = {str(number): name for number, (name, _) in self._pending.items()}
            await self._send_message({**welcome, "asked": asked})
            self._here.set()
            while self._socket is socket:
                await self._receive(await socket.receive_text())
        except (WebSocketDisconnect, RuntimeError, KeyError):  # KeyError: bytes in place of a text
            pass
        finally:
            if self._socket is socket:
                self._socket = None
                self._here.clear()
                self._leaving = asyncio.get_running_loop().call_later(PATIENCE, self._leave, gone)

    def _leave(self, gone: Callable[[], object]) -> None:
        self.end()
        gone()

    def end(self) -> None:
        """Cancels pending tasks."""
        self._here.set()  # no one is waiting any more
        for _, each in list(self._pending.values()):
            each.cancel()

    async def _receive(self, text: str) -> None:
        try:
            said = json.loads(text, parse_constant=_reject_constant)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            await self._send_message(
                {"error": {"kind": "input", "text": "studio: got a message that is no JSON object."}}
            )
        elif "cancel" in said:
            if isinstance(said["cancel"], int) and (asked := self._pending.get(said["cancel"])):
                asked[1].cancel()
        elif "save" in said:
            await self._save(said["save"])
        else:
            await self._ask(said)

    async def _save(self, draft: object) -> None:
        try:
            if not isinstance(draft, dict):
                raise InputError("studio: got a draft that is no object.")
            await asyncio.to_thread(self._folder.save_draft, self._key, draft)
        except (DalembertError, OSError) as error:
            await self._send_message({"saved": False, "text": str(error)})
        else:
            await self._send_message({"saved": True})

    async def _ask(self, said: dict[str, object]) -> None:
        number, name = said.get("ask"), said.get("task")
        question = _question(name, said.get("given", {}))
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_NUMBER:
            number, wrong = None, "studio: every question needs a number."
        elif number in self._pending:
            wrong = "studio: every question needs a number of its own."
        elif not isinstance(name, str) or name not in TASKS:
            wrong = f"studio: there is no task '{name[:40] if isinstance(name, str) else ''}'."
        elif question is None:
            wrong = "studio: what was given is nested too deeply."
        elif len(self._pending) >= MAX_ASKED:
            wrong = f"studio: {MAX_ASKED} tasks of this tab are under way. Wait for one of them, or cancel it."
        else:
            asked = asyncio.create_task(self._answer(number, name, question))
            self._pending[number] = name, asked
            asked.add_done_callback(lambda _: self._pending.pop(number, None))
            return
        await self._send_message({"ask": number, "error": {"kind": "input", "text": wrong}})

    async def _answer(self, number: int, name: str, question: bytes) -> None:
        def tell(progress: dict[str, object]) -> None:
            if self._sending.locked():
                return  # a slow reader needs only the last word
            said = asyncio.create_task(self._send_message({"ask": number, **progress}))
            self._telling.add(said)
            said.add_done_callback(self._telling.discard)

        try:
            workers = self._quick if TASKS[name].quick else self._long
            answer = (await workers.ask(self._key, question, tell)).decode()
            await self._deliver(f'{{"ask":{number},{answer[1:]}')
        except WorkLost as lost:
            words = f"{lost}. Nothing else was lost: ask again, or ask for less."
            await self._deliver(json.dumps({"ask": number, "error": {"kind": "work", "text": words}}))
        except asyncio.CancelledError:
            await self._send_message({"ask": number, "error": {"kind": "cancelled", "text": "cancelled."}})

    async def _deliver(self, text: str) -> None:
        """Sends an answer, if need be when the tab has come back."""
        await self._here.wait()
        while not await self._send(text):
            await asyncio.sleep(0.1)  # until it is noticed that the socket has gone
            await self._here.wait()

    async def _send_message(self, message: dict[str, object]) -> None:
        await self._send(json.dumps(message))

    async def _send(self, text: str) -> bool:
        async with self._sending:
            if self._socket is None:
                return False
            try:
                await self._socket.send_text(text)
            except (RuntimeError, WebSocketDisconnect):
                return False  # it has just gone
            return True


def _question(name: object, given: object) -> bytes | None:
    try:
        return json.dumps([name, given]).encode()
    except RecursionError:
        return None


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


async def _close_replaced(socket: WebSocket) -> None:
    try:
        await socket.close(TAKEN, "this tab is open elsewhere")
    except (RuntimeError, WebSocketDisconnect):
        return  # it had gone already
