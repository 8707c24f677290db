"""Work of a thread that goes on until it is closed."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class Background(ABC):
    """A daemon thread."""

    def __init__(self, name: str) -> None:
        """Give the thread its name."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, and wait until it has ended."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    @abstractmethod
    def _run(self) -> None:
        """Work until `_closed` is set."""
