"""Values of rows become JSON text, with one encoder for each column: whole rows and their keys.

This module handles images of partial updates, and images that leave out columns. For all others,
`row_writer` makes the same text directly from the bytes.

If a row cannot be written, its key can mostly still be read (`RowKeys`), because other columns are
skipped by their lengths. The key has the same text as in the row's records.
"""

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring
from typing import Any, TypeAlias, final

from connector.binlog.columns.column import ABSENT, Value
from connector.binlog.events.rows import RowsEvent
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.values import value_encoder
from connector.stream.envelope.debezium.column_cells import debezium_encoder
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.schemas.column_masks import TextTransform, transformed_json
from connector.stream.envelope.schemas.table_schema import TableSchema, record_key_indexes

# The index of a column, its name in JSON, its encoder, and what NULL becomes.
_Step: TypeAlias = tuple[int, str, Callable[[Any], str], str]


class RowEncoder:
    """Writes the rows of one column list."""

    __slots__ = ("_keyed", "_record_keyed", "_steps", "has_message_key")

    def __init__(self, schema: TableSchema, debezium: DebeziumProfile | None = None) -> None:
        """Choose an encoder for each column of `schema`.

        The values are those of the profile `exact`, or in the form `debezium`. Raises
        UnsupportedChange for a column that the envelope cannot hold.
        """

        def encoder(column: SchemaColumn) -> Callable[[Any], str]:
            name = column["name"]
            if debezium is None:
                encode = value_encoder(column)
            else:
                encode = debezium_encoder(column, debezium, point=name in schema.points)
            change = schema.changes.get(name)
            return encode if change is None else _changed(encode, change, debezium is not None)

        names = field_names(schema.columns, debezium)
        self._steps = [
            (
                place,
                f"{encode_basestring(name)}:",
                encoder(column),
                _null(schema.changes.get(column["name"])),
            )
            for place, name, column in zip(schema.places, names, schema.columns, strict=True)
        ]
        self._keyed = [self._steps[index] for index in schema.key_indexes]
        record_key = record_key_indexes(schema, debezium)
        self._record_keyed = [self._steps[index] for index in record_key]
        # Whether the keys of records are not those of the rows.
        self.has_message_key = record_key != schema.key_indexes

    def image(self, values: Sequence[Any]) -> str:
        """Return the row with the values of all columns of the table as a JSON object.

        Raises UnsupportedChange if the image leaves out a column of the schema.
        """
        parts = []
        for place, name, encode, null in self._steps:
            value = values[place]
            if value is None:
                parts.append(name + null)
            elif value is ABSENT:
                self._refuse_absent(name)
            else:
                parts.append(name + encode(value))
        return f"{{{','.join(parts)}}}"

    def key(self, values: Sequence[Any]) -> bytes | None:
        """Return the key of the row; None for a table without a primary key."""
        return self._key(self._keyed, values)

    def record_key(self, values: Sequence[Any]) -> bytes | None:
        """Return the key of the row's record; None if it has none."""
        return self._key(self._record_keyed, values)

    def _key(self, keyed: list[_Step], values: Sequence[Any]) -> bytes | None:
        if not keyed:
            return None
        parts = []
        for place, name, encode, null in keyed:
            value = values[place]
            if value is ABSENT:
                self._refuse_absent(name)
            parts.append(name + (null if value is None else encode(value)))
        return f"{{{','.join(parts)}}}".encode()

    def _refuse_absent(self, name: str) -> None:
        # The name stands in quotes, with a colon after them.
        raise UnsupportedChange(record_errors.COLUMN_ABSENT, column=name[1:-2])


def _null(change: TextTransform | None) -> str:
    return "null" if change is None else change.null.decode()


def _changed(
    encode: Callable[[Any], str], change: TextTransform, escapes: bool
) -> Callable[[Any], str]:
    if change.constant:
        return lambda _: change.null.decode()
    return lambda value: transformed_json(encode(value).encode(), change, escapes=escapes).decode()


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
            raise UnsupportedChange(record_errors.KEY_ABSENT, table=self._name)
        key = self._encoder.key(values)
        if key is not None and key not in keys:
            keys.append(key)
