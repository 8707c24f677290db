"""Sets fences for changes in quarantine, and counts the changes of each fence.

Changes of the log and rows of copies follow the same rules. They differ in their `Origin`.
"""

from typing import Final, final

from mypy_extensions import i64

from connector.stream.envelope.event_encoder import US_PER_MS
from connector.stream.envelope.row_keys import key_columns
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.quarantine.fences import Fence, Fences

# If a table has more, the whole table is fenced: keys are kept in memory.
KEYS_MAX: Final = 10_000


@final
class Origin:
    """What is kept back: its position in the log as `file:position`, and its `cdc.seq`."""

    def __init__(self, position: str, sequence: str) -> None:
        self.position = position
        self.sequence = sequence


@final
class FenceSetter:
    """Sets the fences of one stream and of its copies."""

    def __init__(self, fences: Fences, *, of_keys: bool) -> None:
        """Add to `fences`; with `of_keys`, fence only keys if possible."""
        self._fences = fences
        self._of_keys = of_keys

    def can_fence_keys(self, schema: TableSchema) -> bool:
        """Return whether single keys of the table may be fenced."""
        if not self._of_keys:
            return False
        fenced = self._fences.of(schema.database, schema.table)
        return fenced is None or (fenced.whole is None and len(fenced.keys) < KEYS_MAX)

    def table(self, origin: Origin, database: str, table: str, reason: str, now_us: i64) -> None:
        """Fence a whole table unless it is fenced already, and count what is kept back.

        The fence of a database applies to its exempt tables again: the statement that is kept back
        may have changed them, too.
        """
        fenced = self._fences.of(database, table)
        fence = None if fenced is None else fenced.whole
        if fence is None:
            fence = self._set(origin, database, table, None, [], reason, now_us)
        elif fence.exempt:
            self._fences.renew(fence, reason, now_us // US_PER_MS)
        self.count(fence)

    def keys(
        self, origin: Origin, schema: TableSchema, keys: list[bytes], reason: str, now_us: i64
    ) -> None:
        """Fence all keys of a kept row unless they are fenced already, and count the row."""
        for key in keys:
            fenced = self._fences.of(schema.database, schema.table)
            fence = None if fenced is None else fenced.keys.get(key)
            if fence is None:
                fence = self._set(
                    origin,
                    schema.database,
                    schema.table,
                    key.decode(),
                    key_columns(schema),
                    reason,
                    now_us,
                )
            self.count(fence)

    def count(self, fence: Fence) -> None:
        """Count one more row or statement that `fence` keeps back."""
        fence.rows += 1
        self._fences.change(fence)

    def followed(self, schema: TableSchema, keys: list[bytes]) -> Fence | None:
        """Return the fence of one of the keys; None if none is fenced."""
        fenced = self._fences.of(schema.database, schema.table)
        if fenced is not None:
            for key in keys:
                fence = fenced.keys.get(key)
                if fence is not None:
                    return fence
        return None

    def has_other_key(self, schema: TableSchema) -> bool:
        """Return whether the table's fences are of another key than its current one."""
        fenced = self._fences.of(schema.database, schema.table)
        if fenced is None or not fenced.keys:
            return False
        return next(iter(fenced.keys.values())).key_columns != key_columns(schema)

    def _set(
        self,
        origin: Origin,
        database: str,
        table: str,
        key: str | None,
        columns: list[str],
        reason: str,
        now_us: i64,
    ) -> Fence:
        now_ms = now_us // US_PER_MS
        fence = Fence(
            database, table, key, columns, origin.position, origin.sequence, now_ms, reason
        )
        self._fences.set(fence, now_ms)
        return fence
