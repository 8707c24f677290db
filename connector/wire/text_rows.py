"""The interface for rows of a result set; for small results, their cells as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.codec.payload import LENENC_NULL, PayloadReader

if TYPE_CHECKING:
    from mypy_extensions import i64


class RowTaker:
    """Takes the rows of a result set, in their order."""

    __slots__ = ()

    def put_row(self, data: bytes, start: i64, end: i64) -> None:
        """Take the row in `data[start:end]`; the bytes do not change afterwards."""
        raise NotImplementedError


@final
class TextRows(RowTaker):
    """The rows of a small result, as text."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        """Begin without rows."""
        self.rows: list[list[str | None]] = []

    def put_row(self, data: bytes, start: i64, end: i64) -> None:
        """Take a row whose cells are UTF-8."""
        row = PayloadReader(data, start, end)
        cells: list[str | None] = []
        while row.offset < end:
            if data[row.offset] == LENENC_NULL:
                row.skip(1)
                cells.append(None)
            else:
                cells.append(row.read_lenenc_bytes().decode("utf-8", "backslashreplace"))
        self.rows.append(cells)
