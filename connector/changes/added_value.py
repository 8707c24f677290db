"""Whether the value that rows get in an added column is certain.

The text of DEFAULT names it (`added_columns`), and the server converts it to the column's type.
Where this conversion depends on more than the text, or rounds, the value is not certain.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from connector.changes.added_columns import AddedColumn, DefaultKind
from connector.changes.sql_mode import EMPTY_STRING_IS_NULL, is_strict
from connector.contract import INTEGER_TYPES

if TYPE_CHECKING:
    from connector.changes.column_definition import ColumnDefinition

# Types to which a bit literal is a number.
NUMBER_TYPES: Final = frozenset({*INTEGER_TYPES, "decimal", "float", "double", "bit", "year"})
_FLOAT_DIGITS: Final = 6
_INTEGER: Final = re.compile(r"-?\d+")
_PRINTED: Final = re.compile(r"0|-?[1-9]\d*")
_DECIMAL: Final = re.compile(r"-?\d+(\.\d+)?")
_FLOATING: Final = re.compile(r"-?\d+(\.\d+)?([eE]\d+)?")
_YEAR: Final = re.compile(r"(19|20)\d\d|0000")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATETIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?")
_TIME: Final = re.compile(r"-?\d{2,3}:\d{2}:\d{2}(\.\d{1,6})?")
# Types whose implicit default is not a value of their own.
_NO_IMPLICIT: Final = ("timestamp", "json", "geometry", "vector")


def is_value_certain(added: AddedColumn, definition: ColumnDefinition, mode: int) -> bool:
    """Return whether `added` names the value of all rows, in the session's sql_mode `mode`."""
    kind = definition.kind
    if added.default is DefaultKind.NULL:
        # A server can make TIMESTAMP NOT NULL by itself, with the current time.
        return kind != "timestamp" or definition.null
    if added.default is DefaultKind.IMPLICIT:
        return kind not in _NO_IMPLICIT
    if added.default is DefaultKind.NOW:
        return kind == "timestamp" and not definition.arguments
    if added.default is DefaultKind.BITS and kind not in NUMBER_TYPES:
        return False
    literal = added.default in (DefaultKind.LITERAL, DefaultKind.BITS)
    return literal and _is_literal_certain(added, definition, mode)


def _is_literal_certain(added: AddedColumn, definition: ColumnDefinition, mode: int) -> bool:
    kind, text = definition.kind, added.text
    last = definition.default[-1]
    quoted = last.kind == "string" and last.text[0] in "'\""
    if not text and mode & EMPTY_STRING_IS_NULL:
        return False
    if not text.isascii() and (len(definition.default) > 1 or not is_strict(mode)):
        # An introducer, or characters that the column's character set may lack.
        return False
    if kind in INTEGER_TYPES:
        return _INTEGER.fullmatch(text) is not None
    if kind == "decimal":
        return _DECIMAL.fullmatch(text) is not None
    if kind in ("float", "double"):
        return _is_float_certain(text, definition)
    if kind == "bit":
        return not quoted and text.isdecimal()
    if kind in ("enum", "set"):
        return quoted
    return _is_text_certain(text, definition, quoted=quoted)


def _is_float_certain(text: str, definition: ColumnDefinition) -> bool:
    if definition.arguments or _FLOATING.fullmatch(text) is None:
        return False
    digits = re.sub(r"[eE].*|\D", "", text)
    return definition.kind == "double" or len(digits) <= _FLOAT_DIGITS


def _is_text_certain(text: str, definition: ColumnDefinition, *, quoted: bool) -> bool:
    kind = definition.kind
    if kind == "year":
        return _YEAR.fullmatch(text) is not None
    if kind == "date":
        return quoted and _DATE.fullmatch(text) is not None
    if kind == "datetime":
        return quoted and _DATETIME.fullmatch(text) is not None and _keeps(text, definition)
    if kind == "time":
        return (
            quoted
            and _TIME.fullmatch(text) is not None
            and _keeps(text, definition)
            and (text[0] != "-" or any(digit in "123456789" for digit in text))
        )
    if kind in ("char", "varchar", "text"):
        whole = kind != "char" or not text.endswith(" ")
        return whole and (quoted or _PRINTED.fullmatch(text) is not None)
    if kind in ("binary", "varbinary", "blob"):
        return quoted and text.isascii()
    return False


def _keeps(text: str, definition: ColumnDefinition) -> bool:
    """Return whether the column has room for the digits after the second."""
    width = definition.numbers
    digits = len(text.partition(".")[2])
    return width is not None and digits <= (width[0] if width else 0)
