"""What a tab and the server say to each other, as JSON in a websocket.

    {"ask": 7, "task": "simulate", "given": {...}}     →   {"ask": 7, "progress": 0.4, "words": "simulating"} ...
                                                           {"ask": 7, "result": {...}}  or  {"ask": 7, "error": {...}}
    {"cancel": 7}                                      →   {"ask": 7, "error": {"kind": "cancelled", ...}}
    {"save": {...}}                                    →   {"saved": true}

A tab is known by its key, under which its draft is kept. A new tab with an old key is the old one again.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from dalembert.errors import InputError
from dalembert.studio.folder import Folder
from dalembert.studio.tasks import TASKS
from dalembert.studio.workers import Workers, WorkLost

MAX_MESSAGE = 5_000_000  # bytes
MAX_ASKED = 16  # tasks of one tab at once


class Talk:
    """The talk with one tab."""

    def __init__(self, socket: WebSocket, tab: str, folder: Folder, quick: Workers, long: Workers) -> None:
        self._socket, self._tab, self._folder = socket, tab, folder
        self._quick, self._long = quick, long
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()

    async def go_on(self) -> None:
        """Hears and answers until the tab is closed; its tasks end with it."""
        try:
            while True:
                await self._hear(await self._socket.receive_text())
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes in place of a text
            pass
        finally:
            for each in self._asked.values():
                each.cancel()

    async def _hear(self, text: str) -> None:
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            await self._say({"error": {"kind": "input", "text": "studio: got a message that is no JSON object."}})
        elif "cancel" in said:
            if isinstance(said["cancel"], int) and (asked := self._asked.get(said["cancel"])):
                asked.cancel()
        elif "save" in said:
            await self._save(said["save"])
        else:
            await self._ask(said)

    async def _save(self, draft: object) -> None:
        try:
            if not isinstance(draft, dict):
                raise InputError("studio: got a draft that is no object.")
            await asyncio.to_thread(self._folder.save_draft, self._tab, draft)
        except (InputError, OSError, ValueError) as error:
            await self._say({"saved": False, "text": str(error)})
        else:
            await self._say({"saved": True})

    async def _ask(self, said: dict[str, Any]) -> None:
        number, name = said.get("ask"), said.get("task")
        wrong = None
        if isinstance(number, bool) or not isinstance(number, int) or number in self._asked:
            wrong = "studio: every question needs a number of its own."
        elif not isinstance(name, str) or name not in TASKS:
            wrong = f"studio: there is no task '{str(name)[:40]}'."
        elif len(self._asked) >= MAX_ASKED:
            wrong = f"studio: {MAX_ASKED} tasks of this tab are under way. Wait for one of them, or cancel it."
        if wrong is not None:
            await self._say(
                {"ask": number if isinstance(number, int) else None, "error": {"kind": "input", "text": wrong}}
            )
            return
        assert isinstance(number, int)
        assert isinstance(name, str)
        asked = asyncio.create_task(self._answer(number, name, said.get("given", {})))
        self._asked[number] = asked
        asked.add_done_callback(lambda _: self._asked.pop(number, None))

    async def _answer(self, number: int, name: str, values: object) -> None:
        workers = self._quick if TASKS[name].quick else self._long
        loop = asyncio.get_running_loop()

        def tell(progress: dict[str, Any]) -> None:
            said = loop.create_task(self._say({"ask": number, **progress}))
            self._telling.add(said)
            said.add_done_callback(self._telling.discard)

        try:
            answer = await workers.ask(self._tab, name, values, tell)
            await self._send(f'{{"ask":{number},{answer.decode()[1:]}')
        except WorkLost as lost:
            words = f"{lost}. Nothing else was lost: ask again, or ask for less."
            await self._say({"ask": number, "error": {"kind": "work", "text": words}})
        except asyncio.CancelledError:
            await self._say({"ask": number, "error": {"kind": "cancelled", "text": "cancelled."}})

    async def _say(self, message: dict[str, Any]) -> None:
        await self._send(json.dumps(message, ensure_ascii=False))

    async def _send(self, text: str) -> None:
        async with self._sending:
            try:
                await self._socket.send_text(text)
            except (RuntimeError, WebSocketDisconnect):
                return  # the tab has gone
