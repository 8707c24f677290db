"""The values of a row become JSON text, with one encoder for each column of a table.

This module handles images of partial updates, and images that leave out columns. For all others,
`row_writer` makes the same text directly from the bytes.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from connector.binlog.columns.values import ABSENT
from connector.envelope.cells.values import value_encoder
from connector.envelope.debezium.value_forms import debezium_encoder
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from connector.contract import SchemaColumn
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.schemas.table_schema import TableSchema


class RowEncoder:
    """Writes the rows of one column list."""

    __slots__ = ("_keyed", "_steps")

    def __init__(self, schema: TableSchema, debezium: DebeziumForm | None = None) -> None:
        """Choose an encoder for each column of `schema`.

        The values are those of the profile `exact`, or in the form `debezium`. Raises
        UnsupportedChange for a column that the envelope cannot hold.
        """

        def encoder(column: SchemaColumn) -> Callable[[Any], str]:
            if debezium is None:
                return value_encoder(column)
            return debezium_encoder(column, debezium, point=column["name"] in schema.points)

        self._steps = [
            (place, f"{encode_basestring(column['name'])}:", encoder(column))
            for place, column in zip(schema.places, schema.columns, strict=True)
        ]
        self._keyed = [self._steps[index] for index in schema.key_indexes]

    def image(self, values: Sequence[Any]) -> str:
        """Return the row with the values of all columns of the table as a JSON object.

        Raises UnsupportedChange if the image leaves out a column of the schema.
        """
        parts = []
        for place, name, encode in self._steps:
            value = values[place]
            if value is None:
                parts.append(name + "null")
            elif value is ABSENT:
                self._refuse_absent(name)
            else:
                parts.append(name + encode(value))
        return f"{{{','.join(parts)}}}"

    def key(self, values: Sequence[Any]) -> bytes | None:
        """Return the key of the row's record; None for a table without a primary key."""
        if not self._keyed:
            return None
        parts = []
        for place, name, encode in self._keyed:
            value = values[place]
            if value is ABSENT:
                self._refuse_absent(name)
            parts.append(name + encode(value))
        return f"{{{','.join(parts)}}}".encode()

    def _refuse_absent(self, name: str) -> None:
        # The name stands in quotes, with a colon after them.
        raise UnsupportedChange(table_rows.COLUMN_ABSENT, column=name[1:-2])
