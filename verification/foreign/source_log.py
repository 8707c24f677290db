"""The log of the source as the witness: which values rows had, and until when.

The log is read from a moment before the comparison, from then on to its end, as often as keys are
looked at. Only the wanted keys are kept: of each, its states in order. For rows that differ, older
files are read, the newest first, to say since when.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from connector.binlog.header import FIRST_POSITION
from connector.foundation.errors import SourceRefused
from connector.foundation.settings.sections import SourceSettings
from connector.replication import dump_errors
from connector.replication.log_search import find_time, log_head
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_logs
from connector.replication.server_log import ServerLog
from connector.replication.start_point import StartPoint
from connector.stream.source.select_session import SelectSession
from verification.digests import Digest
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.log_states import LogStates
from verification.foreign.logged_rows import LoggedRows
from verification.foreign.row_states import Origin, States, Unknown
from verification.foreign.source_rows import SourceRows

_US: Final = 1_000_000
# Clocks of servers go in steps, and old logs have whole seconds.
_MARGIN_SECONDS: Final = 2
# Older servers, and MariaDB, log when a statement began.
_HAS_COMMIT_TIMES: Final = (8, 0, 1)
# Of older files that are read to say since when rows differ.
_HISTORY_BYTES: Final = 256 << 20


class SourceLog:
    """Reads the log of one server for one table."""

    def __init__(
        self,
        settings: SourceSettings,
        source: SourceRows,
        mapping: ColumnMapping,
        lag_seconds: float,
    ) -> None:
        """Begin `lag_seconds` ago. Raises the errors of a server.

        The log is asked for when it is first needed, which raises them, too.
        """
        require_row_log(source.session)
        self._settings = settings
        self._source = source
        self._names = source.schema.database, source.schema.table
        self._rows = LoggedRows(source.selected.schema, mapping)
        self._since = source.server_time_us() / _US - lag_seconds - _MARGIN_SECONDS
        self._position = ""
        self._states = self._new_states(frozenset())

    @cached_property
    def _beginning(self) -> tuple[str, int]:
        # To look for it, the server sends half a file on average. Most tables need no log.
        start, reach_us = log_since(self._settings, self._source, self._since)
        return f"{start.file}:{start.position}", reach_us

    @property
    def _start(self) -> str:
        return self._beginning[0]

    @property
    def reach_us(self) -> int:
        """The time that the log reaches back, in microseconds since 1970."""
        return self._beginning[1]

    def states(self, wanted: frozenset[Digest]) -> States:
        """Return the states of these keys up to the end of the log; of those that changed.

        What was read for the same keys, or for more, is not read again. Raises the errors of a
        server, EventError, and MirrorError if the table was changed.
        """
        states = self._source.patience.again(lambda: self._read(wanted))
        return {digest: own for digest, own in states.of_keys.items() if digest in wanted}

    def _read(self, wanted: frozenset[Digest]) -> LogStates:
        position, states = self._position, self._states
        # If this fails in the middle, the states are not those of a position.
        self._position = ""
        if not position or not wanted <= states.wanted:
            position, states = self._start, self._new_states(wanted)
        self._states = states
        states.wanted = wanted
        with opened_log(self._settings, self._source, position) as log:
            # The end of the log was seen before.
            states.read(log.events(), self._source.server_time_us())
        self._position = f"{log.name}:{log.position}"
        states.complete()
        return states

    def hides(self, key: Digest, before_us: int) -> bool:
        """Return whether the log has no whole row of a key that has changed last before a time."""
        states = self._states.of_keys.get(key)
        if states is None or not isinstance(states.values[-1], Unknown):
            return False
        last = states.changes[-1]
        return last is None or last.committed_us < before_us

    def look_back(self, origins: Mapping[Digest, Origin]) -> None:
        """Complete `origins` by older parts of the log, as far as it reaches back.

        At most 256 MiB are read. Before a statement that changed the table, nothing is looked for.
        Raises the errors of a server, and EventError.
        """
        self._source.patience.again(lambda: self._look_back(origins))

    def _look_back(self, origins: Mapping[Digest, Origin]) -> None:
        for digest, states in self._states.of_keys.items():
            if digest in origins:
                origins[digest].next = states.changes[1] if states.count > 1 else None
        with _connected(self._settings, self._source) as server:
            files = binary_logs(server)
        last = self._start.rpartition(":")[0]
        left = _HISTORY_BYTES
        for file in reversed([name for name in files if name <= last]):
            wanted = frozenset(digest for digest, own in origins.items() if not own.is_lacking)
            left -= files[file]
            if not wanted or left < 0:
                return
            if not self._look_into(file, wanted, origins):
                return

    def _look_into(
        self, file: str, wanted: frozenset[Digest], origins: Mapping[Digest, Origin]
    ) -> bool:
        """Read one file; return whether earlier files can be read in the same way."""
        states = self._new_states(wanted)
        is_same = True

        def altered(_: object) -> None:
            nonlocal is_same
            is_same = False
            states.of_keys.clear()

        with opened_log(self._settings, self._source, f"{file}:{FIRST_POSITION}") as log:
            states.read(log.events(), self._source.server_time_us(), altered, file)
        for digest, own in states.of_keys.items():
            origins[digest].look(own.values, own.changes)
        return is_same

    def _new_states(self, wanted: frozenset[Digest]) -> LogStates:
        ignores_case = self._source.ignores_case
        return LogStates(self._names, self._rows, wanted, ignores_case=ignores_case)


def require_row_log(session: SelectSession) -> None:
    """Raise SourceRefused if the log of the server has statements in place of rows."""
    for found in session.query("SHOW GLOBAL VARIABLES LIKE 'binlog_format'"):
        form = str(found["Value"])
        if form.upper() != "ROW":
            raise SourceRefused(foreign_errors.LOG_NOT_ROWS, server=session.name, format=form)


@contextmanager
def opened_log(settings: SourceSettings, source: SourceRows, position: str) -> Iterator[ServerLog]:
    """Yield the log of the server of `source` from FILE:POSITION up to its end.

    Raises SourceUnavailable if another server answers.
    """
    try:
        log = ServerLog(
            settings,
            start=f"position:{position}",
            stop_at_end=True,
            idle_timeout_seconds=None,
            verify_checksum=True,
            of_url=True,
        )
    except SourceRefused:
        # Another server, or one that was restored, lacks the position. To connect says that.
        source.open_session().close()
        raise
    try:
        source.server.require_uuid(source.session.name, log.identity.server_uuid)
        yield log
    finally:
        log.close()


@contextmanager
def _connected(settings: SourceSettings, source: SourceRows) -> Iterator[MysqlServer]:
    """Yield a connection with the server of `source`: positions of another one mean nothing there.

    Raises SourceUnavailable if another server answers, and the errors of connecting.
    """
    with MysqlServer.connect(settings) as server:
        source.server.require_uuid(source.session.name, server.identity.server_uuid)
        yield server


def log_since(settings: SourceSettings, source: SourceRows, since: float) -> tuple[StartPoint, int]:
    """Return where the log of a time begins, and the time that it reaches back.

    `since` is in seconds since 1970, and the result in microseconds. If the log does not reach back
    so far, it begins with its oldest file. Raises the errors of a server, and SourceUnavailable if
    another one than that of `source` answers.
    """
    with _connected(settings, source) as server:
        time, identity = datetime.fromtimestamp(since, UTC), server.identity
        try:
            point = find_time(server, time.isoformat())
        except SourceRefused as error:
            if error.code is not dump_errors.BEFORE_LOGS:
                raise
            file = next(iter(binary_logs(server)))
            gtids = log_head(server, file).gtid_set if identity.gtid else None
            point = StartPoint(identity.flavour, gtids, file, FIRST_POSITION)
        else:
            if identity.flavour == "mysql" and identity.version_number >= _HAS_COMMIT_TIMES:
                return point, int(since * _US)
        # Before the point, a long statement may have been committed that began before `since`.
        (row,) = server.query("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AS now")
        return point, int(str(row["now"]))
