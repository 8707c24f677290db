"""Keys of which the mirror has only hashes.

A row of the source has its key and the key's hash, so it is found on both sides. A row that only
the mirror has is another case: nobody can tell its key from the hash. If it changed since the
source was read, the topic's records have its key. If not, the source does not have the row: its
SELECTs would have seen it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from verification.digests import digests, pairs
from verification.typed_rows import nullable, stored_image

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from connector.contract import SchemaColumn
    from stream_jobs.apply.values import ZeroDates
    from stream_jobs.schema.table_schema import TableSchema
    from verification.digests import Digest
    from verification.pipeline import Pipeline
    from verification.settlement import Key
    from verification.side import Side
    from verification.source_table import SourceTable

# Instead of a key that nobody can tell.
UNKNOWN: Final = ()
_CLEAR: Final = "\0"


class ClearKeys:
    """The hidden columns of a key, as the source has them."""

    def __init__(
        self, schema: TableSchema, columns: Sequence[SchemaColumn], zero_dates: ZeroDates
    ) -> None:
        """`schema` is that of the mirror, and `columns` are those of the source."""
        hidden = [name for name in schema.key if name in schema.chosen.hidden]
        self.names = hidden
        self._schema_id = schema.schema_id
        self._columns = nullable(column for column in columns if column["name"] in hidden)
        self._zero_dates = zero_dates

    def added_to(self, rows: pa.Table, values: Sequence[bytes], image: str) -> pa.Table:
        """Return rows of the mirror's form with these columns, under other names.

        Raises WrongRecordError for a value that is not JSON of these columns.
        """
        if not self._columns:
            return rows
        stored = stored_image(values, image, self._columns, self._schema_id, self._zero_dates)
        for column, cells in zip(self._columns, stored, strict=True):
            rows = rows.append_column(_CLEAR + column["name"], cells)
        return rows

    def keys_of(self, rows: pa.Table, key: Sequence[str]) -> list[Key]:
        """Return the keys of rows as the source has them; `UNKNOWN` for rows of the mirror."""
        names = [_CLEAR + name if name in self.names else name for name in key]
        if not set(names) <= set(rows.column_names):
            return [UNKNOWN] * rows.num_rows
        return list(zip(*(rows[name].to_pylist() for name in names), strict=True))


class HiddenKeys:
    """Finds keys that only the mirror had, if they changed."""

    def __init__(self, pipeline: Pipeline, source: SourceTable, mirror: Side) -> None:
        """Look into the topic of a table."""
        self._pipeline = pipeline
        self._source = source
        self._mirror = mirror
        # Offsets before the source was read, by partition.
        self.begin: Mapping[int, int] = {}

    def find(self, candidates: dict[Digest, Key]) -> None:
        """Fill in the keys that are `UNKNOWN` and that records since then have."""
        source, mirror = self._source, self._mirror
        wanted = {digest for digest, key in candidates.items() if key == UNKNOWN}
        if not wanted:
            return
        names = source.schema.database, source.schema.table
        ends = self._pipeline.ends(*names)
        for records in self._pipeline.records(*names, self.begin, ends):
            for image in ("before", "after"):
                data = source.typed([record.value for record in records], image)
                keys = source.clear_keys.keys_of(data, mirror.key)
                own = zip(pairs(digests(data, mirror.key)), keys, strict=True)
                candidates |= {digest: key for digest, key in own if digest in wanted}
