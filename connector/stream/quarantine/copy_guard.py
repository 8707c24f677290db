"""Puts rows of copies into quarantine, and leaves out rows of fenced keys.

If a row of a copy cannot be published, its key or its table is fenced, as for a change: later
changes in the log probably have the same value. Rows of fenced keys are left out, because a replay
writes all their states. A table that is fenced as a whole cannot be copied.
"""

from connector.foundation.contract import SEQ_ROW_DIGITS, Sequence
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope.copied_chunk import CopyPosition, RefusedRow
from connector.stream.envelope.event_encoder import US_PER_MS
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.fence_setter import FenceSetter, Origin
from connector.stream.quarantine.fences import Fences
from connector.stream.quarantine.guard import FENCE_KEY, STOP
from connector.stream.quarantine.store import QuarantineStore


class TableFenced(UnsupportedChange):
    """The whole table is fenced, so it cannot be copied."""


class CopyGuard:
    """Stands between the rows that copies have read and the writer."""

    def __init__(self, policy: str, fences: Fences, store: QuarantineStore) -> None:
        """Keep back rows that cannot be published, unless `policy` is to stop."""
        self._policy = policy
        self._fences = fences
        self._fencing = FenceSetter(fences, of_keys=policy == FENCE_KEY)
        self._store = store

    def fenced_keys(self, schema: TableSchema) -> set[bytes]:
        """Return the fenced keys; raises TableFenced if the whole table is fenced."""
        database, table = schema.database, schema.table
        whole = self._fences.whole_of(database, table)
        if whole is not None:
            raise _fenced(schema, whole.reason)
        fenced = self._fences.of(database, table)
        if fenced is None:
            return set()
        if self._fencing.has_other_key(schema):
            raise TableFenced(quarantine_errors.KEY_CHANGED_IN_COPY, table=schema.name)
        return set(fenced.keys)

    def lift(self, database: str, table: str, now_us: int) -> bool:
        """Lift the fences of a table whose rows are all copied again; return whether it had any."""
        now_ms = now_us // US_PER_MS
        lifted = self._fences.lift(database, table, now_ms)
        # Together with the copy that follows, in case that this is committed next.
        self._fences.flush(now_ms)
        return lifted

    def keep(
        self,
        schema: TableSchema,
        refused: list[RefusedRow],
        read_at: CopyPosition,
        sequence: Sequence,
        now_us: int,
    ) -> None:
        """Keep back rows, which were read at `read_at`.

        Raises UnsupportedChange or RecordTooLarge if the policy is to stop, TableFenced after the
        last row if the whole table is fenced now, and the target's errors.
        """
        # A replay numbers kept rows in this way; the other rows of this position are not in
        # quarantine.
        seq = str(sequence)[:-SEQ_ROW_DIGITS] + "0" * SEQ_ROW_DIGITS
        origin = Origin(f"{read_at.file}:{read_at.position}", seq)
        for row in refused:
            if self._policy == STOP:
                raise row.error
            reason = str(row.error)
            if row.key is not None and self._fencing.can_fence_keys(schema):
                self._store.copied(schema, row, row.key.decode(), read_at, seq, now_us)
                self._fencing.keys(origin, schema, [row.key], reason, now_us)
            else:
                self._store.copied(schema, row, None, read_at, seq, now_us)
                self._fencing.table(origin, schema.database, schema.table, reason, now_us)
        self._fences.flush(now_us // US_PER_MS)
        fenced = self._fences.of(schema.database, schema.table)
        if fenced is not None and fenced.whole is not None:
            raise _fenced(schema, fenced.whole.reason)


def _fenced(schema: TableSchema, reason: str) -> TableFenced:
    return TableFenced(quarantine_errors.WHOLE_TABLE_FENCED, table=schema.name, why=reason)
