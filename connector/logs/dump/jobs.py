"""`dump --jobs`: several processes write the lines of files, in the order of the files.

::

    worker 1 ──▶ lines of file 1 ──┐
    worker 2 ──▶ lines of file 2 ──┼──in order──▶ output
    worker 1 ──▶ lines of file 3 ──┘

The lines of a file wait on disk until the lines of all files before it are written. Workers are
only a few files ahead, so memory and disk are bounded.
"""

import signal
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import BinaryIO

from connector.foundation.errors import ConfigError, ConnectorError
from connector.logs import undo_errors
from connector.logs.dump.dump import Dump, DumpOptions, Progress
from connector.logs.inputs import STANDARD_INPUT, LogInput, ReadingOptions, file_inputs
from connector.logs.output import LineOutput
from connector.logs.recovery import Gap
from connector.logs.selection import SelectionOptions

# Files whose lines may wait, for each worker.
_AHEAD = 2
_COPY_BYTES = 1024 * 1024
_RECEIVE_SECONDS = 0.1


def can_run_in_parallel(
    options: DumpOptions, reading: ReadingOptions, paths: Sequence[str]
) -> bool:
    """Return whether the lines of each file depend on this file alone."""
    chosen = options.selection
    by_event = SelectionOptions(types=chosen.types, server_ids=chosen.server_ids)
    return (
        len(paths) > 1
        and options.format.by_file
        and chosen == by_event
        and not reading.follow
        and STANDARD_INPUT not in paths
    )


@dataclass(frozen=True, slots=True)
class _ReadPosition:
    """A worker tells how far it has read."""

    position: int


@dataclass(frozen=True, slots=True)
class _FileResult:
    """A worker tells that it has written all lines of a file, up to an error if there is one."""

    error: Exception | None


@dataclass(slots=True)
class _FileLines:
    """What is known of the lines of one file."""

    log: LogInput
    number: int
    spool: Path
    position: int = 0
    gaps: list[Gap] = field(default_factory=list)  # that are not reported yet
    done: _FileResult | None = None


@dataclass(slots=True)
class _Worker:
    """A process, and the file that it reads."""

    process: BaseProcess
    connection: Connection
    part: _FileLines | None = None


class ParallelDump:
    """One run of the command over files, by several processes."""

    def __init__(
        self,
        options: DumpOptions,
        reading: ReadingOptions,
        paths: Sequence[str],
        jobs: int,
        report: Callable[[Gap], None],
        progress: Progress | None = None,
    ) -> None:
        """Read `paths` by at most `jobs` processes; tell `report` about gaps."""
        self._options = options
        self._reading = reading
        self._paths = list(paths)
        self._jobs = min(jobs, len(paths))
        self._report = report
        self._progress = progress
        self._workers: list[_Worker] = []
        self._waiting: deque[_FileLines] = deque()  # files that no worker has begun
        self.damaged = False  # whether there were gaps

    def run(self, output: BinaryIO) -> None:
        """Write the lines of all files.

        Raises the errors of `Dump`; the lines of all events before an error are written. Raises
        ConfigError for a process that ends too soon. SIGTERM ends it as Ctrl-C does, so that no
        lines stay on disk.
        """
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._run(output)
        finally:
            signal.signal(signal.SIGTERM, before)

    def _run(self, output: BinaryIO) -> None:
        frame = Dump(self._options, LineOutput(output), self._report)
        with TemporaryDirectory(prefix="binlog-connector-") as folder:
            logs = enumerate(file_inputs(self._paths, self._reading))
            parts = [_FileLines(log, number, Path(folder, str(number))) for number, log in logs]
            self._waiting.extend(parts)
            try:
                self._start_workers()
                frame.begin()
                for part in parts:
                    self._write(part, output)
            finally:
                self._end_workers()
        frame.end()

    def _start_workers(self) -> None:
        # A fork would copy the locks of the threads that draw the progress.
        context = get_context("spawn")
        for _ in range(self._jobs):
            ours, theirs = context.Pipe()
            arguments = (theirs, self._options, self._reading, self._paths)
            process = context.Process(target=_run_worker, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._workers.append(_Worker(process, ours))

    def _end_workers(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
            worker.process.join()
            worker.connection.close()

    def _write(self, part: _FileLines, output: BinaryIO) -> None:
        """Write the lines of a file, those that are there while its worker goes on."""
        part.spool.touch()
        with part.spool.open("rb") as spool:
            while True:
                self._give_work(part.number + _AHEAD * self._jobs)
                # Asked before the copy, which then has all lines.
                done = part.done
                while block := spool.read(_COPY_BYTES):
                    output.write(block)
                self._report_progress(part)
                if done is not None:
                    break
                self._receive()
        part.spool.unlink()
        if done.error is not None:
            output.flush()
            raise done.error

    def _give_work(self, end: int) -> None:
        """Give files before number `end` to the workers that have none."""
        for worker in self._workers:
            if worker.part is None and self._waiting and self._waiting[0].number < end:
                worker.part = self._waiting.popleft()
                # A worker that has ended is found out by what it does not tell.
                with suppress(OSError):
                    worker.connection.send((worker.part.number, worker.part.spool))

    def _report_progress(self, part: _FileLines) -> None:
        for gap in part.gaps:
            self.damaged = True
            self._report(gap)
        part.gaps.clear()
        if self._progress is not None:
            self._progress.show(part.log.name, part.position, part.log.size)

    def _receive(self) -> None:
        """Take what the workers tell, or return after a moment."""
        busy = {worker.connection: worker for worker in self._workers if worker.part is not None}
        for connection in wait(list(busy), _RECEIVE_SECONDS):
            assert isinstance(connection, Connection)
            worker = busy[connection]
            part = worker.part
            assert part is not None
            try:
                message = connection.recv()
            except (EOFError, OSError):
                message = _FileResult(_worker_ended(worker.process, part.log.name))
                self._workers.remove(worker)
            if isinstance(message, _ReadPosition):
                part.position = message.position
            elif isinstance(message, _FileResult):
                part.done = message
                worker.part = None
            else:
                part.gaps.append(message)


def _worker_ended(process: BaseProcess, path: str) -> ConfigError:
    process.join()
    code = process.exitcode or 0
    status = f"signal {-code}" if code < 0 else f"exit code {code}"
    return ConfigError(undo_errors.JOB_ENDED, path=path, status=status)


class _WorkerProgress:
    """Tells the first process how far a worker has read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._due = 0.0

    def show(self, log: str, position: int, size: int | None) -> None:
        """Tell the position, not more often than it is shown."""
        del log, size
        now = monotonic()
        if now >= self._due:
            self._due = now + _RECEIVE_SECONDS
            self._connection.send(_ReadPosition(position))


def _run_worker(
    connection: Connection, options: DumpOptions, reading: ReadingOptions, paths: Sequence[str]
) -> None:
    """Write the files that the first process names, until it ends this process."""
    # Ctrl-C reaches all processes; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs = list(file_inputs(paths, reading))
    with suppress(EOFError, BrokenPipeError):
        while True:
            number, spool = connection.recv()
            connection.send(_FileResult(_dump_file(options, logs[number], spool, connection)))


def _dump_file(
    options: DumpOptions, log: LogInput, spool: Path, connection: Connection
) -> Exception | None:
    """Write the lines of one file; return the error that ended it."""
    try:
        with spool.open("wb") as file:
            dump = Dump(options, LineOutput(file), connection.send, _WorkerProgress(connection))
            dump.write(log)
    except (ConnectorError, OSError) as error:
        return error
    return None
