"""The values of a row become JSON text, with one encoder for each column of a table.

This module handles images of partial updates, and images that leave out columns. For all others,
`row_writer` makes the same text directly from the bytes.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, TypeAlias

from connector.binlog.columns.values import ABSENT
from connector.envelope.cells.values import value_encoder
from connector.envelope.columns.changed_cells import changed_json
from connector.envelope.debezium.field_names import field_names
from connector.envelope.debezium.value_forms import debezium_encoder
from connector.envelope.rows.record_key import record_key_indexes
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from connector.contract import SchemaColumn
    from connector.envelope.columns.changes import TextChange
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.schemas.table_schema import TableSchema


# The index of a column, its name in JSON, its encoder, and what NULL becomes.
_Step: TypeAlias = "tuple[int, str, Callable[[Any], str], str]"


class RowEncoder:
    """Writes the rows of one column list."""

    __slots__ = ("_keyed", "_record_keyed", "_steps", "has_message_key")

    def __init__(self, schema: TableSchema, debezium: DebeziumForm | None = None) -> None:
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
        raise UnsupportedChange(table_rows.COLUMN_ABSENT, column=name[1:-2])


def _null(change: TextChange | None) -> str:
    return "null" if change is None else change.null.decode()


def _changed(
    encode: Callable[[Any], str], change: TextChange, escapes: bool
) -> Callable[[Any], str]:
    if change.constant:
        return lambda _: change.null.decode()
    return lambda value: changed_json(encode(value).encode(), change, escapes=escapes).decode()
