"""Record batches that Kafka has not acknowledged yet, and the thread that compresses them.

Compression is most of the work after encoding, and needs no Python, so it has the second core.
"""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.sink.sealed_records import SealedRecords

# Between two looks at a condition: some ends of batches are not reported.
_LOOK_SECONDS = 0.1


class InFlight:
    """Batches by their bytes in memory; any thread may use it."""

    def __init__(self) -> None:
        """Start the thread; `close` ends it."""
        self._batches: set[SealedRecords] = set()
        self._lock = threading.Lock()
        # Why every wait is in vain.
        self._failure: Exception | None = None
        # Set when a batch becomes smaller or ends, or when there is something else to look at.
        self._news = threading.Event()
        # Batches that are not compressed yet; None ends the thread.
        self._ahead: SimpleQueue[SealedRecords | None] = SimpleQueue()
        threading.Thread(target=self._compress, name="compression", daemon=True).start()

    @property
    def bytes(self) -> int:
        """Bytes of all batches, as they are in memory."""
        with self._lock:
            return sum(records.size_in_bytes() for records in self._batches)

    def add(self, records: SealedRecords) -> None:
        """Count a batch, and have it compressed."""
        with self._lock:
            self._batches.add(records)
        self._ahead.put(records)

    def discard(self, records: SealedRecords) -> None:
        """Forget a batch."""
        with self._lock:
            self._batches.discard(records)
        self._news.set()

    def clear(self) -> None:
        """Forget all batches."""
        with self._lock:
            self._batches.clear()
        self._news.set()

    def notify(self) -> None:
        """Have `wait_until` look again."""
        self._news.set()

    def fail(self, error: Exception) -> None:
        """Have `wait_until` raise `error` from now on, where its condition does not hold."""
        self._failure = error
        self._news.set()

    def check(self) -> None:
        """Raise the error of `fail`, if there is one."""
        if self._failure is not None:
            raise self._failure

    def wait_until(self, condition: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until a condition holds, which is asked at any news; return False if too late.

        Raises the error of `fail`.
        """
        until = time.monotonic() + timeout_seconds
        while True:
            self._news.clear()
            if condition():
                return True
            self.check()
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._news.wait(min(left, _LOOK_SECONDS))

    def close(self) -> None:
        """End the thread."""
        self._ahead.put(None)

    def _compress(self) -> None:
        while (records := self._ahead.get()) is not None:
            records.compress()
            self._news.set()
