"""The operating system: its clock and signals, threads, memory, temporary files, and core files.

The core does no I/O and reads no clock: it gets the clock and the folder for temporary files as
arguments, so a simulation can have its own. The first SIGTERM or SIGINT requests a clean stop, and
the second stops at once. In core files, the kernel keeps the memory of a process that crashed:
https://man7.org/linux/man-pages/man5/core.5.html
"""

import ctypes
import resource
import select
import signal
import socket
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO, Final, Self

_MS = 1000
# They are read at once.
_WAKINGS_MAX = 4096


class StoppedHard(BaseException):
    """A second signal, or a clean stop that took too long: exit at once.

    Kafka aborts what was not committed, and the next run reads it again.
    """


class StopSignals:
    """Inside of `with`, SIGTERM and SIGINT set `requested`, and end every wait of the main thread.

    It is a plain attribute, not a `threading.Event`: if the main thread held its lock, the signal
    handler would wait for itself. So a pair of sockets wakes the main thread.
    """

    def __init__(self, grace_seconds: int = 30) -> None:
        """Give a clean stop `grace_seconds` before it becomes a hard stop."""
        self.requested = False
        self._number = 0
        self._reported = False
        self._grace_seconds = grace_seconds
        self._previous: dict[signal.Signals, object] = {}
        # What is sent into the second can be read from the first; none outside of `with`.
        self._waking: tuple[socket.socket, socket.socket] | None = None

    def wake(self) -> None:
        """End a wait of the main thread, or the next one; any thread or signal handler may call."""
        if self._waking is not None:
            # A full buffer wakes it anyway.
            with suppress(OSError):
                self._waking[1].send(b"\0")

    def await_data(self, descriptor: int, seconds: float) -> bool:
        """Wait until a socket can be read, the time is over, or `wake` is called.

        Returns whether the socket can be read, or has an error to tell.
        """
        return descriptor in self._ready(seconds, descriptor)

    def _ready(self, seconds: float, *descriptors: int) -> set[int]:
        """Wait as `await_data` does; return the descriptors that can be read."""
        assert self._waking is not None, "nothing waits outside of `with`"
        woken = self._waking[0]
        poll = select.poll()
        for descriptor in (woken.fileno(), *descriptors):
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(seconds * _MS)}
        if woken.fileno() in ready:
            with suppress(BlockingIOError):
                woken.recv(_WAKINGS_MAX)
        return ready

    def report(self) -> None:
        """Log the signal once after a stop was requested: a handler must not log."""
        if self.requested and not self._reported:
            self._reported = True
            name = signal.Signals(self._number).name if self._number else None
            from structlog import get_logger  # noqa: PLC0415  # keeps commands without a log fast

            get_logger().info("stop requested", signal=name)

    def sleep(self, seconds: float) -> None:
        """Sleep until the time is over or a stop is requested."""
        end = time.monotonic() + seconds
        while not self.requested and (left := end - time.monotonic()) > 0:
            self._ready(left)

    def __enter__(self) -> Self:
        self._waking = socket.socketpair()
        for end in self._waking:
            end.setblocking(False)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._previous[number] = signal.signal(number, self._request)
        self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._stop_hard)
        return self

    def __exit__(self, *_: object) -> None:
        signal.alarm(0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from signal.signal
        if self._waking is not None:
            for end in self._waking:
                end.close()
            self._waking = None

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            self._stop_hard(number, frame)
        self.requested = True
        self._number = number
        self.wake()
        signal.alarm(self._grace_seconds)

    def _stop_hard(self, number: int, frame: FrameType | None) -> None:
        del frame
        raise StoppedHard(number)


@dataclass(frozen=True, slots=True)
class Clock:
    """Two clocks: a monotonic one, and the time of day."""

    monotonic: Callable[[], float]  # seconds
    time_ns: Callable[[], int]  # since the epoch

    def now_us(self) -> int:
        """Return the microseconds since the epoch."""
        return self.time_ns() // 1000

    def now_ms(self) -> int:
        """Return the milliseconds since the epoch."""
        return self.time_ns() // 1_000_000


CLOCK = Clock(time.monotonic, time.time_ns)


class Background(ABC):
    """A daemon thread."""

    def __init__(self, name: str) -> None:
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


class TemporaryFolder:
    """Makes files without a name, which disappear when their process ends."""

    @property
    def name(self) -> str:
        """The path of the folder."""
        return tempfile.gettempdir()

    def open(self) -> IO[bytes]:
        """Open a new file; raises OSError if there is no room."""
        return tempfile.TemporaryFile(prefix="binlog-connector-")


# https://man7.org/linux/man-pages/man3/mallopt.3.html
_M_ARENA_MAX: Final = -8


def share_one_arena() -> None:
    """Let all threads have their memory from the same arena.

    By default, glibc gives each thread an arena of its own, whose free memory no other thread uses:
    3 MB for a dozen threads that mostly wait. Other C libraries have no arenas.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def return_free_memory() -> None:
    """Give the system the memory that is free inside of the heap.

    By itself, glibc returns what is free at the end of the heap alone. What a start leaves free
    elsewhere is 3 MB, and a copy leaves more. For so long, no thread can allocate: half a
    millisecond after a start, 30 ms for a large heap. Other C libraries have no such function.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


_SET_DUMPABLE: Final = 4


def forbid_core_files() -> None:
    """Let no crash of this process write its memory into a file, and give it to no program.

    A limit holds for files alone: a program that collects them gets the memory in spite of it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # It does not fail for these arguments.
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
