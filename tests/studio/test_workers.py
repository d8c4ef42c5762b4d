"""Worker processes: each can die, be cancelled or grow too large without side effects. Tabs take turns."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import NoReturn

import pytest
from studio_client import copies

from dalembert.errors import ComputationError, InputError
from dalembert.studio import process_pool
from dalembert.studio.process_pool import FairScheduler, Workers, WorkLost
from dalembert.studio.tasks import Task

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
LARGE = 64 << 30  # bytes, more than this process has


def _slow(given, folder, progress) -> NoReturn:
    progress(0.5, "half")
    (folder.root / "begun").write_text(str(os.getpid()))
    while True:
        time.sleep(600)


def _children(given, folder, progress) -> NoReturn:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (folder.root / "begun").write_text(str(child.pid))
    while True:
        time.sleep(600)


def _hungry(given, folder, progress):
    blocks = []
    while True:
        blocks.append(bytearray(10_000_000))


def _grown(given, folder, progress):
    process_pool.peak_memory = lambda: LARGE  # as reported by the system
    return {}


def _wrong(given, folder, progress):
    raise {"input": InputError, "work": ComputationError, "defect": ZeroDivisionError}[given.string("kind")]("so it is")


TRIALS = {
    "echo": Task(lambda given, folder, progress: {"pid": os.getpid(), "text": given.string("text", "")}),
    "slow": Task(_slow),
    "children": Task(_children),
    "hungry": Task(_hungry),
    "grown": Task(_grown),
    "wrong": Task(_wrong),
    "wide": Task(lambda given, folder, progress: {"text": "x" * process_pool.MAX_ANSWER}),
    "nan": Task(lambda given, folder, progress: {"x": float("nan")}),
    "die": Task(lambda given, folder, progress: os._exit(3)),  # type: ignore[arg-type, return-value]
}


def trial(tmp_path, scenario, *, count=2, seconds=60.0, memory=LARGE):
    """Run a scenario with workers that have the tasks above."""

    async def run():
        hands = Workers(tmp_path, count, seconds, memory)

        async def ask(task, given=None, tab="one", progress=lambda message: None):
            return json.loads(await hands.run(tab, json.dumps([task, given or {}]).encode(), progress))

        try:
            await scenario(hands, ask)
        finally:
            hands.end()

    with copies(TRIALS):
        asyncio.run(run())


async def begun(tmp_path):
    while not (tmp_path / "begun").exists() or not (tmp_path / "begun").read_text():
        await asyncio.sleep(0.01)
    return int((tmp_path / "begun").read_text())


def gone(pid):
    """Return True if a process ends within a timeout."""
    for _ in range(500):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_worker_answers_requests_in_sequence(tmp_path):
    async def scenario(hands, ask):
        first = await ask("echo", {"text": "é"})
        assert first["result"]["text"] == "é"
        assert await ask("echo") == {"result": {"pid": first["result"]["pid"], "text": ""}}
        assert hands.pids == [first["result"]["pid"]]

    trial(tmp_path, scenario)


def test_errors_are_reported_as_messages(tmp_path):
    async def scenario(hands, ask):
        for kind in ("input", "work", "defect"):
            error = (await ask("wrong", {"kind": kind}))["error"]
            assert error["kind"] == kind
            assert "so it is" in error["message"]
        assert "too large for a page" in (await ask("wide"))["error"]["message"]
        assert (await ask("nan"))["error"]["kind"] == "defect"
        assert (await ask("wrong", {"kind": 3}))["error"]["message"].startswith("studio, kind: got 3.")
        assert len(hands.pids) == 1  # none of this ends a process

    trial(tmp_path, scenario)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no memory limit")
def test_memory_is_limited(tmp_path):
    async def scenario(hands, ask):
        assert "not enough memory" in (await ask("hungry"))["error"]["message"]
        assert "result" in await ask("echo")

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    trial(tmp_path, scenario, memory=used + (200 << 20))


def test_process_with_large_memory_is_replaced(tmp_path):
    async def scenario(hands, ask):
        before = (await ask("echo"))["result"]["pid"]
        assert await ask("grown") == {"result": {}}
        assert (await ask("echo"))["result"]["pid"] != before
        assert gone(before)

    trial(tmp_path, scenario)


@pytest.mark.parametrize("end", ["cancel", "kill", "exit", "time"])
def test_end_of_a_process_affects_only_its_task(tmp_path, end):
    async def scenario(hands, ask):
        other = (await ask("echo", tab="other"))["result"]["pid"]
        progress = []
        under_way = asyncio.create_task(ask("die" if end == "exit" else "slow", progress=progress.append))
        if end in ("cancel", "kill"):
            pid = await begun(tmp_path)
            async with asyncio.timeout(30):
                while not progress:
                    await asyncio.sleep(0.01)
            under_way.cancel() if end == "cancel" else os.kill(pid, signal.SIGKILL)
        words = {"kill": "ended by the signal SIGKILL", "exit": "ended with code 3", "time": "longer than 0.5 s"}
        with pytest.raises(asyncio.CancelledError if end == "cancel" else WorkLost, match=words.get(end)):
            await under_way
        if end != "exit":
            assert progress == [{"progress": 0.5, "message": "half"}]
            assert gone(int((tmp_path / "begun").read_text()))
        assert (await ask("echo", tab="other"))["result"]["pid"] == other
        assert "result" in await ask("echo")

    trial(tmp_path, scenario, seconds=0.5 if end == "time" else 60.0)


@pytest.mark.skipif(os.name != "posix", reason="groups of processes")
def test_child_processes_end_with_their_task(tmp_path):
    async def scenario(hands, ask):
        under_way = asyncio.create_task(ask("children"))
        child = await begun(tmp_path)
        under_way.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await under_way
        assert gone(child)

    trial(tmp_path, scenario)


def test_worker_that_died_while_idle_is_replaced(tmp_path):
    async def scenario(hands, ask):
        pid = (await ask("echo"))["result"]["pid"]
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
        assert (await ask("echo"))["result"]["pid"] != pid

    trial(tmp_path, scenario)


# scheduling


def order(slots, tabs):
    """Return the order in which tabs get slots if all ask at once for the same time."""

    async def run():
        scheduler, found = FairScheduler(slots), []

        async def task(tab):
            async with scheduler.slot(tab):
                found.append(tab)
                await asyncio.sleep(0.001)

        await asyncio.gather(*map(task, tabs))
        return "".join(found)

    return asyncio.run(run())


def test_tabs_take_scheduler():
    assert order(1, "aaaabbc") == "abcabaa"
    assert order(2, "aaaabbc").startswith("ab")
    assert sorted(order(3, "abc" * 20)) == sorted("abc" * 20)


def test_tab_with_a_slot_never_gets_the_last_one():
    async def run():
        scheduler = FairScheduler(3)
        async with scheduler.slot("a"), scheduler.slot("a"):
            third = asyncio.create_task(_hold(scheduler, "a"))
            await asyncio.sleep(0)
            assert not third.done()
            await asyncio.wait_for(_hold(scheduler, "b"), 10)
            assert not third.done()
        await asyncio.wait_for(third, 10)

    asyncio.run(run())


async def _hold(scheduler, tab):
    async with scheduler.slot(tab):
        pass


def test_cancelled_waiting_frees_its_slot():
    async def run():
        scheduler = FairScheduler(1)
        async with scheduler.slot("a"):
            tasks = [asyncio.create_task(_hold(scheduler, tab)) for tab in "bbcd"]
            await asyncio.sleep(0)
            for each in tasks[:3]:
                each.cancel()
        await asyncio.wait_for(tasks[3], 10)
        # the slot is assigned at the moment of cancellation
        first = asyncio.Event()

        async def holder():
            async with scheduler.slot("a"):
                await first.wait()

        holding = asyncio.create_task(holder())
        await asyncio.sleep(0)
        late = asyncio.create_task(_hold(scheduler, "b"))
        await asyncio.sleep(0)
        first.set()
        await holding
        late.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await late
        await asyncio.wait_for(_hold(scheduler, "c"), 10)
        assert not scheduler._waiting
        assert not scheduler._running

    asyncio.run(run())
