"""`python browsers.py ADDRESS COUNT`: asks for the status page as so many browsers, until killed.

Each asks every two seconds, as the script of the page does, and reads the answer. If one is not the
page, the program ends with an error.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import urllib.request

# As in connector/status/page.js.
PAUSE_S = 2.0
PATIENCE_S = 10.0


def look(address: str, first_after_s: float) -> None:
    """Ask until an answer is wrong, and end the program then: an error ends only its thread."""
    time.sleep(first_after_s)
    while _is_page(address):
        time.sleep(PAUSE_S)
    os._exit(1)


def _is_page(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
            return b"<title>" in answer.read()
    except OSError as error:
        print(f"{address}: {error}", file=sys.stderr)
        return False


def main() -> None:
    """Ask from a thread for each browser; they have opened the page at different times."""
    address, count = sys.argv[1], int(sys.argv[2])
    threads = [
        threading.Thread(target=look, args=(address, PAUSE_S * number / count))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main()
