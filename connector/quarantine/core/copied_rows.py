"""Rows that copies have read go into quarantine, or stay out of a table that is kept back.

A row of a copy that cannot be carried fences its key or its table, as a change would: what follows
in the log is as likely to have the same value. Rows of keys that are fenced are left out: a replay
writes their states from the one that was kept back first. Of a table that is fenced as a whole,
nothing can be copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.contract import SEQ_ROW_DIGITS
from connector.envelope.event_encoder import US_PER_MS
from connector.envelope.rows.row_keys import key_columns
from connector.errors import UnsupportedChange, copies
from connector.quarantine.core.fence_setter import KEYS_MAX
from connector.quarantine.core.fences import Fence
from connector.quarantine.core.guard import FENCE_KEY, STOP

if TYPE_CHECKING:
    from connector.contract import Sequence
    from connector.envelope.copied.selected_chunk import CopyPlace, RefusedRow
    from connector.envelope.schemas.table_schema import TableSchema
    from connector.quarantine.core.fences import Fences
    from connector.quarantine.core.store import QuarantineStore


class TableFenced(UnsupportedChange):
    """The whole table is kept back, so that nothing of it can be copied."""


class CopiedRows:
    """Stands between the rows that copies have read and what writes them."""

    def __init__(self, policy: str, fences: Fences, store: QuarantineStore) -> None:
        """Keep back what cannot be carried, unless `policy` is to stop."""
        self._policy = policy
        self._fences = fences
        self._store = store

    def fenced_keys(self, schema: TableSchema) -> set[bytes]:
        """Return the keys whose rows are to be left out.

        Raises TableFenced where those are all.
        """
        database, table = schema.database, schema.table
        fenced = self._fences.of(database, table)
        whole = self._fences.of_database(database, table) if fenced is None else fenced.whole
        if whole is not None:
            raise _fenced(schema, whole.reason)
        if fenced is None:
            return set()
        if next(iter(fenced.keys.values())).key_columns != key_columns(schema):
            raise TableFenced(copies.KEY_CHANGED, table=schema.name)
        return set(fenced.keys)

    def keep(
        self,
        schema: TableSchema,
        refused: list[RefusedRow],
        place: CopyPlace,
        sequence: Sequence,
        now_us: int,
    ) -> None:
        """Keep back rows, which stand at `place`.

        Raises UnsupportedChange or RecordTooLarge where the policy is to stop, TableFenced behind
        the last one where the whole table is fenced now, and what writing raises.
        """
        # As a replay numbers what is kept; the others of this place are not in the quarantine.
        seq = str(sequence)[:-SEQ_ROW_DIGITS] + "0" * SEQ_ROW_DIGITS
        now_ms = now_us // US_PER_MS
        for row in refused:
            if self._policy == STOP:
                raise row.error
            fenced = self._fences.of(schema.database, schema.table)
            is_key = self._policy == FENCE_KEY and row.key is not None
            if fenced is not None and len(fenced.keys) >= KEYS_MAX:
                is_key = False
            whole = None if fenced is None else fenced.whole
            fence = whole or Fence(
                schema.database,
                schema.table,
                row.key.decode() if row.key is not None and is_key else None,
                key_columns(schema) if is_key else [],
                f"{place.file}:{place.position}",
                seq,
                now_ms,
                str(row.error),
            )
            self._store.copied(schema, row, fence.key, place, seq, now_us)
            if fence is not whole:
                self._fences.set(fence, now_ms)
            fence.rows += 1
            self._fences.change(fence)
        self._fences.flush(now_ms)
        fenced = self._fences.of(schema.database, schema.table)
        if fenced is not None and fenced.whole is not None:
            raise _fenced(schema, fenced.whole.reason)


def _fenced(schema: TableSchema, reason: str) -> TableFenced:
    return TableFenced(copies.WHOLE_TABLE_FENCED, table=schema.name, why=reason)
