"""Whose turn it is: tabs share a number of places, one after the other, and no tab takes all of them."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Places for tasks. Tabs take turns, and a tab that has a place never takes the last free one."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by tab; who is first comes next

    def _may(self, tab: str) -> bool:
        free = self._places - self._held.total()
        return free > 1 or (free == 1 and (self._places == 1 or not self._held[tab]))

    @asynccontextmanager
    async def place(self, tab: str) -> AsyncIterator[None]:
        """A place for one task of a tab, as soon as there is one."""
        if tab not in self._waiting and self._may(tab):
            self._held[tab] += 1
        else:
            await self._called(tab)
        try:
            yield
        finally:
            self._leave(tab)

    async def _called(self, tab: str) -> None:
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tab, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if not called.cancelled():  # the place came at the same moment
                self._leave(tab)
            raise

    def _leave(self, tab: str) -> None:
        self._held[tab] -= 1
        self._held += Counter()  # forgets tabs that hold nothing
        if tab in self._waiting:
            self._waiting[tab] = self._waiting.pop(tab)  # to the end of the row
        for other in list(self._waiting):
            queue = self._waiting[other]
            while queue and queue[0].cancelled():
                queue.popleft()
            if queue and self._may(other):
                queue.popleft().set_result(None)
                self._held[other] += 1
                self._waiting[other] = self._waiting.pop(other)
            if not queue:
                del self._waiting[other]
