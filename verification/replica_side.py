"""The replica of a table: its rows at a cut, in the form of the source.

The marker on the replica's server says which version of the mirror a table has, and the mirror
says which offsets of the topic are in that version. One consistent view reads rows and marker, so
they belong together. Each SELECT is read as one stream.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.binlog.sql_text import sql_text
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot.keyset import select_rows
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.delta.log import Log
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError
from stream_jobs.replica.column_definitions import ColumnList
from stream_jobs.replica.state_tables import REPLICA, TABLES, ReplicatedTable
from stream_jobs.replica.statements import TableName
from stream_jobs.replica.table_step import place_at_target
from stream_jobs.replica.target import as_target_error, target_settings
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.mirror_metadata import DOMAIN, MODE_PROPERTY, Progress
from stream_jobs.tables.mirror_table import MirrorTable
from verification import verify_errors
from verification.checksum_rounds import ROWS_OF_A_RANGE
from verification.checksums import Checksums, ServerChecksums, lender_of
from verification.digests import Digest, places_of, row_digests
from verification.key_ranges import KeyRanges, range_rows
from verification.key_texts import condition_of_keys, select_literal
from verification.mirror_side import MirrorSide
from verification.patience import Patience
from verification.row_text import RowText
from verification.same_server import LastingSession, SameServer
from verification.side import Found, wait_for
from verification.source_table import SourceTable, TypedRows
from verification.value_normalization import ValueNormalization, columns_by_name

# Of rows that are in memory at a time.
_BYTES: Final = 8 * 1024 * 1024
_SNAPSHOT: Final = "START TRANSACTION WITH CONSISTENT SNAPSHOT"


class ReplicaTable:
    """Reads one table over one session at a time."""

    def __init__(self, session: SelectSession, place: TableName) -> None:
        """Look at the table at `place`. Raises as `SelectedTable.describe`."""
        selected = SelectedTable.describe(session, *place)
        self._selected = selected
        none = PackedSequence(0, 0)
        self.schema = TableSchema(*place, selected.schema.schema_id, none, selected.schema.columns)
        self.key_columns = selected.key_columns
        self._rows = TypedRows(self.schema, "error")

    def rows(self, session: SelectSession, where: str = "") -> Iterator[pa.Table]:
        """Yield the rows that meet a condition, in any order and in the types of the replica.

        Raises MirrorError for a row that no mirror can hold, and the errors of the session.
        """
        sql = select_rows(self._selected, (), where)
        for chunk, _ in session.read_chunks(sql, self._selected.writer(), _BYTES):
            if chunk.refused:
                raise chunk.refused[0].error
            if chunk.count:
                yield self._rows.of(chunk.values(), "after")


_KEYS_OF_A_SELECT: Final = 500


class _Applied(NamedTuple):
    """A version of the mirror, and what the replica with it has of the topic."""

    snapshot: Snapshot
    offsets: Mapping[int, int]


class ReplicaSide:
    """Reads the table of a replica."""

    def __init__(
        self,
        server: "ReplicaServer",
        own: MirrorTable,
        mirror: MirrorSide,
        source: SourceTable,
        settings: SnapshotSettings,
        patience: Patience,
    ) -> None:
        """Read the replica of `mirror`, which is that of `own`; `source` gives rows in its form.

        A lost connection is made again with `patience`, to the same server. Raises MirrorError if
        the replica does not have the table, or cannot be compared, and the errors of a session.
        """
        self._server = server
        self._mirror = mirror
        self._storage = own.delta.storage
        self._source = source
        # The settings that spare the source are not for this server.
        self._pace = SourcePace.unlimited(settings)
        self._name = source.schema.name
        self._mark: ReplicatedTable | None = None
        self._ranges: KeyRanges | None = None
        # Of journals.
        self.late_columns: list[str] = []
        self.rows_without_change = 0
        self._patience = patience
        self._same = server.same()
        self._session = LastingSession(self._same.open_session, patience)
        if not server.was_reached:
            # What was never there is not waited for.
            self._same.open_session().close()
        try:
            self._session.again(lambda session: self._open(session, own, source))
        except BaseException:
            self._session.close()
            raise

    def _open(self, session: SelectSession, own: MirrorTable, source: SourceTable) -> None:
        schema = source.schema
        mode = own.delta.snapshot.configuration.get(MODE_PROPERTY, "current")
        if mode != "current":
            raise MirrorError(verify_errors.REPLICA_MODE, table=self._name, mode=mode)
        mark = self._server.mark(session, self._name)
        self._applied = self._at(mark)
        self._place = place_at_target(own.delta.snapshot, self._server.database)
        self._table = ReplicaTable(session, self._place)
        known = set(ColumnList.read(mark.columns).names)
        there = columns_by_name(self._table.schema.columns)
        has = [c for c in schema.columns if c["name"] in known and c["name"].lower() in there]
        self.key = schema.key
        self.columns = [column["name"] for column in has]
        self.missing_columns = [c["name"] for c in schema.columns if c not in has]
        if not set(self.key) <= set(self.columns):
            raise MirrorError(
                verify_errors.NOT_AT_REPLICA, table=self._name, why="its key has other columns"
            )
        self._form = ValueNormalization(self._name, [(c, there[c["name"].lower()]) for c in has])
        self._own_names = {there[name.lower()]["name"]: name for name in self.columns}
        self._text: RowText | None = None
        source.compare_in(self._form.of)

    @property
    def snapshot(self) -> Snapshot:
        """The version of the mirror that the replica had."""
        return self._applied.snapshot

    @property
    def last_transaction(self) -> str | None:
        """The source transaction of the last applied change."""
        last = _progress(self.snapshot).last
        return None if last is None else last.transaction

    @property
    def offsets(self) -> Mapping[int, int]:
        """What was applied of the topic, by partition, when rows were read last."""
        return self._applied.offsets

    def refresh(self) -> Snapshot:
        """Return the version of the mirror that the replica has now."""
        self._session.again(self._look)
        return self.snapshot

    def again(self, read: Callable[[], Found]) -> Found:
        """Return what `read` returns; call it again if the connection was lost meanwhile."""
        return self._session.again(lambda _: read())

    def keys(self, snapshot: Snapshot) -> Iterator[pa.ChunkedArray]:
        """Yield the first column of the key, of the rows of a version of the mirror."""
        return self._mirror.keys(snapshot)

    def batches(self, snapshot: Snapshot, ranges: KeyRanges | None = None) -> Iterator[pa.Table]:
        """Yield the rows, in one view; with `ranges`, only rows whose keys are in them."""
        del snapshot
        self._ranges = ranges
        session = self._session.opened()
        with self._view(session):
            for where in self._source.conditions(ranges):
                yield from self._rows(session, where)

    def rows_of(
        self,
        snapshot: Snapshot,
        wanted: Keys,
        near: NDArray[np.int64] | None = None,
        keys: Sequence[tuple[object, ...]] | None = None,
    ) -> pa.Table:
        """Return the rows with the keys `wanted`; unless `keys` has their values, of all ranges."""
        del snapshot, near
        every = self._source.conditions(self._ranges)
        conditions = list(every if keys is None else self._of_keys(keys))

        def read(session: SelectSession) -> list[pa.Table]:
            with self._view(session):
                return [
                    rows.take(pa.array(places_of(wanted, row_digests(rows, self.key)), pa.int64()))
                    for where in conditions
                    for rows in self._rows(session, where)
                ]

        return pa.concat_tables([self._form.none, *self._session.again(read)])

    def has_no_change(self, digest: Digest) -> bool:
        """Return False: a replica has all rows of its table."""
        del digest
        return False

    def writes_texts_of(self, schema: TableSchema) -> bool:
        """Return whether the replica prints a row of the source as the source does."""
        if not self._form.are_printed_alike or schema.name != self._name:
            return False
        names = set(self._own_names.values())
        if names != set(self._own_names):
            return False
        schema, columns = self._table.schema, self.columns
        self._text = self._session.again(lambda session: RowText.of(session, schema, columns))
        return self._text is not None

    def sums(
        self, ranges: KeyRanges, text: RowText, show: Callable[[int], None]
    ) -> tuple[Checksums, NDArray[np.bool_]]:
        """Return the sums of `ranges`, and which of them are known; `show` gets rows."""
        del text
        key = self._source.key_number
        assert key is not None
        assert self._text is not None
        pace, place = self._pace, self._place.sql
        with (
            lender_of(self._same.open_session, pace.settings.connections) as sessions,
            ServerChecksums(sessions.lent, pace, place, key, self._text, self._patience) as server,
        ):
            begun = server.begin(ranges, range_rows(self.snapshot.live_rows, ROWS_OF_A_RANGE[0]))
            return server.gathered(begun, len(ranges), show)

    def wait_until_applied(
        self,
        ends: Mapping[int, int],
        has_records: Callable[[Mapping[int, int]], bool],
        patience_seconds: float,
    ) -> Snapshot:
        """Return the version of the mirror with which the replica has the topic to its `ends`.

        Raises MirrorError if nothing more is applied for so long.
        """

        def late() -> MirrorError:
            return self._session.again(
                lambda session: self._server.why_late(session, self._name, patience_seconds)
            )

        return wait_for(self, ends, has_records, patience_seconds, late)

    def close(self) -> None:
        """Close the session."""
        self._session.close()

    @contextmanager
    def _view(self, session: SelectSession) -> Iterator[None]:
        """Read rows of one moment, and what they have of the topic."""
        session.query(_SNAPSHOT)
        self._look(session)
        yield
        session.query("COMMIT")

    def _look(self, session: SelectSession) -> None:
        self._applied = self._at(self._server.mark(session, self._name))

    def _at(self, mark: ReplicatedTable) -> _Applied:
        """Return the version of a mark."""
        if mark == self._mark:
            return self._applied
        snapshot = Log(self._storage, mark.path).load_version(mark.version)
        self._mark = mark
        # A mirror that was made again has versions of its own, and the replica none of them yet.
        is_same = snapshot.metadata.table_id == mark.generation
        return _Applied(snapshot, _progress(snapshot).offsets if is_same else {})

    def _rows(self, session: SelectSession, where: str) -> Iterator[pa.Table]:
        names = self._own_names
        for rows in self._table.rows(session, where):
            yield self._form.of(rows.select(list(names)).rename_columns(list(names.values())))

    def _of_keys(self, keys: Sequence[tuple[object, ...]]) -> Iterator[str]:
        by_own = {column.name.lower(): column for column in self._table.key_columns}
        columns = [by_own[name.lower()] for name in self.key]
        for start in range(0, len(keys), _KEYS_OF_A_SELECT):
            yield condition_of_keys(
                columns, keys[start : start + _KEYS_OF_A_SELECT], select_literal
            )


def _progress(snapshot: Snapshot) -> Progress:
    return Progress.read(snapshot.domains[DOMAIN])


# ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE.
_MISSING: Final = frozenset({1049, 1146})
_NOT_LOADED: Final = "it was not loaded yet"


class ReplicaServer:
    """The replica of one mirror."""

    def __init__(self, job: JobSettings) -> None:
        """Read the replica that the section [replica] of `job` names.

        Raises ConfigError for wrong settings.
        """
        self._login = target_settings(job.replica)
        self._replica = job.name
        self._mirror = job.mirror.path.rstrip("/")
        # The database of a table there.
        self.database = job.replica.database
        self.was_reached = False
        # Of all tables, if there is one.
        self._same: SameServer | None = None
        self.name = f"target {self._login.host}:{self._login.port}"

    def open_session(self) -> SelectSession:
        """Return a session. Raises its errors, which name the target."""
        try:
            session = SelectSession(self._login)
        except (SourceUnavailable, SourceRefused) as error:
            raise as_target_error(error, self.name) from error
        session.name = self.name
        self.was_reached = True
        return session

    @property
    def uuid(self) -> str:
        """The UUID of the server on which all sessions stay; "" if each table has its own."""
        return "" if self._same is None else self._same.uuid

    def stay(self) -> SameServer:
        """Let all tables be read on the server that answers now. Raises as `open_session`."""
        self._same = SameServer(self.open_session)
        self._same.open_session().close()
        return self._same

    def same(self) -> SameServer:
        """Return what opens the sessions of one table."""
        return self._same or SameServer(self.open_session)

    def mark(self, session: SelectSession, table: str) -> ReplicatedTable:
        """Return which version of the mirror of `table` is there.

        Raises MirrorError if the replica does not have the table, or is not there.
        """
        row = self._row(session, table)
        mark = ReplicatedTable.read(row)
        if mark is None:
            why = row["left_out"] or _NOT_LOADED
            raise MirrorError(verify_errors.NOT_AT_REPLICA, table=table, why=why)
        return mark

    def why_late(self, session: SelectSession, table: str, seconds: float) -> MirrorError:
        """Return the error for a replica that has not applied changes within `seconds`."""
        left_out = self._row(session, table)["left_out"]
        if left_out:
            return MirrorError(verify_errors.NOT_AT_REPLICA, table=table, why=left_out)
        return MirrorError(verify_errors.REPLICA_LAGS, table=table, seconds=seconds)

    def _row(self, session: SelectSession, table: str) -> dict[str, str | None]:
        sql = (
            "SELECT t.path, t.generation, t.version, t.seq, t.columns_json, t.left_out "  # noqa: S608 - quoted names
            f"FROM {REPLICA} r LEFT JOIN {TABLES} t "
            f"ON t.replica = r.name AND t.name = {sql_text(table)} "
            f"WHERE r.name = {sql_text(self._replica)} AND r.mirror = {sql_text(self._mirror)}"
        )
        try:
            rows = session.query(sql)
        except SourceRefused as error:
            if error.number not in _MISSING:
                raise
            rows = []
        if not rows:
            facts = {"name": self._replica, "path": self._mirror}
            raise MirrorError(verify_errors.NO_REPLICA, server=self.name, **facts)
        return rows[0]
