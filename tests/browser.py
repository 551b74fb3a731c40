"""A browser for tests of pages: found, started once, and asked through its pipe for debugging.

Keys are pressed and the pointer is moved as a person would, in real time; what the console says
is kept.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

MEASURE = (Path(__file__).parent / "measure.js").read_text("utf-8")
"""Defines `measure()`: contrast, pictures, widths and requests of the page that it runs in."""

in_a_browser = [
    pytest.mark.page,
    pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome was found"),
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    """One browser for all tests of a file."""
    found = Tab(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


_WAIT = 60.0
"""Seconds until an answer is given up."""

_KEYS = {
    "Tab": 9, "Enter": 13, "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32,
}  # fmt: skip


class Tab:
    """One tab of a headless browser.

    Parameters
    ----------
    folder : Path
        Where the browser keeps its profile.
    """

    def __init__(self, folder):
        there, here = os.pipe(), os.pipe()
        wrapper = f'exec "$0" "$@" 3<&{there[0]} 4>&{here[1]}'
        self._process = subprocess.Popen(
            [
                "bash", "-c", wrapper, BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe",
                "--hide-scrollbars", "about:blank",
            ],
            pass_fds=(there[0], here[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there[0])
        os.close(here[1])
        self._to, self._from, self._left, self._count = there[1], here[0], b"", 0
        self.console = []
        self._session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t for t in targets if t["type"] == "page")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        """Ends the browser."""
        self._session = None
        self.call("Browser.close")
        self._process.wait(timeout=_WAIT)
        os.close(self._to)
        os.close(self._from)

    def call(self, method, **parameters):
        """The answer to a command of the DevTools protocol."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _read(self):
        until = time.monotonic() + _WAIT
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(until - time.monotonic(), 0.0))
            part = os.read(self._from, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self._left += part
        text, _, self._left = self._left.partition(b"\0")
        answer = json.loads(text)
        if answer.get("method") in (
            "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded",
        ):  # fmt: skip
            self.console.append(json.dumps(answer["params"])[:2000])
        return answer

    def do(self, script):
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True,
            userGesture=True,
        )  # fmt: skip
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, address, ready="document.readyState === 'complete'"):
        """Goes to an address, and waits until an expression is true there."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.until(ready)

    def until(self, ready):
        """Waits until an expression is true in the page."""
        end = time.monotonic() + _WAIT
        while not self.do(f"Boolean({ready})"):
            assert time.monotonic() < end, f"never true: {ready}"
            time.sleep(0.02)

    def size(self, width, height):
        """Gives the window this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def prefer(self, scheme, media=""):
        """The colours that a person prefers, and the medium, such as "print"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def press(self, key):
        """Presses a key and lets it go."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS.get(key, 0)}
        if key in ("Enter", " "):
            known["text"] = "\r" if key == "Enter" else " "
        self.call("Input.dispatchKeyEvent", type="keyDown", **known)
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def drag(self, start, end, steps=8):
        """Drags the pointer from one point of the window to another."""
        (x, y), (to_x, to_y) = start, end
        pressed = {"button": "left", "buttons": 1, "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **pressed)
        for i in range(1, steps + 1):
            at = {"x": x + (to_x - x) * i / steps, "y": y + (to_y - y) * i / steps}
            self.call("Input.dispatchMouseEvent", type="mouseMoved", **at, **pressed)
        pressed["buttons"] = 0
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, **pressed)

    def printed(self):
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])
