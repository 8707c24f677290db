"""Keys as the source has them, also where the mirror has only their hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from verification.typed_rows import nullable, stored_image

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from connector.contract import SchemaColumn
    from stream_jobs.apply.values import ZeroDates
    from stream_jobs.schema.table_schema import TableSchema

# The values of the key's columns.
Key = tuple[object, ...]
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
