"""A headless Chromium driven over its DevTools pipe, with functions to view and use a page."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
from contextlib import contextmanager, suppress

from patience import PATIENCE, ending

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
SAYS_READY = "document.documentElement.dataset.ready"


def find():
    """Return the path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab; `messages` contains every event that the browser has sent."""

    def __init__(self, to_browser, from_browser):
        self._to, self._from = to_browser, from_browser
        self._received = b""
        self._number = 0
        self._session = {}
        self.messages = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Call a DevTools method and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.messages.append(answer)

    def _receive(self):
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], PATIENCE)
            if not ready:
                raise TimeoutError("Chromium does not reply")
            more = os.read(self._from, 1 << 16)
            if not more:
                raise RuntimeError("Chromium has ended")
            self._received += more
        text, _, self._received = self._received.partition(b"\0")
        return json.loads(text)

    def evaluate(self, expression):
        """Return the value of a JavaScript expression, awaited if it is a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, path, width, height, *, dark=False, ratio=1, ready=SAYS_READY):
        """Show a file in a window of a given size, and wait for a condition in JavaScript."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=ratio,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.messages.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.evaluate(
            "new Promise((done) => { const look = () => document.readyState === 'complete' && "
            f"{ready} ? requestAnimationFrame(() => done()) : setTimeout(look, 20); look(); }})"
        )

    def mouse(self, kind, x, y, **more):
        """Send a mouse event in the window's coordinates."""
        button = "none" if kind == "mouseMoved" and "buttons" not in more else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, **more)

    def picture(self, *, whole=False):
        """Return a PNG of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    def complaints(self):
        """Errors since the page was opened: exceptions, and logged errors and warnings."""
        return [
            message["params"]
            for message in self.messages
            if message.get("method") in {"Runtime.exceptionThrown", "Log.entryAdded"}
            or message.get("method") == "Runtime.consoleAPICalled"
        ]

    def requests(self):
        """Addresses requested since the page was opened."""
        return [
            message["params"]["request"]["url"]
            for message in self.messages
            if message.get("method") == "Network.requestWillBeSent"
        ]


def _high(descriptor):
    """Duplicate a file descriptor to a number of at least 10, which keeps 3 and 4 free."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return high


@contextmanager
def browser(profile):
    """Start Chromium with its own profile folder and yield a `Page`."""
    in_read, in_write, out_read, out_write = (_high(end) for _ in range(2) for end in os.pipe())

    def place_pipes():  # descriptors 3 and 4, as --remote-debugging-pipe requires
        os.dup2(in_read, 3, inheritable=True)
        os.dup2(out_write, 4, inheritable=True)

    process = subprocess.Popen(
        [find(), *ARGUMENTS, f"--user-data-dir={profile}"],
        preexec_fn=place_pipes,  # noqa: PLW1509 - only moves descriptors after the fork
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(in_read)
    os.close(out_write)
    with ending(process), os.fdopen(in_write, "wb") as to_browser:
        try:
            yield Page(to_browser, out_read)
        finally:
            os.close(out_read)
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE / 10)
