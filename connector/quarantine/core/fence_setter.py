"""Changes that are kept back set fences, and are counted by those that they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.envelope.event_encoder import US_PER_MS
from connector.envelope.rows.row_keys import key_columns
from connector.errors import UnsupportedChange, quarantine
from connector.quarantine.core.fences import Fence

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.transaction import RowsChange, StatementChange
    from connector.envelope.record_encoder import RecordEncoder
    from connector.envelope.schemas.table_schema import TableSchema
    from connector.quarantine.core.fences import Fences

# Beyond, the whole table is fenced: keys are kept in memory.
KEYS_MAX: Final = 10_000


@final
class FenceSetter:
    """Sets the fences of one stream, at the places of its changes."""

    def __init__(self, fences: Fences, encoder: RecordEncoder) -> None:
        """Add to `fences`; `encoder` knows the places."""
        self._fences = fences
        self._encoder = encoder

    def rest(self, change: RowsChange, first: i64, reason: str, now_us: i64) -> None:
        """Fence the table of an event of which all rows from number `first` on are kept back."""
        table_map = change.rows.table_map
        fence = self._set(
            change, first, table_map.schema, table_map.table, None, [], reason, now_us
        )
        self.count(fence)

    def statement(self, change: StatementChange, reason: str, now_us: i64) -> None:
        """Fence the table of a statement that is kept back."""
        fenced = self._fences.of(change.database, change.table)
        fence = None if fenced is None else fenced.whole
        if fence is None:
            fence = self._set(change, 0, change.database, change.table, None, [], reason, now_us)
        self.count(fence)

    def keys(
        self,
        change: RowsChange,
        number: i64,
        schema: TableSchema,
        keys: list[bytes],
        reason: str,
        now_us: i64,
    ) -> None:
        """Fence all keys of row `number`, which is kept back."""
        for key in keys:
            fenced = self._fences.of(schema.database, schema.table)
            fence = None if fenced is None else fenced.keys.get(key)
            if fence is None:
                fence = self._set(
                    change,
                    number,
                    schema.database,
                    schema.table,
                    key.decode(),
                    key_columns(schema),
                    reason,
                    now_us,
                )
            self.count(fence)

    def count(self, fence: Fence) -> None:
        """Count what a fence keeps back."""
        fence.rows += 1
        self._fences.change(fence)

    def followed(self, schema: TableSchema, keys: list[bytes]) -> Fence | None:
        """Return the fence of one of the keys."""
        fenced = self._fences.of(schema.database, schema.table)
        if fenced is not None:
            for key in keys:
                fence = fenced.keys.get(key)
                if fence is not None:
                    return fence
        return None

    def has_many_keys(self, schema: TableSchema) -> bool:
        """Return whether no more keys of a table may be fenced."""
        fenced = self._fences.of(schema.database, schema.table)
        return fenced is not None and len(fenced.keys) >= KEYS_MAX

    def unlike(self, schema: TableSchema) -> str:
        """Return why keys cannot be compared with those that are fenced; "" where they can."""
        fenced = self._fences.of(schema.database, schema.table)
        if fenced is None:
            return ""
        fence = next(iter(fenced.keys.values()))
        if fence.key_columns == key_columns(schema):
            return ""
        return str(UnsupportedChange(quarantine.KEY_CHANGED, table=schema.name))

    def _set(
        self,
        change: RowsChange | StatementChange,
        number: i64,
        database: str,
        table: str,
        key: str | None,
        columns: list[str],
        reason: str,
        now_us: i64,
    ) -> Fence:
        """Set a fence from row `number` of a change on."""
        now_ms = now_us // US_PER_MS
        fence = Fence(
            database,
            table,
            key,
            columns,
            f"{change.event.file}:{change.event.position}",
            str(self._encoder.sequence(change.transaction, change.event_number, number)),
            now_ms,
            reason,
        )
        self._fences.set(fence, now_ms)
        return fence
