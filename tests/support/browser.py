"""A real browser for tests: Chromium without a window, spoken to by its DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60.0
TALLEST = 9000  # pixels of a picture


def needed_chromium() -> str:
    """Its path; a machine without it skips the test, and CI fails."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None and os.environ.get("MOORE_CI"):
        pytest.fail("CI must have Chromium")
    return found or pytest.skip("needs Chromium")


class Browser:
    """One page of one browser. What it complained of and what it asked for is kept."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive, self._buffer = send, receive, b""
        self._number, self._session = 0, ""
        self.complaints: list[str] = []
        self._asked: dict[str, str] = {}
        self._seen: list[str] = []
        self._attach()

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command; events that come before it are noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self._note(told)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._receive], [], [], max(until - time.monotonic(), 0))
            assert ready, "the browser says nothing"
            data = os.read(self._receive, 1 << 20)
            assert data, "the browser has gone"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        method, told = event.get("method", ""), event.get("params", {})
        self._seen.append(method)
        if method == "Network.requestWillBeSent":
            self._asked[told["requestId"]] = told["request"]["url"]
        elif method == "Network.loadingFailed" and told.get("blockedReason") == "csp":
            self._asked.pop(told["requestId"], None)  # told of, and never sent
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(told["args"]))

    def open(self, path: Path, *, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Load a file in a window of that size and colour scheme, and wait until it is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.complaints, self._asked, self._seen = [], {}, []
        self.call("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._seen:
            self._note(self._next())

    @property
    def requests(self) -> list[str]:
        """What was asked for since the page was opened, but for what the page's own policy stopped."""
        return list(self._asked.values())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        told = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression holds."""
        end = time.monotonic() + SECONDS
        while not self.evaluate(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def key(self, name: str, code: int, text: str = "") -> None:
        """Press and let go one key."""
        fields = {"key": name, "code": name, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **fields, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **fields)

    def screenshot(self, path: Path) -> None:
        """A picture of the page from its top, at most `TALLEST` pixels of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        size = self.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        path.write_bytes(self.picture(0, 0, size[0], min(size[1], TALLEST)))

    def picture(self, x: float, y: float, width: float, height: float) -> bytes:
        """A part of the page as PNG; equal pictures are equal bytes."""
        part = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=part)
        return base64.b64decode(told["data"])


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own, gone at the end."""
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    program = needed_chromium()
    command = [
        program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars",
        "--remote-debugging-pipe", f"--user-data-dir={profile}",
    ]  # fmt: skip
    script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'  # the numbers that Chromium expects
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(to_browser, from_browser),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"},
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(from_us, to_us)
    finally:
        os.close(from_us)
        process.kill()
        process.wait()
        os.close(to_us)
