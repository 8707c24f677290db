"""The keys of a row, read past everything else in it.

Of a row that cannot be written, the key can mostly be read: other columns are skipped by their
lengths. The text is that of the row's records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.values import ABSENT
from connector.envelope.rows.row_of_values import RowEncoder
from connector.errors import DecodeError, UnsupportedChange

if TYPE_CHECKING:
    from connector.binlog.columns.values import Value
    from connector.binlog.events.rows import RowsEvent
    from connector.envelope.schemas.table_schema import TableSchema


def key_columns(schema: TableSchema) -> list[str]:
    """Return the columns of the key in key order, each with what decides its text."""
    columns = [schema.columns[place] for place in schema.key_indexes]
    return [
        f"{column['name']} {column['type']}{' unsigned' if column.get('unsigned') else ''}"
        for column in columns
    ]


@final
class RowKeys:
    """Reads the keys of the rows of one event."""

    def __init__(self, rows: RowsEvent, schema: TableSchema) -> None:
        """Read keys as `schema` has them.

        Raises EventError for a column that cannot be read, UnsupportedChange for one that the
        envelope has no form for.
        """
        try:
            self._plan = rows.plan
        except DecodeError as error:
            raise rows.unreadable(error) from error
        self._name = schema.name
        self._keyed = frozenset(schema.key_indexes)
        self._encoder = RowEncoder(schema)

    def of(self, row: RowsEvent) -> list[bytes]:
        """Return the keys of the one row that `row` has; none where the table has no key.

        Where the one after differs, there are two. Raises EventError where they cannot be read,
        UnsupportedChange where they cannot be represented or the log leaves them out.
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
                # What the image after leaves out is as before.
                indexes = self._plan.indexes(row.after_columns_present)
                self._plan.read_chosen(image, indexes, readers, self._keyed, values)
                self._add(keys, values)
        except DecodeError as error:
            raise row.unreadable(error) from error
        return keys

    def _add(self, keys: list[bytes], values: list[Value]) -> None:
        if any(values[place] is ABSENT for place in self._keyed):
            reason = (
                f"a row of {self._name} was logged without its key: "
                "SET GLOBAL binlog_row_image=FULL"
            )
            raise UnsupportedChange(reason)
        key = self._encoder.key(values)
        if key is not None and key not in keys:
            keys.append(key)
