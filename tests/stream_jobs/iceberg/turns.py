"""Processes that share a storage take turns: one request after the other, in any order.

Each process is a thread that waits before each request to the Iceberg tables until it has a turn.
Time passes only with turns, so processes stand still and die at each request.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.iceberg.table_files import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream_jobs.delta.storage import StoredFile


class Death(BaseException):
    """The process ends here."""


@dataclass
class Clock:
    """The time of all machines, and of the storage."""

    ms: int = 1_800_000_000_000
    # When each file was written, by its path.
    written: dict[str, int] = field(default_factory=dict)

    def now(self) -> int:
        return self.ms


class Process:
    """A thread that does `work`; it begins with its first turn."""

    def __init__(self, clock: Clock, work: Callable[[TurnStorage], Any], root: str) -> None:
        self._clock = clock
        self._go, self._waits = threading.Semaphore(0), threading.Semaphore(0)
        self._dies = False
        # What is asked for, and since when it waits.
        self.request, self.since = "", clock.ms
        self.is_over = False
        self.result: Any = None
        self.error: BaseException | None = None
        storage = TurnStorage(root, self, clock)
        self._thread = threading.Thread(target=self._run, args=(work, storage), daemon=True)
        self._thread.start()
        self._waits.acquire()

    def _run(self, work: Callable[[TurnStorage], Any], storage: TurnStorage) -> None:
        try:
            self.wait("")
            self.result = work(storage)
        except Death:
            pass
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.error = error
        self.is_over = True
        self._waits.release()

    def wait(self, request: str) -> None:
        """Wait for a turn, in which `request` is answered; raises Death instead."""
        self.request, self.since = request, self._clock.ms
        self._waits.release()
        self._go.acquire()
        if self._dies:
            raise Death

    def take_turn(self, *, dies: bool = False) -> None:
        """Let it make its request, and go on to the next one."""
        self._dies = dies
        self._go.release()
        self._waits.acquire()
        if self.error is not None:
            raise self.error

    @property
    def changes_table(self) -> bool:
        """Whether its next request makes a change, or lets readers see one."""
        return self.request.endswith((".metadata.json", "version-hint.text")) and (
            self.request.startswith("write")
        )


@dataclass(frozen=True)
class TurnStorage(LocalStorage):
    """A storage as one process sees it."""

    process: Process = field(compare=False)
    clock: Clock = field(compare=False)

    def _wait(self, what: str, path: str) -> None:
        if path.startswith(FOLDER):
            self.process.wait(f"{what} {path}")

    def read(self, path: str) -> bytes | None:
        self._wait("read", path)
        return super().read(path)

    def write(self, path: str, content: bytes | memoryview) -> None:
        self._wait("write", path)
        self.clock.written[f"{self.root}/{path}"] = self.clock.ms
        super().write(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._wait("write", path)
        is_put = super().put_if_absent(path, content)
        if is_put:
            self.clock.written[f"{self.root}/{path}"] = self.clock.ms
        return is_put

    def delete(self, path: str) -> None:
        self._wait("delete", path)
        super().delete(path)

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        self._wait("list", folder)
        for file in list(super().list(folder, start_after)):
            path = f"{self.root}/{folder}/{file.name}"
            yield file._replace(modified=self.clock.written.get(path, file.modified))
