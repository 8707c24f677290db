"""Puts unpublishable changes into quarantine, with all changes that must not overtake them.

*Rows.* An event whose rows can all be written costs nothing more. If a row cannot be written, the
rows before it have been written, and the rest of the event is handled row by row. With `fence-key`,
the bad row and every later change of its keys are kept back, and the other rows are written. Every
later change of the table is kept back if the key or the end of a row cannot be read, if the table
has no key, and with `fence-table`.

*Order.* Changes are kept complete and in order. Nothing of a fenced key or table is published
before the fence is lifted, so a replay writes them in order.
"""

from typing import Final, final

from mypy_extensions import i64

from connector.binlog.event import Event
from connector.binlog.log_errors import EventError
from connector.binlog.statement import StatementKind
from connector.foundation import errors
from connector.foundation.control_records import QuarantinedRow
from connector.stream.changes.transaction import (
    LoggedStatement,
    RowsChange,
    SourceTransaction,
    StatementChange,
)
from connector.stream.envelope.event_encoder import US_PER_MS
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.row_keys import RowKeys
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.fence_setter import FenceSetter, Origin
from connector.stream.quarantine.fences import (
    ALL_TABLES,
    TABLE_ERRORS,
    Fences,
    concerns_table,
    fence_reason,
)
from connector.stream.quarantine.records import GONE, STATEMENT
from connector.stream.quarantine.store import QuarantineStore

STOP: Final = "stop"
FENCE_KEY: Final = "fence-key"
FENCE_TABLE: Final = "fence-table"


@final
class Guard:
    """Stands between the changes of a stream and the encoder that writes them."""

    def __init__(
        self, policy: str, encoder: RecordEncoder, fences: Fences, store: QuarantineStore
    ) -> None:
        """Keep back what `fences` cover; `policy` decides on other failing changes."""
        self._policy = policy
        self._encoder = encoder
        self._fences = fences
        self._fencing = FenceSetter(fences, of_keys=policy == FENCE_KEY)
        self._store = store

    def rows(self, change: RowsChange, now_us: i64) -> None:
        """Write the rows that can be written, and keep back the others.

        If the policy is to stop, raises the error of a row that cannot be published; also raises
        the target's errors.
        """
        fences = self._fences
        if fences.any:
            table_map = change.rows.table_map
            whole = fences.whole_of(table_map.schema, table_map.table)
            if whole is not None:
                self._keep_rest(change, [], 0, whole.reason, now_us)
                return
            if fences.of(table_map.schema, table_map.table) is not None:
                self._separate(change, 0, now_us)
                return
        try:
            self._encoder.rows(change, now_us)
        except TABLE_ERRORS as error:
            self._take_out(change, self._encoder.rows_written, error, now_us)

    def rows_from(self, change: RowsChange, first: i64, now_us: i64) -> None:
        """Do as `rows` does, from row number `first` on; before the stream, nothing was fenced."""
        try:
            self._encoder.rows_from(change, first, now_us)
        except TABLE_ERRORS as error:
            self._take_out(change, self._encoder.rows_written, error, now_us)

    def fence_unnamed(
        self, change: RowsChange, error: errors.UnsupportedChange, now_us: i64
    ) -> None:
        """Fence the table of rows whose column names are unknown.

        Raises `error` if the policy is to stop.
        """
        table_map = change.rows.table_map
        whole = self._fences.whole_of(table_map.schema, table_map.table)
        if whole is None:
            self._keep_from(change, [], 0, error, now_us)
        else:
            self._keep_rest(change, [], 0, whole.reason, now_us)

    def statement(self, change: StatementChange, now_us: i64) -> None:
        """Write the records that DDL causes, unless they would overtake what is kept back."""
        fences = self._fences
        if fences.any and not change.resync:
            kind = change.kind
            if kind is StatementKind.DROP_DATABASE:
                if self._drop_tables(change, now_us):
                    return
            elif kind.empties_tables or kind is StatementKind.CREATE_TABLE:
                # From here on, the table has no rows except those in later events.
                fences.exempt(change.database, change.table)
                if kind.empties_tables and fences.of(change.database, change.table) is not None:
                    # The record that a fenced table lost its rows must wait with its other changes.
                    follows = str(errors.UnsupportedChange(quarantine_errors.FOLLOWS))
                    self._keep_statement(change, GONE, follows, now_us)
                    return
        self._encoder.statement(change, now_us)

    def fence_rewritten(
        self, change: StatementChange, refusal: errors.UnsupportedChange, now_us: i64
    ) -> None:
        """Fence the table of a statement that changed values which the log does not hold."""
        self._encoder.statement(change, now_us)
        reason = fence_reason(refusal, change.database, change.table)
        self._keep_statement(change, STATEMENT, reason, now_us)

    def fence_refused(
        self,
        refusal: errors.UnsupportedChange,
        transaction: SourceTransaction,
        event_number: i64,
        event: Event,
        now_us: i64,
    ) -> None:
        """Fence the table, or the whole database, that a statement changed without row events.

        Raises `refusal` if the policy is to stop, or if it is unknown what the statement changed.
        """
        database = refusal.database
        if self._policy == STOP or database is None:
            raise refusal
        table = refusal.table or ALL_TABLES
        logged = LoggedStatement(transaction, event_number, event, "")
        change = StatementChange(logged, StatementKind.DML, database, table, [])
        reason = fence_reason(refusal, database, table)
        self._keep_statement(change, STATEMENT, reason, now_us)

    def _ends(self, error: errors.ConnectorError) -> bool:
        """Return whether an error of a row ends the stream."""
        return self._policy == STOP or not concerns_table(error)

    def _take_out(
        self, change: RowsChange, first: i64, error: errors.ConnectorError, now_us: i64
    ) -> None:
        """Handle row `first` of an event, which cannot be written, and the rows after it."""
        if self._ends(error):
            raise error
        if self._policy == FENCE_TABLE or isinstance(error, errors.TopicRefused):
            self._keep_rest(change, [], first, _reason(change, error), now_us)
        else:
            self._separate(change, first, now_us)

    def _separate(self, change: RowsChange, first: i64, now_us: i64) -> None:
        """Write the rows from number `first` on that can be written, and keep back the others."""
        rows = change.rows
        try:
            table = self._encoder.open_rows(change, now_us)
            # All ends are found, so the start of each row is known.
            rows.count()
            keys = RowKeys(rows, table.schema, self._encoder.options.debezium)
        except TABLE_ERRORS as error:
            self._keep_from(change, [], first, error, now_us)
            return
        schema = table.schema
        if self._fencing.has_other_key(schema):
            reason = str(errors.UnsupportedChange(quarantine_errors.KEY_CHANGED, table=schema.name))
            self._keep_rest(change, [], first, reason, now_us)
            return
        kept: list[QuarantinedRow] = []
        reason = ""
        number = first
        for row in rows.split(first):
            try:
                row_keys = keys.of(row)
            except (errors.UnsupportedChange, EventError) as error:
                self._keep_from(change, kept, number, error, now_us)
                return
            followed = self._fencing.followed(schema, row_keys)
            if followed is not None:
                reason = reason or followed.reason
                origin = self._origin(change, number)
                self._fencing.keys(origin, schema, row_keys, followed.reason, now_us)
                kept.append(_kept(number, row_keys, None))
            else:
                try:
                    self._encoder.row(table, row, number)
                except TABLE_ERRORS as error:
                    whole = isinstance(error, errors.TopicRefused) or self._ends(error)
                    if whole or not row_keys or not self._fencing.can_fence_keys(schema):
                        self._keep_from(change, kept, number, error, now_us)
                        return
                    why = fence_reason(error, schema.database, schema.table)
                    reason = reason or why
                    origin = self._origin(change, number)
                    self._fencing.keys(origin, schema, row_keys, why, now_us)
                    kept.append(_kept(number, row_keys, why))
            number += 1
        if kept:
            self._store.rows(change, kept, None, reason, schema.schema_id, now_us)

    def _keep_from(
        self,
        change: RowsChange,
        kept: list[QuarantinedRow],
        first: i64,
        error: errors.ConnectorError,
        now_us: i64,
    ) -> None:
        if self._ends(error):
            raise error
        self._keep_rest(change, kept, first, _reason(change, error), now_us)

    def _keep_rest(
        self, change: RowsChange, kept: list[QuarantinedRow], first: i64, reason: str, now_us: i64
    ) -> None:
        """Keep back all rows of an event from number `first` on, and later changes of the table."""
        table_map = change.rows.table_map
        origin = self._origin(change, first)
        self._fencing.table(origin, table_map.schema, table_map.table, reason, now_us)
        self._encoder.schemas.withhold(f"{table_map.schema}.{table_map.table}")
        self._store.rows(change, kept, first, reason, self._schema_id(change), now_us)

    def _keep_statement(self, change: StatementChange, kind: str, reason: str, now_us: i64) -> None:
        """Keep back a statement on a table, and all later changes of the table."""
        origin = self._origin(change, 0)
        self._fencing.table(origin, change.database, change.table, reason, now_us)
        self._store.statement(change, kind, reason, now_us)

    def _origin(self, change: RowsChange | StatementChange, number: i64) -> Origin:
        """Return the origin of row `number` of a change, or of a statement."""
        sequence = self._encoder.sequence(change.transaction, change.event_number, number)
        return Origin(f"{change.event.file}:{change.event.position}", str(sequence))

    def _drop_tables(self, change: StatementChange, now_us: i64) -> bool:
        """Handle DROP DATABASE table by table; return whether a table is fenced."""
        fenced = {fence.table for fence in self._fences if fence.database == change.database}
        if not fenced:
            return False
        logged = LoggedStatement(
            change.transaction, change.event_number, change.event, change.query
        )
        fenced.discard(ALL_TABLES)
        for table in sorted(fenced.union(self._encoder.schemas.tables(change.database))):
            dropped = StatementChange(logged, StatementKind.DROP_TABLE, change.database, table, [])
            self.statement(dropped, now_us)
        # What kept back statements have changed is gone.
        self._fences.lift_database(change.database, now_us // US_PER_MS)
        return True

    def _schema_id(self, change: RowsChange) -> str:
        try:
            return self._encoder.schema_id(change)
        except errors.UnsupportedChange:
            # The columns are unknown; the table map says why.
            return ""


def _reason(change: RowsChange, error: errors.ConnectorError) -> str:
    table_map = change.rows.table_map
    return fence_reason(error, table_map.schema, table_map.table)


def _kept(number: i64, keys: list[bytes], error: str | None) -> QuarantinedRow:
    return {"row": number, "keys": [key.decode() for key in keys], "error": error}
