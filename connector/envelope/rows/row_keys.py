"""Reads the keys of a row, and skips its other columns.

If a row cannot be written, its key can mostly still be read, because other columns are skipped by
their lengths. The key has the same text as in the row's records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.values import ABSENT
from connector.envelope.rows.row_of_values import RowEncoder
from connector.errors import DecodeError, UnsupportedChange, table_rows

if TYPE_CHECKING:
    from connector.binlog.columns.values import Value
    from connector.binlog.events.rows import RowsEvent
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.schemas.table_schema import TableSchema


def key_columns(schema: TableSchema) -> list[str]:
    """Return the columns of the key in key order, each with its encoder."""
    columns = [schema.columns[index] for index in schema.key_indexes]
    return [
        f"{column['name']} {column['type']}{' unsigned' if column.get('unsigned') else ''}"
        for column in columns
    ]


@final
class RowKeys:
    """Reads the keys of the rows of one event."""

    def __init__(
        self, rows: RowsEvent, schema: TableSchema, debezium: DebeziumForm | None = None
    ) -> None:
        """Read keys with the columns of `schema`; `debezium` as in `RowEncoder`.

        Raises EventError for a column that cannot be read, UnsupportedChange for a column that the
        envelope cannot hold.
        """
        try:
            self._plan = rows.plan
        except DecodeError as error:
            raise rows.unreadable(error) from error
        self._name = schema.name
        places = schema.places
        self._keyed = frozenset(places[index] for index in schema.key_indexes)
        self._encoder = RowEncoder(schema, debezium)

    def of(self, row: RowsEvent) -> list[bytes]:
        """Return the keys of the only row of `row`; none if the table has no key.

        If the change alters the key, there are two. Raises EventError if they cannot be read,
        UnsupportedChange if the envelope cannot hold them or the log leaves them out.
        """
        image = row.images()
        keys: list[bytes] = []
        values: list[Value] = [ABSENT] * len(self._plan.readers)
        try:
            if row.before_columns_present is not None:
                indexes = self._plan.indexes(row.before_columns_present)
                self._plan.read_chosen(image, indexes, self._plan.readers, self._keyed, values)
                self._add(keys, values)
            if row.after_columns_present is not None:
                readers = self._plan.readers
                if row.partial:
                    readers = self._plan.partial_readers(image)
                # The columns that the after image leaves out have not changed.
                indexes = self._plan.indexes(row.after_columns_present)
                self._plan.read_chosen(image, indexes, readers, self._keyed, values)
                self._add(keys, values)
        except DecodeError as error:
            raise row.unreadable(error) from error
        return keys

    def _add(self, keys: list[bytes], values: list[Value]) -> None:
        if any(values[index] is ABSENT for index in self._keyed):
            raise UnsupportedChange(table_rows.KEY_ABSENT, table=self._name)
        key = self._encoder.key(values)
        if key is not None and key not in keys:
            keys.append(key)
