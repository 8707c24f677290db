"""The values of columns as conditions compare them, from the log and from SELECTs.

Both ways give the same value: an int or a Decimal; a text, by its characters; bytes; and for dates
and moments the text that the server prints, with six digits after the second.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from connector.binlog.charsets.character_sets import character_decoder
from connector.binlog.columns.values import EnumIndex
from connector.envelope.cells.values import not_text
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.contract import SchemaColumn

NUMBER: Final = "number"
TEXT: Final = "text"
BYTES: Final = "bytes"
DATE: Final = "date"
MOMENT: Final = "moment"
# Only whether it is NULL can be told.
OTHER: Final = "other"

_INTEGERS: Final = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year"})
_CHARACTERS: Final = frozenset({"char", "varchar", "text"})
_BINARY: Final = frozenset({"binary", "varbinary", "blob"})
_MOMENTS: Final = frozenset({"datetime", "timestamp"})
_UTF8: Final = ("utf8mb3", "utf8mb4")

_SECOND_CHARACTERS: Final = 19
_MOMENT_CHARACTERS: Final = 26


def kind_of(column: SchemaColumn) -> str:
    """Return with what the values of a column can be compared."""
    kind = column["type"]
    if kind in _INTEGERS or kind == "decimal":
        return NUMBER
    if kind in _CHARACTERS or kind == "enum":
        return TEXT
    if kind in _BINARY:
        return BYTES
    if kind == "date":
        return DATE
    return MOMENT if kind in _MOMENTS else OTHER


def moment(text: str) -> str:
    """Return a date, or a date with a time, as moments are compared."""
    if len(text) < _SECOND_CHARACTERS:
        text += " 00:00:00"
    if len(text) == _SECOND_CHARACTERS:
        text += "."
    return text.ljust(_MOMENT_CHARACTERS, "0")


def logged_value(column: SchemaColumn) -> Callable[[Any], Any]:
    """Return what makes a value of a `Value` of the log, except NULL.

    It raises UnsupportedChange for bytes where text should be.
    """
    kind = kind_of(column)
    if kind == MOMENT:
        return moment
    if column["type"] == "decimal":
        return Decimal
    if kind == TEXT:
        name = column["name"]

        def text(value: Any) -> str:
            if isinstance(value, str):
                return value
            if isinstance(value, EnumIndex) and value.index == 0:
                # The error value of an ENUM.
                return ""
            raise not_text(name)

        return text
    return _same if kind != OTHER else _something


def selected_value(column: SchemaColumn, *, is_label: bool) -> Callable[[bytes], Any]:
    """Return what makes a value of a cell of a SELECT, except NULL.

    `is_label` says whether an ENUM is selected as its label, and not as its number. It raises
    UnsupportedChange for bytes that are no text.
    """
    kind = kind_of(column)
    if column["type"] == "decimal":
        return lambda data: Decimal(data.decode())
    if kind == NUMBER:
        return int
    if kind == DATE:
        return bytes.decode
    if kind == MOMENT:
        return lambda data: moment(data.decode())
    if kind == TEXT:
        if column["type"] == "enum" and not is_label:
            return _label_of(column)
        return _text_of(column, is_label=is_label)
    return _same if kind == BYTES else _something


def _text_of(column: SchemaColumn, *, is_label: bool) -> Callable[[bytes], Any]:
    name = column["name"]
    charset = column.get("charset", "")
    decode = None if is_label or charset in _UTF8 else character_decoder(charset)

    def text(data: bytes) -> str:
        try:
            return str(data, "utf-8") if decode is None else decode(data)
        except (UnicodeDecodeError, DecodeError):
            raise not_text(name) from None

    return text


def _label_of(column: SchemaColumn) -> Callable[[bytes], Any]:
    labels: list[str] = ["", *column.get("labels", ())]
    name = column["name"]

    def label(data: bytes) -> str:
        index = int(data)
        if index >= len(labels):
            raise not_text(name)
        return labels[index]

    return label


def _same(value: Any) -> Any:
    return value


def _something(value: Any) -> Any:
    del value
    return True
