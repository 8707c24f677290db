"""`python browsers.py ADDRESS COUNT`: asks for the status page as so many browsers, until SIGTERM.

Each asks every two seconds, as the script of the page does, and reads the answer. If one is not the
page, the program ends with an error. At SIGTERM, it prints as JSON when each has got its pages, in
seconds of the monotonic clock.

Browsers run on other machines, and here they would take the cores of what is measured. So they only
get what others leave (SCHED_IDLE); the times tell whether that was enough.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import urllib.request

# As in connector/stream/status/page.js.
PAUSE_S = 2.0
PATIENCE_S = 10.0


class Browser(threading.Thread):
    """Asks for the page again and again."""

    def __init__(self, address: str, first_after_s: float) -> None:
        super().__init__(daemon=True)
        self.pages: list[float] = []
        self._address = address
        self._first_after_s = first_after_s

    def run(self) -> None:
        """Ask until an answer is wrong, and end the program then: an error ends only its thread."""
        time.sleep(self._first_after_s)
        while self._is_page():
            self.pages.append(time.monotonic())
            time.sleep(PAUSE_S)
        os._exit(1)

    def _is_page(self) -> bool:
        try:
            with urllib.request.urlopen(self._address, timeout=PATIENCE_S) as answer:
                return b"<title>" in answer.read()
        except OSError as error:
            print(f"{self._address}: {error}", file=sys.stderr)
            return False


def main() -> None:
    """Ask from a thread for each browser; they have opened the page at different times."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    # Threads take over that it is blocked, so that it waits for this one.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    address, count = sys.argv[1], int(sys.argv[2])
    browsers = [Browser(address, PAUSE_S * number / count) for number in range(count)]
    for browser in browsers:
        browser.start()
    signal.sigwait({signal.SIGTERM})
    print(json.dumps([browser.pages for browser in browsers]))


if __name__ == "__main__":
    main()
