"""The log of the source, read once for all tables that wait for it.

Each table says from where on it wants to know, and gets everything up to an end of the log that was
seen after it had asked. While the log is read, the questions of others gather: the next reading
begins at the first of their positions, and serves all of them.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from threading import Lock
from typing import Final, NamedTuple, Protocol

from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.header import FIRST_POSITION, file_number
from connector.binlog.transactions.transaction import Transaction, changed_rows_in, transactions_of
from connector.foundation.errors import SourceRefused
from connector.replication import dump_errors
from connector.replication.log_search import find_time, log_head
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_logs
from connector.replication.server_log import ServerLog
from connector.replication.start_point import StartPoint
from connector.stream.snapshot.watermark import LogPosition
from connector.stream.source.select_session import SelectSession
from verification.foreign import foreign_errors
from verification.foreign.log_gaps import LogGaps, read_gaps
from verification.foreign.log_states import Altered, Note, change_of, note_of, with_times
from verification.foreign.row_states import Change
from verification.foreign.source_server import SourceServer
from verification.shared_looks import SharedLook

_US: Final = 1_000_000
# Clocks of servers go in steps, and old logs have whole seconds.
_MARGIN_SECONDS: Final = 2
# A beginning of the log serves tables that want to begin up to so long after it: to look for
# another one, the server sends half a file on average.
_SAME_BEGINNING_SECONDS: Final = 60.0


class LogBeginning(NamedTuple):
    """A place in the log after which it tells of everything since a time."""

    since: float  # the time that was looked for, in seconds since 1970
    position: str  # FILE:POSITION
    reach_us: int  # the time since which it tells of everything, in microseconds


class LogTaker(Protocol):
    """Takes what the log has, one transaction after the other."""

    @property
    def names(self) -> tuple[str, str] | None:
        """The database and the table whose rows it takes; None: it takes transactions alone."""
        ...

    def begin(self, transaction: Transaction) -> None:
        """Begin with the next transaction."""
        ...

    def take_rows(self, event: Event, rows: RowsEvent, change: Change) -> None:
        """Take the rows of an event. Raises EventError."""
        ...

    def take_note(self, note: Note, change: Change, altered: Altered | None) -> None:
        """Take what a transaction tells of rows that it does not name."""
        ...

    def end(self) -> None:
        """End with a transaction."""
        ...

    def finish(self) -> None:
        """End with what was read. Raises why rows could not be read."""
        ...


@dataclass(eq=False, slots=True)
class TableReading:
    """What one table wants to know: what comes after a position."""

    states: LogTaker
    position: str  # FILE:POSITION; after the reading, its end
    altered: Altered | None = None  # as `LogStates.take_note` has it
    file: str = ""  # the only file that is read; "": all up to the end of the log
    failure: Exception | None = None

    @property
    def place(self) -> LogPosition:
        """The position, in the order of the log."""
        return LogPosition.parse(self.position) or LogPosition(0, 0)

    def attempt(self, take: Callable[..., None], *given: object) -> None:
        """Let its states take something, unless they have failed before."""
        if self.failure is None:
            try:
                take(*given)
            except Exception as error:  # noqa: BLE001 - the table that has asked raises it
                self.failure = error


class SharedLog:
    """Reads the log of one server; several threads use it."""

    def __init__(self, server: SourceServer, lag_seconds: float) -> None:
        """Read the log of `server` once it is asked for; targets may lag for `lag_seconds`.

        Raises the errors of a session.
        """
        self.server = server
        self._before = lag_seconds + _MARGIN_SECONDS
        self._looks = SharedLook(self._look)
        self._turn = Lock()
        self._first = self.since()
        self._beginning: LogBeginning | None = None
        self._gaps: LogGaps | None = None

    def since(self) -> float:
        """Return the time from which on a table that is compared now needs the log.

        It is in seconds since 1970. Raises the errors of a session.
        """
        return self.server.time_us() / _US - self._before

    def beginning(self, since: float) -> LogBeginning:
        """Return where the log of a time of `since`, or of one before it, begins.

        Raises the errors of a server, and SourceUnavailable if another one answers.
        """
        with self._turn:
            known = self._beginning
            if known is None or not 0 <= since - known.since <= _SAME_BEGINNING_SECONDS:
                wanted = self._first
                if since - wanted > _SAME_BEGINNING_SECONDS:
                    # Other tables, which have begun a little earlier, may ask later.
                    wanted = since - _SAME_BEGINNING_SECONDS / 2
                start, reach_us = log_since(self.server, wanted)
                known = LogBeginning(wanted, f"{start.file}:{start.position}", reach_us)
                self._beginning = known
        return known

    def gaps(self, *, anew: bool = False) -> LogGaps:
        """Return what the log lacks, as it was when it was looked for, or `anew`.

        Raises the errors of a server, and SourceUnavailable if another one answers.
        """
        with self._turn:
            if anew or self._gaps is None:
                self._gaps = self.server.patience.again(self._read_gaps)
            return self._gaps

    def _read_gaps(self) -> LogGaps:
        with connected(self.server) as connection:
            return read_gaps(connection)

    def read(self, reading: TableReading) -> None:
        """Read what one table wants to know.

        If this raises, the states are not those of a position. Raises the errors of a server,
        EventError, and MirrorError if the table was altered.
        """
        self._looks.ask(reading)
        if reading.failure is not None:
            raise reading.failure

    def read_all(self, readings: Sequence[TableReading]) -> None:
        """Read what several tables want to know; each has its failure."""
        self._looks.ask_all(readings)

    def _look(self, readings: Collection[TableReading]) -> dict[TableReading, None]:
        # The end of the log first: older files may take long.
        for file in sorted({reading.file for reading in readings}):
            some = [reading for reading in readings if reading.file == file]
            try:
                self._read(sorted(some, key=lambda reading: reading.place))
            except Exception as error:  # noqa: BLE001 - each table that has asked raises it
                for reading in some:
                    reading.failure = reading.failure or error
        return dict.fromkeys(readings)

    def _read(self, readings: list[TableReading]) -> None:
        """Read from the first position on that the server still has."""
        with ExitStack() as stack:
            while readings:
                first = readings[0]
                try:
                    log = stack.enter_context(opened_log(self.server, first.position))
                except SourceRefused as error:
                    # The others may begin later.
                    for reading in readings:
                        if reading.place == first.place:
                            reading.failure = error
                    readings = [reading for reading in readings if reading.failure is None]
                else:
                    self._read_all(log, readings)
                    return

    def _read_all(self, log: ServerLog, readings: Sequence[TableReading]) -> None:
        # The end of the log was seen before.
        end_us = self.server.time_us()
        read_log(log.events(), end_us, readings, ignores_case=self.server.ignores_case)
        for reading in readings:
            reading.position = f"{log.name}:{log.position}"


def read_log(
    events: Iterator[Event],
    end_us: int,
    readings: Sequence[TableReading],
    *,
    ignores_case: bool,
) -> None:
    """Let tables have what `events` tell, each from its position on.

    All want the same file, or none. `end_us` is a time at which all of them were committed. What
    one table raises is its `failure`. Raises the errors of a server, and EventError.
    """
    times: dict[tuple[str, int], int] = {}
    file, active = readings[0].file, _Active(readings)
    for transaction in transactions_of(with_times(events, times)):
        if file and transaction.file != file:
            break
        committed = times.pop((transaction.file, transaction.position), 0)
        active.begin(transaction)
        change = change_of(transaction, committed, end_us)
        while (event := transaction.next_event()) is not None:
            active.take(event, change, ignores_case=ignores_case)
        active.end()
    for own in readings:
        own.attempt(own.states.finish)


class _Active:
    """The readings that have reached their positions. Of thousands of tables, few have rows."""

    def __init__(self, readings: Sequence[TableReading]) -> None:
        self._waiting = sorted(((own.place, own) for own in readings), key=itemgetter(0))
        self._waiting.reverse()
        self._all: list[TableReading] = []
        self._of_tables: dict[tuple[str, str] | None, list[TableReading]] = {}
        # Whether the transaction has a note, which each table has to know.
        self._has_note = False

    def begin(self, transaction: Transaction) -> None:
        """Begin with a transaction."""
        begun = self._all if self._has_note else self._of_tables.get(None, [])
        for own in begun:
            own.states.begin(transaction)
        self._has_note = False
        if not self._waiting:
            return
        place = LogPosition(file_number(transaction.file), transaction.position)
        while self._waiting and self._waiting[-1][0] <= place:
            _, own = self._waiting.pop()
            self._all.append(own)
            self._of_tables.setdefault(own.states.names, []).append(own)
            own.states.begin(transaction)

    def take(self, event: Event, change: Change, *, ignores_case: bool) -> None:
        """Take an event."""
        rows = changed_rows_in(event)
        if rows is not None:
            names = rows.table_map.schema, rows.table_map.table
            for own in self._of_tables.get(names, ()):
                own.attempt(own.states.take_rows, event, rows, change)
        elif (note := note_of(event.body, ignores_case=ignores_case)) is not None:
            self._has_note = True
            for own in self._all:
                own.attempt(own.states.take_note, note, change, own.altered)

    def end(self) -> None:
        """End with the transaction."""
        if self._has_note:
            for own in self._all:
                own.attempt(own.states.end)


def require_row_log(session: SelectSession) -> None:
    """Raise SourceRefused if the log of the server has statements in place of rows."""
    for found in session.query("SHOW GLOBAL VARIABLES LIKE 'binlog_format'"):
        form = str(found["Value"])
        if form.upper() != "ROW":
            raise SourceRefused(foreign_errors.LOG_NOT_ROWS, server=session.name, format=form)


@contextmanager
def opened_log(server: SourceServer, position: str) -> Iterator[ServerLog]:
    """Yield the log of `server` from FILE:POSITION up to its end.

    Raises SourceUnavailable if another server answers.
    """
    try:
        log = ServerLog(
            server.settings,
            start=f"position:{position}",
            stop_at_end=True,
            idle_timeout_seconds=None,
            verify_checksum=True,
            of_url=True,
        )
    except SourceRefused:
        # Another server, or one that was restored, lacks the position. To connect says that.
        server.open_session().close()
        raise
    try:
        server.same.require_uuid(server.session.name, log.identity.server_uuid)
        yield log
    finally:
        log.close()


@contextmanager
def connected(server: SourceServer) -> Iterator[MysqlServer]:
    """Yield a connection with `server`: positions of another one mean nothing there.

    Raises SourceUnavailable if another server answers, and the errors of connecting.
    """
    with MysqlServer.connect(server.settings) as connection:
        server.same.require_uuid(server.session.name, connection.identity.server_uuid)
        yield connection


def log_since(server: SourceServer, since: float) -> tuple[StartPoint, int]:
    """Return where the log of a time begins, and the time that it reaches back.

    `since` is in seconds since 1970, and the result in microseconds. If the log does not reach back
    so far, it begins with its oldest file. Raises the errors of a server, and SourceUnavailable if
    another one answers.
    """
    with connected(server) as connection:
        time, identity = datetime.fromtimestamp(since, UTC), connection.identity
        try:
            point = find_time(connection, time.isoformat())
        except SourceRefused as error:
            if error.code is not dump_errors.BEFORE_LOGS:
                raise
            file = next(iter(binary_logs(connection)))
            gtids = log_head(connection, file).gtid_set if identity.gtid else None
            point = StartPoint(identity.flavour, gtids, file, FIRST_POSITION)
        else:
            if server.logs_commit_times:
                return point, int(since * _US)
        # Before the point, a long statement may have been committed that began before `since`.
        (row,) = connection.query("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AS now")
        return point, int(str(row["now"]))
