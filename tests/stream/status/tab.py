"""A tab of Chromium that tests steer by the DevTools protocol, over two pipes.

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final

from tests.stream.status.browser import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stream.status.browser import Screen

# Chromium reads orders at descriptor 3, and answers at 4.
_EXEC: Final = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
_HIGH_FD: Final = 10
_END: Final = b"\0"


class Tab:
    """A tab that shows a page, and one beside it that is empty."""

    def __init__(self, orders: IO[bytes], answers: IO[bytes]) -> None:
        """Open both tabs; the browser reads `orders` and writes `answers`."""
        self._orders = orders
        self._answers = answers
        self._number = 0
        self._page = self._order("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._order("Target.attachToTarget", targetId=self._page, flatten=True)[
            "sessionId"
        ]
        self._in_page("Page.enable")

    def open(self, address: str) -> None:
        """Go to a page, and wait until it is loaded."""
        self._in_page("Page.navigate", url=address)
        self._wait_for("Page.loadEventFired")

    def let_pass(self, seconds: float) -> None:
        """Let the page live for so long; its clock runs as fast as its requests are answered."""
        self._in_page(
            "Emulation.setVirtualTimePolicy",
            policy="pauseIfNetworkFetchesPending",
            budget=seconds * 1000,
        )
        self._wait_for("Emulation.virtualTimeBudgetExpired")

    def value(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript in the page."""
        return self._in_page("Runtime.evaluate", expression=expression, returnByValue=True)[
            "result"
        ].get("value")

    def picture(self, page: str, file: Path, screen: Screen) -> None:
        """Write a picture of a page on a screen, as PNG."""
        source = file.with_suffix(".html")
        file.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(page, "utf-8")
        self._in_page(
            "Emulation.setDeviceMetricsOverride",
            width=screen.width,
            height=screen.height,
            deviceScaleFactor=1,
            mobile=False,
        )
        colours = {"name": "prefers-color-scheme", "value": "dark" if screen.dark else "light"}
        self._in_page("Emulation.setEmulatedMedia", features=[colours])
        self._in_page("Emulation.setScrollbarsHidden", hidden=True)
        self.open(source.as_uri())
        file.write_bytes(base64.b64decode(self._in_page("Page.captureScreenshot")["data"]))
        source.unlink()

    def hide(self) -> None:
        """Put another tab before it."""
        other = self._order("Target.createTarget", url="about:blank")["targetId"]
        self._order("Target.activateTarget", targetId=other)

    def show(self) -> None:
        """Put it before the others."""
        self._order("Target.activateTarget", targetId=self._page)

    def _in_page(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._order(method, self._session, **parameters)

    def _order(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            order["sessionId"] = session
        self._orders.write(json.dumps(order).encode() + _END)
        self._orders.flush()
        while True:
            answer = self._answer()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def _wait_for(self, event: str) -> None:
        while self._answer().get("method") != event:
            pass

    def _answer(self) -> dict[str, Any]:
        text = b""
        while not text.endswith(_END):
            read = self._answers.read(1)
            assert read, "the browser has ended"
            text += read
        answer: dict[str, Any] = json.loads(text[:-1])
        return answer


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """Run a browser, which keeps its files in `folder`, with a tab."""
    orders_read, orders_write = os.pipe()
    answers_read, answers_write = os.pipe()
    # Not 3 or 4 themselves: the first copy would close the other one.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, _HIGH_FD) for end in (orders_read, answers_write)]
    os.close(orders_read)
    os.close(answers_write)
    process = subprocess.Popen(
        [sys.executable, "-c", _EXEC, *map(str, ends), *command(folder, "--remote-debugging-pipe")],
        pass_fds=ends,
        stderr=subprocess.DEVNULL,
    )
    for end in ends:
        os.close(end)
    with os.fdopen(orders_write, "wb") as orders, os.fdopen(answers_read, "rb") as answers:
        try:
            yield Tab(orders, answers)
        finally:
            process.kill()
            process.wait()
