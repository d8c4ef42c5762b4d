"""Headless Chromium, controlled through a pipe: JSON messages that end with a zero byte, on file descriptors 3 and 4."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
NO_WEBGL = ("--disable-gpu", "--disable-3d-apis")
SECONDS = 60.0  # maximum time of an answer


def found() -> str | None:
    """The path of Chromium."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """A running Chromium; `events` are all messages that are not answers."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int) -> None:
        self._process, self._to, self._back = process, to, back
        self._buffer, self._count = b"", 0
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """The answer to one message of the devtools protocol."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        os.write(self._to, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") != self._count:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._back], [], [], SECONDS)[0]:
                raise TimeoutError(f"Chromium says nothing for {SECONDS:.0f} s")
            if not (data := os.read(self._back, 1 << 20)):
                raise ConnectionError(f"Chromium has ended with code {self._process.wait()}")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def open(self, path: Path, width: int = 900, height: int = 560, dark: bool = False) -> Page:
        """Open the page of a file and wait until its viewer is ready."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for domain in ("Runtime", "Log", "Network", "Page"):
            page.ask(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        page.ask("Emulation.setEmulatedMedia", features=[scheme, still])
        page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.ask("Page.navigate", url=path.as_uri())
        page.wait("document.readyState === 'complete' && window.dalembert?.ready === true")
        return page


class Page:
    """One tab."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser, self._target, self._session = browser, target, session

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a message."""
        return self._browser.ask(method, self._session, **parameters)

    def value(self, expression: str) -> Any:
        """The value of JavaScript in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {json.dumps(answer['exceptionDetails'])}")
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + SECONDS
        while not self.value(condition):
            if time.monotonic() > end:
                raise TimeoutError(
                    f"after {SECONDS:.0f} s it does not hold that {condition}; the page said {self.complaints()}"
                )
            time.sleep(0.02)

    def frame(self) -> None:
        """Wait until two frames are drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def press(self, key: str) -> None:
        """Press and release a key."""
        code = {" ": "Space"}.get(key, key)
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=code)

    def picture(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def _events(self, test: Callable[[str], bool]) -> list[dict[str, Any]]:
        return [e for e in self._browser.events if e.get("sessionId") == self._session and test(e["method"])]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and what the browser itself logs."""
        out = []
        for event in self._events(
            lambda m: m in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        ):
            said = event["params"]
            if said.get("type", "error") in ("error", "warning", "assert", "exception"):
                out.append(json.dumps(said.get("entry") or said.get("exceptionDetails") or said.get("args"))[:400])
        return out

    def requests(self) -> list[str]:
        """The URLs of all requests except those for the file itself and for data URLs."""
        sent = [e["params"]["request"]["url"] for e in self._events(lambda m: m == "Network.requestWillBeSent")]
        return [url for url in sent[1:] if not url.startswith(("data:", "blob:"))]

    def close(self) -> None:
        """Close the tab."""
        self._browser.ask("Target.closeTarget", targetId=self._target)


@contextlib.contextmanager
def chromium(profile: Path, *flags: str) -> Iterator[Browser]:
    """A browser with a new profile and without network access: no host resolves."""
    program = found()
    if program is None:
        raise FileNotFoundError("no chromium on this machine")
    mine, its = os.pipe(), os.pipe()  # what we read, what it reads
    low = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (its[0], mine[1])]

    def pipes() -> None:
        os.dup2(low[0], 3)
        os.dup2(low[1], 4)

    offline = ("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", f"--user-data-dir={profile}")
    environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": "/dev/null"}
    process = subprocess.Popen(
        [program, *FLAGS, *offline, *flags, "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=pipes, close_fds=False, env=environment,
    )  # fmt: skip
    for end in (*low, its[0], mine[1]):
        os.close(end)
    browser = Browser(process, its[1], mine[0])
    try:
        yield browser
    finally:
        with contextlib.suppress(ConnectionError, OSError, TimeoutError):
            browser.ask("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(its[1])
        os.close(mine[0])
