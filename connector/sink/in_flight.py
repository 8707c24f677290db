"""Record batches that Kafka has not acknowledged yet, and the thread that compresses them.

Compression is most of the work after encoding, and needs no Python, so it has the second core.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.sink.sealed_records import SealedRecords


class InFlight:
    """Batches by their bytes in memory; any thread may use it."""

    def __init__(self) -> None:
        """Start the thread; `close` ends it."""
        self._batches: set[SealedRecords] = set()
        self._lock = threading.Lock()
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
        """Have `wait` return."""
        self._news.set()

    def expect(self) -> None:
        """Have `wait` wait for what changes from now on."""
        self._news.clear()

    def wait(self, timeout_seconds: float) -> None:
        """Wait until something has changed since `expect`."""
        self._news.wait(timeout_seconds)

    def close(self) -> None:
        """End the thread."""
        self._ahead.put(None)

    def _compress(self) -> None:
        while (records := self._ahead.get()) is not None:
            records.compress()
            self._news.set()
