"""The values of a row become JSON text, with one encoder for each column of a table.

This module handles images of partial updates, and images that leave out columns. For all others,
`row_writer` makes the same text directly from the bytes.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from connector.binlog.columns.values import ABSENT
from connector.envelope.rows.values import value_encoder
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.envelope.schemas.table_schema import TableSchema


class RowEncoder:
    """Writes the rows of one column list."""

    __slots__ = ("_keyed", "_schema", "_steps")

    def __init__(self, schema: TableSchema) -> None:
        """Choose an encoder for each column of `schema`.

        Raises UnsupportedChange for a column that the envelope cannot hold.
        """
        self._schema = schema
        self._steps = [
            (f"{encode_basestring(column['name'])}:", value_encoder(column))
            for column in schema.columns
        ]
        self._keyed = [(index, *self._steps[index]) for index in schema.key_indexes]

    def image(self, values: Sequence[Any]) -> str:
        """Return the row as a JSON object.

        Raises UnsupportedChange if the image leaves out a column.
        """
        parts = []
        for value, (name, encode) in zip(values, self._steps, strict=True):
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
        for index, name, encode in self._keyed:
            value = values[index]
            if value is ABSENT:
                self._refuse_absent(name)
            parts.append(name + encode(value))
        return f"{{{','.join(parts)}}}".encode()

    def _refuse_absent(self, name: str) -> None:
        # The name stands in quotes, with a colon after them.
        raise UnsupportedChange(table_rows.COLUMN_ABSENT, column=name[1:-2])
