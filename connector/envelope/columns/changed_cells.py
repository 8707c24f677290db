"""Cells whose text is changed: of row images, and of SELECTs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, final

from librt.strings import BytesWriter

from connector.codec.json_strings import quoted
from connector.envelope.cells.cell_writer import CellWriter
from connector.envelope.cells.selected_cell import SelectedCell
from connector.envelope.debezium.text_cells import with_escapes

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.column_reader import ColumnReader
    from connector.codec.payload import PayloadReader
    from connector.envelope.columns.changes import TextChange


def changed_json(written: bytes, change: TextChange, *, escapes: bool) -> bytes:
    """Return the JSON of a value whose own JSON is `written`; `escapes`: with Debezium's."""
    value = json.loads(written)
    if value is None:
        return change.null
    # An ENUM without a label is an object in the profile `exact`.
    text = quoted(change.text(value if isinstance(value, str) else written.decode()))
    return with_escapes(text.decode()).encode() if escapes else text


@final
class ConstantWriter(CellWriter):
    """A cell that is not looked at."""

    __slots__ = ("_reader", "_text")

    def __init__(self, reader: ColumnReader, text: bytes) -> None:
        """Write `text` instead of what `reader` would read."""
        self._reader = reader
        self._text = text

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text."""
        self._reader.skip(image)
        out.write(self._text)


@final
class ChangedWriter(CellWriter):
    """A text of a row image."""

    __slots__ = ("_change", "_escapes", "_scratch", "_written")

    def __init__(self, written: CellWriter, change: TextChange, *, escapes: bool) -> None:
        """Change what `written` appends; `escapes` as in `changed_json`."""
        self._written = written
        self._change = change
        self._escapes = escapes
        self._scratch = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the changed text in quotes."""
        scratch = self._scratch
        scratch.truncate(0)
        self._written.put(image, scratch)
        out.write(changed_json(scratch.getvalue(), self._change, escapes=self._escapes))


@final
class ConstantCell(SelectedCell):
    """A cell of a SELECT that is not looked at."""

    __slots__ = ("_text",)

    def __init__(self, text: bytes) -> None:
        """Write `text`."""
        self._text = text

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text."""
        del data, start, end
        out.write(self._text)


@final
class ChangedCell(SelectedCell):
    """A text of a SELECT."""

    __slots__ = ("_change", "_escapes", "_scratch", "_written")

    def __init__(self, written: SelectedCell, change: TextChange, *, escapes: bool) -> None:
        """Change what `written` appends; `escapes` as in `changed_json`."""
        self._written = written
        self._change = change
        self._escapes = escapes
        self._scratch = BytesWriter()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the changed text in quotes."""
        scratch = self._scratch
        scratch.truncate(0)
        self._written.put(scratch, data, start, end)
        out.write(changed_json(scratch.getvalue(), self._change, escapes=self._escapes))
