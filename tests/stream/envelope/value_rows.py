"""Rows as JSON from decoded values: the oracle for what is written from bytes."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, final

from connector.binlog.columns.column import ABSENT
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.schemas.column_masks import TextTransform, transformed_json
from tests.stream.envelope.value_texts import value_encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from librt.strings import BytesWriter

    from connector.binlog.columns.column import Value
    from connector.binlog.events.rows import RowsEvent
    from connector.stream.envelope.schemas.table_schema import TableSchema


@final
class ValueRows:
    """Writes the values of rows in the profile `exact`."""

    def __init__(self, schema: TableSchema) -> None:
        self._steps = []
        for place, column in zip(schema.places, schema.columns, strict=True):
            change = schema.changes.get(column["name"])
            encode = value_encoder(column)
            null = "null" if change is None else change.null.decode()
            if change is not None:
                encode = changed(encode, change)
            self._steps.append((place, encode_basestring(column["name"]), encode, null))
        self._keyed = [self._steps[index] for index in schema.key_indexes]

    def image(self, values: Sequence[Any]) -> str:
        """Return the row as a JSON object; refuse one that leaves out a column of the schema."""
        parts = []
        for place, name, encode, null in self._steps:
            value = values[place]
            if value is ABSENT:
                raise UnsupportedChange(record_errors.COLUMN_ABSENT, column=name[1:-1])
            parts.append(f"{name}:{null if value is None else encode(value)}")
        return f"{{{','.join(parts)}}}"

    def key(self, values: Sequence[Any]) -> bytes | None:
        """Return the key of the row; None for a table without a primary key."""
        parts = [
            f"{name}:{null if values[place] is None else encode(values[place])}"
            for place, name, encode, null in self._keyed
        ]
        return f"{{{','.join(parts)}}}".encode() if parts else None


def changed(encode: Callable[[Any], str], change: TextTransform) -> Callable[[Any], str]:
    """Return what writes a text that becomes another one."""
    if change.constant:
        return lambda _: change.null.decode()
    return lambda value: transformed_json(encode(value).encode(), change, escapes=False).decode()


@final
class ValueImages:
    """The images of an event, in the way of RowImages."""

    def __init__(self, rows: RowsEvent, schema: TableSchema) -> None:
        self._rows = rows.rows(apply_diffs=True)
        self._writer = ValueRows(schema)
        self._images: list[list[Value]] = []  # of the row, the next one last
        self._values: list[Value] = []

    def next_row(self) -> bool:
        row = next(self._rows, None)
        if row is None:
            return False
        self._images = [image for image in (row.after, row.before) if image is not None]
        return True

    def put(self, out: BytesWriter) -> None:
        self._values = self._images.pop()
        out.write(self._writer.image(self._values).encode())

    def key(self, out: BytesWriter) -> bytes | None:
        del out
        return self._writer.key(self._values)
