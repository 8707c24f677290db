"""Changes of a JSON document in place of it become calls of JSON functions, as in mysqlbinlog."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.values import JsonDiffs, JsonOperation
from connector.codec.quoted_text import quoted_text
from connector.dump.lines.output import encoded
from connector.dump.text.value_text import ValueText

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.columns.column_reader import ColumnReader
    from connector.binlog.columns.values import JsonDiff
    from connector.codec.payload import PayloadReader

_CALLS = {
    JsonOperation.REPLACE: "JSON_REPLACE",
    JsonOperation.INSERT: "JSON_INSERT",
    JsonOperation.REMOVE: "JSON_REMOVE",
}


@final
class DiffsText(ValueText):
    """The changes of one column's documents; they may need several lines."""

    __slots__ = ("_document", "_reader")

    def __init__(self, reader: ColumnReader, number: int) -> None:
        """Write the changes that `reader` reads of column `number`, from 1."""
        self._reader = reader
        self._document = f"@{number}"

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append nested calls that make the changes."""
        changes = self._reader.read(image)
        assert isinstance(changes, JsonDiffs)
        out.write(encoded(_diffs_text(changes.diffs, self._document)))


def _diffs_text(diffs: tuple[JsonDiff, ...], document: str) -> str:
    """Return nested calls of JSON functions that make the changes; the first is the innermost."""
    text = document
    last: str | None = None
    for diff in diffs:
        call = _CALLS[diff.operation]
        if diff.operation is JsonOperation.INSERT and diff.path.endswith("]"):
            call = "JSON_ARRAY_INSERT"
        value = "" if diff.value is None else f", {_json_literal(diff.value)}"
        if call == last:
            text = f"{text[:-1]},\n###      {quoted_text(diff.path)}{value})"
        else:
            text = f"{call}({text}, {quoted_text(diff.path)}{value})"
        last = call
    return text


def _json_literal(document: str) -> str:
    if document.startswith(("{", "[", '"')) or document == "null":
        return f"CAST({quoted_text(document)} AS JSON)"
    return document
