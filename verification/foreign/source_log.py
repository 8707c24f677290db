"""The log of the source as the witness: which values rows had, and until when.

The log is read from a moment before the comparison, from then on to its end, as often as keys are
looked at. Only the wanted keys are kept: of each, its states in order. For rows that differ, older
files are read, the newest first, to say since when.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Final

from connector.binlog.header import FIRST_POSITION
from connector.replication.server.replication_status import binary_logs
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.errors import MirrorError
from verification.digests import Digest
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.log_states import LogStates
from verification.foreign.logged_rows import LoggedRows
from verification.foreign.row_states import Origin, States, Unknown
from verification.foreign.shared_log import (
    LogBeginning,
    SharedLog,
    TableReading,
    connected,
    require_row_log,
)
from verification.foreign.source_rows import SourceRows

# Of older files that are read to say since when rows differ.
_HISTORY_BYTES: Final = 256 << 20
_US: Final = 1_000_000
# Clocks of servers go in steps.
_MARGIN_SECONDS: Final = 2


class SourceLog:
    """Reads the log of one server for one table."""

    def __init__(self, log: SharedLog, source: SourceRows, mapping: ColumnMapping) -> None:
        """Begin as long ago as the target may lag. Raises the errors of a server.

        The log is asked for when it is first needed, which raises them, too.
        """
        require_row_log(log.server.session)
        self._log = log
        self._source = source
        self._names = source.schema.database, source.schema.table
        self._rows = LoggedRows(source.selected.schema, mapping)
        # The definition of the table may be older than the lag.
        self._since = min(log.since(), source.described.time_us / _US - _MARGIN_SECONDS)
        self._position = ""
        self._states = self._new_states(frozenset())

    @cached_property
    def _beginning(self) -> LogBeginning:
        # To look for it, the server sends half a file on average. Most tables need no log.
        return self._log.beginning(self._since)

    @property
    def reach_us(self) -> int:
        """The time that the log reaches back, in microseconds since 1970.

        It tells nothing of the table before the last statement that has changed it.
        """
        return max(self._beginning.reach_us, self._states.reach_us)

    @cached_property
    def lacks_changes(self) -> bool:
        """Whether the log may lack changes of the table. Raises the errors of a server."""
        return self._log.gaps().hide(self._names)

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
            position, states = self._beginning.position, self._new_states(wanted)
        self._states = states
        states.wanted = wanted
        reading = TableReading(states, position)
        try:
            self._log.read(reading)
        finally:
            if states.reach_us:
                self._require_definition()
        self._position = reading.position
        states.complete()
        return states

    def _require_definition(self) -> None:
        """Raise MirrorError unless rows were read with the columns that the table has.

        A statement may be in the log for seconds, such as while replicas confirm it, before the
        server shows what it has done.
        """
        session, planned = self._source.session, self._source.selected
        if session.again(partial(SelectedTable.describe, session, *self._names)) != planned:
            facts = {"table": ".".join(self._names), "statement": "ALTER TABLE"}
            raise MirrorError(foreign_errors.TABLE_CHANGED, **facts)

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
        if self._states.reach_us:
            return
        for digest, states in self._states.of_keys.items():
            if digest in origins:
                origins[digest].next = states.changes[1] if states.count > 1 else None
        with connected(self._log.server) as server:
            files = binary_logs(server)
        last = self._beginning.position.rpartition(":")[0]
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

        self._log.read(TableReading(states, f"{file}:{FIRST_POSITION}", altered, file))
        for digest, own in states.of_keys.items():
            origins[digest].look(own.values, own.changes)
        return is_same

    def _new_states(self, wanted: frozenset[Digest]) -> LogStates:
        ignores_case = self._log.server.ignores_case
        return LogStates(
            self._names,
            self._rows,
            wanted,
            ignores_case=ignores_case,
            described=self._source.described,
        )
