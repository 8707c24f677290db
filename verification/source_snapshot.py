"""All rows of a table as they are at one moment of the source, which its transactions tell.

Rows without a key have no order in which a SELECT can continue, so one SELECT reads them all. It
sees a consistent snapshot. Nothing is locked: the log's own names of transactions say what the
snapshot has.

*MariaDB* says at which position of the log a snapshot was taken. *MySQL* does not. There the
snapshot has all transactions of gtid_executed as it was before, because a GTID joins this set when
its transaction is visible. And it has no transaction that begins at the end of the log, or after
it, as it was afterwards. Those between the two may be in it or not.
"""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from connector.contract import Sequence
from connector.errors import DecodeError, MirrorError, SourceRefused, copies, verification
from connector.gtid import GtidSet
from connector.snapshot.keyset import select_rows
from connector.snapshot.throttle import Throttle
from connector.snapshot.watermark import (
    LogPosition,
    log_end,
    open_snapshot,
    wait_until_visible,
)
from connector.source.tables.selected_table import SelectedTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from connector.snapshot.watermark import Delivered
    from verification.pipeline import Pipeline, TopicRecord
    from verification.source_table import SourceTable

# Rows are encoded in pieces of this size, between which the source may be spared.
_PIECE_BYTES: Final = 256 * 1024
# While the source is spared, it waits with the rows.
_WRITE_SECONDS: Final = 7 * 24 * 3600


class Moment(NamedTuple):
    """What a snapshot has."""

    gtid_set: GtidSet | None  # all of these; None: everything that begins before the position
    position: LogPosition  # nothing that begins here or later

    def has(self, record: TopicRecord) -> bool | None:
        """Return whether it has the change of a record; None if nobody knows."""
        sequence = Sequence.parse(record.sequence)
        if LogPosition(sequence.file, sequence.position) >= self.position:
            return False
        if self.gtid_set is None:
            return True
        try:
            is_old = GtidSet.parse(record.transaction) <= self.gtid_set
        except DecodeError:
            # A transaction without a GTID: the server is about to get them, or to lose them.
            return None
        return True if is_old else None


class SourceSnapshot:
    """A session with a snapshot of one table; a context manager closes it."""

    def __init__(self, pipeline: Pipeline, source: SourceTable) -> None:
        """Connect.

        Raises MirrorError if the server cannot tell what a snapshot has, and as
        `Pipeline.open_session`.
        """
        identity = pipeline.session.identity
        if not source.has_snapshots or not (identity.flavour == "mariadb" or identity.gtid):
            raise MirrorError(verification.NO_MOMENT, table=source.schema.name)
        self._source = source
        self._settings = pipeline.settings.snapshot
        self._throttle = Throttle(self._settings)
        # The session of the snapshot is busy while rows come.
        self._asking = pipeline.session
        self._opened = ExitStack()
        self._session = self._opened.enter_context(pipeline.open_session())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def take(self, delivered: Delivered) -> Moment:
        """Take a snapshot, instead of an earlier one, that has what was `delivered`."""
        session = self._session
        session.query(f"SET SESSION net_write_timeout = {_WRITE_SECONDS}")
        if session.identity.flavour == "mariadb":
            least = delivered.position or log_end(session)
            return Moment(None, open_snapshot(session, least, Event()))
        session.query("ROLLBACK")
        if delivered.gtid_set is not None:
            wait_until_visible(session, delivered.gtid_set)
        (row,) = session.query("SELECT @@GLOBAL.gtid_executed AS found")
        executed = GtidSet.parse((row["found"] or "").replace("\n", ""))
        session.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        return Moment(executed, log_end(session))

    def rows(self) -> Iterator[pa.Table]:
        """Yield all rows.

        Unless all are taken, the session cannot be used again. Raises SourceRefused if the table
        changes, MirrorError for a row that a mirror cannot hold, and the errors of the session.
        """
        source, table = self._source, self._source.selected
        pieces = self._session.read_chunks(select_rows(table, (), ""), table.writer(), _PIECE_BYTES)
        for chunk, _ in pieces:
            if chunk.refused:
                raise chunk.refused[0].error
            if chunk.count:
                yield source.typed(chunk.values(), "after")
            self._throttle.wait(self._asking, Event())
        schema = source.schema
        if SelectedTable.describe(self._asking, schema.database, schema.table) != table:
            raise SourceRefused(copies.OTHER_TABLE_NOW)
