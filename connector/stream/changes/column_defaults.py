"""The columns that ALTER TABLE adds, and the value that existing rows get in them.

The server fills a new column of existing rows without writing row events, so the value is known
only from the text of the statement: an explicit DEFAULT, or the type's implicit default when the
column is NOT NULL, or the time of the statement for CURRENT_TIMESTAMP. Any other computed default
(an expression, a generated or AUTO_INCREMENT column) is not in the log and is reported as such.

The server converts the text of DEFAULT to the column's type. Where this conversion depends on more
than the text, or rounds, the value is not certain.

https://dev.mysql.com/doc/refman/8.4/en/data-type-defaults.html
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from connector.binlog.events.status_variables import EMPTY_STRING_IS_NULL, is_strict
from connector.binlog.sql_text import Token
from connector.binlog.statement import Statement
from connector.foundation.contract import INTEGER_TYPES
from connector.stream.changes.alter_table import ColumnDefinition, alter_clauses, skip_words, split


class DefaultKind(Enum):
    """The source of the value in existing rows."""

    NULL = "null"
    LITERAL = "literal"
    BITS = "bits"  # a bit literal: `text` is its number; in a column of text it is bytes
    IMPLICIT = "implicit"  # NOT NULL without DEFAULT: zero, the empty string, the first label
    NOW = "now"  # CURRENT_TIMESTAMP: when the statement ran, `text` in seconds since the epoch
    COMPUTED = "computed"  # not in the log


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column that ALTER TABLE added; `text` is the literal without its quotes."""

    name: str
    default: DefaultKind
    text: str = ""


# Words after ADD if it does not add a column.
_NOT_A_COLUMN = (
    "INDEX", "KEY", "UNIQUE", "PRIMARY", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK",
    "PARTITION", "PERIOD", "SYSTEM",
)  # fmt: skip

_COMPUTED_WORDS = ("AS", "GENERATED", "AUTO_INCREMENT", "SERIAL")
_NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
# Introducers of character sets in which each character of ASCII is its one byte.
_OF_ASCII = ("_ascii", "_latin1", "_utf8", "_utf8mb3", "_utf8mb4")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][0-9]+)?")
_ESCAPES = {
    "0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"
}  # fmt: skip


def added_columns(statement: Statement, timestamp: int) -> list[AddedColumn]:
    """Return the columns that an ALTER TABLE statement adds, in its order.

    `timestamp` is when the statement ran, in seconds since the epoch.
    """
    added: list[AddedColumn] = []
    for clause in alter_clauses(statement.tokens):
        if not clause[0].is_word("ADD"):
            continue
        rest = clause[skip_words(clause, 1, "COLUMN", "IF", "NOT", "EXISTS") :]
        if not rest:
            continue
        if rest[0].text == "(":
            parts = split(rest[1:-1])
            added.extend(added_column(part, timestamp) for part in parts if _is_column(part))
        elif _is_column(rest):
            added.append(added_column(rest, timestamp))
    return added


def _is_column(part: list[Token]) -> bool:
    return not part[0].is_word(*_NOT_A_COLUMN)


def added_column(definition: list[Token], timestamp: int) -> AddedColumn:
    """Return the column of a definition that begins with its name; `timestamp` as above."""
    name = definition[0].name
    flat = list(_outside_parentheses(definition[1:]))
    for token, following in zip(flat, [*flat[1:], None], strict=False):
        if token.is_word(*_COMPUTED_WORDS):
            return AddedColumn(name, DefaultKind.COMPUTED)
        if token.is_word("DEFAULT"):
            index = next(n for n, t in enumerate(definition) if t is token)
            return _default(name, definition[index + 1 :], timestamp)
        if token.is_word("NOT") and following is not None and following.is_word("NULL"):
            # DEFAULT may still follow.
            rest = flat[flat.index(token) + 2 :]
            if not any(t.is_word("DEFAULT", *_COMPUTED_WORDS) for t in rest):
                return AddedColumn(name, DefaultKind.IMPLICIT)
    return AddedColumn(name, DefaultKind.NULL)


def _outside_parentheses(tokens: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        if token.kind == "mark" and token.text in "()":
            depth += 1 if token.text == "(" else -1
        elif depth == 0:
            yield token


def _default(name: str, tokens: list[Token], timestamp: int) -> AddedColumn:
    """Read the value after DEFAULT."""
    sign = ""
    if tokens and tokens[0].kind == "mark" and tokens[0].text in "+-":
        sign = tokens[0].text.replace("+", "")
        tokens = tokens[1:]
    # A character set introducer: DEFAULT _utf8mb4'x'.
    if len(tokens) > 1 and tokens[0].text.startswith("_") and tokens[1].kind == "string":
        if tokens[0].text.lower() not in _OF_ASCII:
            return AddedColumn(name, DefaultKind.COMPUTED)
        tokens = tokens[1:]
    if not tokens:
        return AddedColumn(name, DefaultKind.COMPUTED)
    value = tokens[0]
    if value.kind == "string":
        return _string(name, value.text)
    if value.is_word("NULL"):
        return AddedColumn(name, DefaultKind.NULL)
    if value.is_word("TRUE", "FALSE"):
        return AddedColumn(name, DefaultKind.LITERAL, str(int(value.is_word("TRUE"))))
    if value.is_word(*_NOW):
        return AddedColumn(name, DefaultKind.NOW, str(timestamp))
    if _NUMBER.fullmatch(value.text):
        return AddedColumn(name, DefaultKind.LITERAL, sign + value.text)
    return AddedColumn(name, DefaultKind.COMPUTED)


def _string(name: str, text: str) -> AddedColumn:
    if text[0] in "bB":
        digits = text[2:-1] or "0"
        if not set(digits) <= {"0", "1"}:
            return AddedColumn(name, DefaultKind.COMPUTED)
        return AddedColumn(name, DefaultKind.BITS, str(int(digits, 2)))
    if text[0] in "xX":
        # A hexadecimal literal is bytes or a number, depending on the type.
        return AddedColumn(name, DefaultKind.COMPUTED)
    quote = text[0]
    body = text[1:-1].replace(quote * 2, quote)
    plain = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), body, flags=re.DOTALL)
    return AddedColumn(name, DefaultKind.LITERAL, plain)


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
# Types whose implicit default is a value of their own.
_IMPLICIT: Final = NUMBER_TYPES | {
    *("char", "varchar", "text", "binary", "varbinary", "blob", "enum", "set"),
    *("date", "datetime", "time"),
}


def is_value_certain(added: AddedColumn, definition: ColumnDefinition, mode: int) -> bool:
    """Return whether `added` names the value of all rows, in the session's sql_mode `mode`."""
    kind = definition.kind
    if added.default is DefaultKind.NULL:
        # A server can make TIMESTAMP NOT NULL by itself, with the current time.
        return kind != "timestamp" or definition.null
    if added.default is DefaultKind.IMPLICIT:
        return kind in _IMPLICIT
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
