"""The keys of rows that cannot be written.

If a row cannot be written, its key can mostly still be read, because other columns are skipped by
their lengths. The key has the same text as in the row's records.
"""

from json.encoder import encode_basestring
from typing import final

from librt.strings import BytesWriter

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.columns.column import ColumnReader
from connector.binlog.columns.row_images import bitmap_length, column_error, is_set
from connector.binlog.events.rows import RowsEvent
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.writers import require_form
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.row_writer import schema_writer
from connector.stream.envelope.schemas.table_schema import TableSchema


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
        self, rows: RowsEvent, schema: TableSchema, debezium: DebeziumProfile | None = None
    ) -> None:
        """Read keys with the columns of `schema`, in the profile `exact` or in the form `debezium`.

        Raises EventError for a column that cannot be read, UnsupportedChange for a column that the
        envelope cannot hold.
        """
        for column in schema.columns:
            require_form(column)
        try:
            self._plan = rows.plan
        except DecodeError as error:
            raise rows.unreadable(error) from error
        self._name = schema.name
        names = field_names(schema.columns, debezium)
        # By place in the table, in key order: the name in JSON, and the writer.
        self._keyed: dict[int, tuple[bytes, CellWriter]] = {}
        for index in schema.key_indexes:
            place = schema.places[index]
            reader = self._plan.readers[place]
            # Labels that stand for two keys, too: it is the record that is refused.
            writer = schema_writer(
                schema, schema.columns[index], reader, debezium, allows_same_key=True
            )
            self._keyed[place] = f"{encode_basestring(names[index])}:".encode(), writer

    def of(self, row: RowsEvent) -> list[bytes]:
        """Return the keys of the only row of `row`; none if the table has no key.

        If the change alters the key, there are two. Raises EventError if they cannot be read,
        UnsupportedChange if the envelope cannot hold them or the log leaves them out.
        """
        image = row.images()
        keys: list[bytes] = []
        texts: dict[int, bytes] = {}
        plan = self._plan
        try:
            if row.before_columns_present is not None:
                self._read(image, row.before_columns_present, plan.readers, texts)
                self._add(keys, texts)
            if row.after_columns_present is not None:
                readers = plan.partial_readers(image) if row.partial else plan.readers
                # The columns that the after image leaves out have not changed.
                self._read(image, row.after_columns_present, readers, texts)
                self._add(keys, texts)
        except DecodeError as error:
            raise row.unreadable(error) from error
        return keys

    def _read(
        self,
        image: PayloadReader,
        columns_present: bytes,
        readers: list[ColumnReader],
        texts: dict[int, bytes],
    ) -> None:
        indexes = self._plan.indexes(columns_present)
        nulls = image.take(bitmap_length(len(indexes)))
        out = BytesWriter()
        for number, index in enumerate(indexes):
            if is_set(image.data, nulls, number):
                continue
            keyed = self._keyed.get(index)
            try:
                if keyed is None:
                    readers[index].skip(image)
                else:
                    out.truncate(0)
                    keyed[1].put(image, out)
                    texts[index] = keyed[0] + out.getvalue()
            except DecodeError as error:
                raise column_error(self._plan.columns[index], index, error) from error

    def _add(self, keys: list[bytes], texts: dict[int, bytes]) -> None:
        if len(texts) < len(self._keyed):
            raise UnsupportedChange(record_errors.KEY_ABSENT, table=self._name)
        if not texts:
            return
        key = b"{%b}" % b",".join([texts[place] for place in self._keyed])
        if key not in keys:
            keys.append(key)
