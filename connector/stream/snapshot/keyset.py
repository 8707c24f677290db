"""Keys of rows in SELECTs: the next rows after a key, and the rows with the keys of a request.

*Next rows.* The key is that of the records, or a column that a user named instead
(surrogate-key). Rows are told from each other by the key of their records in both cases. If the
named value of a row changes during the copy, the row may be left out, but then the stream has
delivered it.

For a key of several columns, the server's range optimiser accepts one condition on all of them::

    (a > 7 OR (a = 7 AND (b > 3)))

It then reads from the index only the rows after (7, 3). Columns in which both bounds are equal need
no such condition: `a = 7 AND b > 3 AND b < 9`.

*Listed keys.* A listed key is the JSON text of a record's key in the profile `exact`. Its values
become the cells that the server would send. The writers of copied rows make JSON of these cells
again. If that is not the listed text, byte by byte, the connector would never write it, and the
request is wrong. So two listed texts never mean the same row, and consumers can read each key.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from librt.strings import BytesWriter

from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import quoted
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import SourceRefused, UnsupportedChange
from connector.stream.envelope.cells.selected import selected_reader
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.row_writer import cell_writer
from connector.stream.envelope.schemas.table_schema import has_message_key
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.table_state import KeyBounds
from connector.stream.source.selected_table import KeyColumn, SelectedTable


def can_be_paged(table: SelectedTable) -> bool:
    """Return whether the rows have an order in which a SELECT can continue after a row."""
    return bool(table.key_columns) and all(column.ordered for column in table.order_columns)


def in_bounds(
    columns: Sequence[KeyColumn], bounds: KeyBounds, after: Sequence[bytes] = ()
) -> tuple[list[str], int]:
    """Return the conditions for rows in `bounds`, or for those of them after the key `after`.

    Also return how many of the first columns have the same value in all of these rows.
    """
    low, high = bounds
    if after:
        low = tuple(column.literal(cell) for column, cell in zip(columns, after, strict=True))
    equal = 0
    while equal < min(len(low), len(high)) and low[equal] == high[equal]:
        equal += 1
    conditions = [
        f"{column.expression} = {literal}"
        for column, literal in zip(columns, low[:equal], strict=False)
    ]
    if low[equal:]:
        conditions.append(_beyond(columns[equal:], low[equal:], ">", ">" if after else ">="))
    if high[equal:]:
        conditions.append(_beyond(columns[equal:], high[equal:], "<", "<"))
    return conditions, equal


def _beyond(columns: Sequence[KeyColumn], literals: Sequence[str], sign: str, last: str) -> str:
    """Return the condition for keys on one side of `literals`; `last` compares the last of them."""
    column, literal = columns[0], literals[0]
    if len(literals) == 1:
        return column.beyond(last, literal)
    rest = _beyond(columns[1:], literals[1:], sign, last)
    return f"({column.beyond(sign, literal)} OR ({column.equal_to(literal)} AND {rest}))"


def key_order(columns: Sequence[KeyColumn], direction: str = "") -> str:
    """Return how to sort by columns of a key, in an SQL `direction`."""
    return "ORDER BY " + ", ".join(f"{column.expression}{direction}" for column in columns)


def select_chunk(
    table: SelectedTable,
    bounds: KeyBounds,
    after: Sequence[bytes],
    where: str,
    limit: int,
    hint: str = "",
) -> str:
    """Return the SELECT of the next `limit` rows in `bounds` after the key `after`.

    An empty `after` is the beginning of the part. `where` is the SQL of a `Condition`.
    """
    conditions, equal = in_bounds(table.order_columns, bounds, after)
    # Of a column whose value is known, some servers would sort the rows.
    order = key_order(table.order_columns[equal:])
    return f"{select_rows(table, conditions, where, hint)} {order} LIMIT {limit}"


def select_rows(table: SelectedTable, conditions: Sequence[str], where: str, hint: str = "") -> str:
    """Return the SELECT of all rows that meet the conditions, in any order."""
    every = [*conditions, *([f"({where})"] if where else [])]
    condition = f" WHERE {' AND '.join(every)}" if every else ""
    return f"SELECT {hint}{table.select_list} FROM {table.quoted_name}{condition}"  # noqa: S608 - quoted names


# Of one request.
KEYS_MAX: Final = 500
KEYS_CHARACTERS_MAX: Final = 96 * 1024

_BITS: Final = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
# Character sets in which no two values have the same text.
_CODECS: Final = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "ascii": "ascii", "latin1": "cp1252"}
_UTF8MB3_MAX: Final = "\uffff"
_YEARS: Final = range(1901, 2156)
_HOURS_MAX: Final = 838

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,65})")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]")
_TIME = re.compile(r"-?([0-9]{2}|[1-8][0-9]{2})(:[0-5][0-9]:[0-5][0-9])")
_FRACTION = re.compile(r"\.[0-9]+")


class ListedKey(NamedTuple):
    """A key of a table's rows."""

    record_key: bytes  # as in the records of the stream
    condition: str  # SQL that its row meets, if there is one


def listed_keys(
    table: SelectedTable, texts: Iterable[str], debezium: DebeziumProfile | None = None
) -> list[ListedKey]:
    """Return the keys of `texts`, for records of the profile `exact` or in the form `debezium`.

    Raises SourceRefused for a table whose keys cannot be listed, and for a text that is not the key
    of a record.
    """
    _require_listable(table)
    if debezium is not None and has_message_key(table.schema, debezium):
        raise SourceRefused(copy_errors.MESSAGE_KEY, table=table.name)
    listed = []
    for place, text in enumerate(texts):
        try:
            cells = _cells(table, text)
            if _record_key(table, cells, None) != text.encode():
                raise ValueError  # noqa: TRY301 - one refusal for all
            record_key = _record_key(table, cells, debezium)
        except (ValueError, TypeError, RecursionError, UnsupportedChange) as error:
            raise SourceRefused(copy_errors.NOT_A_KEY, table=table.name, place=place) from error
        listed.append(ListedKey(record_key, _condition(table, cells)))
    return listed


def _require_listable(table: SelectedTable) -> None:
    if not table.key_columns:
        raise SourceRefused(copy_errors.NO_KEY, table=table.name)
    for column in _key_schema(table):
        is_text = column["type"] in ("char", "varchar")
        if column["type"] not in _CELLS or (is_text and column.get("charset") not in _CODECS):
            raise SourceRefused(copy_errors.KEY_TYPE, table=table.name, column=column["name"])
    if not can_be_paged(table):
        prefixed = next(key_column for key_column in table.key_columns if not key_column.ordered)
        raise SourceRefused(copy_errors.KEY_TYPE, table=table.name, column=prefixed.name)


def _key_schema(table: SelectedTable) -> list[SchemaColumn]:
    """Return the columns of the key, in key order."""
    return [table.schema.columns[index] for index in table.schema.key_indexes]


def _cells(table: SelectedTable, text: str) -> list[bytes]:
    """Return the cells of a listed key; raises ValueError or TypeError for a wrong value."""
    values = json.loads(text)
    columns = _key_schema(table)
    if not isinstance(values, dict) or list(values) != [column["name"] for column in columns]:
        raise ValueError
    return [_CELLS[column["type"]](values[column["name"]], column) for column in columns]


def _record_key(
    table: SelectedTable, cells: Iterable[bytes], debezium: DebeziumProfile | None
) -> bytes:
    out = BytesWriter()
    before = b"{"
    columns = _key_schema(table)
    names = field_names(columns, debezium)
    for column, name, cell in zip(columns, names, cells, strict=True):
        out.write(before + quoted(name) + b":")
        point = column["name"] in table.schema.points
        writer = cell_writer(column, selected_reader(column), debezium, point=point)
        writer.put(PayloadReader(cell), out)
        before = b","
    return out.getvalue() + b"}"


def _condition(table: SelectedTable, cells: Iterable[bytes]) -> str:
    """Return the SQL that compares the key as a copy does to continue after a row."""
    pairs = zip(table.key_columns, cells, strict=True)
    equal = (f"{column.expression} = {column.literal(cell)}" for column, cell in pairs)
    return f"({' AND '.join(equal)})"


def _require(is_right: object) -> None:
    if not is_right:
        raise ValueError


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number_of(value: Any) -> int:
    # A bool is an int for Python, and not for JSON.
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _integer(value: Any, column: SchemaColumn) -> bytes:
    bits = _BITS[column["type"]]
    is_unsigned = column.get("unsigned", False)
    if bits == _BITS["bigint"] and is_unsigned:
        text = _text_of(value)
        _require(_INTEGER.fullmatch(text))
        number = int(text)
    else:
        number = _number_of(value)
    lowest = 0 if is_unsigned else -(1 << bits - 1)
    _require(lowest <= number < lowest + (1 << bits))
    return str(number).encode()


def _year(value: Any, column: SchemaColumn) -> bytes:
    del column
    # 0 would be another year for a server that compares numbers of two digits.
    _require(_number_of(value) in _YEARS)
    return str(value).encode()


def _decimal(value: Any, column: SchemaColumn) -> bytes:
    text = _text_of(value)
    whole, point, rest = text.partition(".")
    digits = column["precision"] - column["scale"]
    _require(_INTEGER.fullmatch(whole))
    _require(len(whole.lstrip("-")) <= max(digits, 1) and (digits or whole.lstrip("-") == "0"))
    _require(len(rest) == column["scale"] and bool(point) == bool(column["scale"]))
    _require(rest.isascii() and (rest.isdigit() or not rest))
    # No server has a negative zero.
    _require(
        not whole.startswith("-") or (not column.get("unsigned") and (whole + rest).strip("-0"))
    )
    return text.encode()


def _characters(value: Any, column: SchemaColumn) -> bytes:
    text = _text_of(value)
    charset = column.get("charset", "")
    _require(charset != "utf8mb3" or all(character <= _UTF8MB3_MAX for character in text))
    return text.encode(_CODECS[charset])


def _bytes(value: Any, column: SchemaColumn) -> bytes:
    del column
    return b64decode(_text_of(value), validate=True)


def _date(value: Any, column: SchemaColumn) -> bytes:
    del column
    return _day(_text_of(value)).encode()


def _day(text: str) -> str:
    """Return a date; raises ValueError for one that no calendar has."""
    _require(date.fromisoformat(text).isoformat() == text)
    return text


def _datetime(value: Any, column: SchemaColumn) -> bytes:
    text = _text_of(value)
    _day(text[:10])
    _require(text[10:11] == " " and _CLOCK.fullmatch(text[11:19]))
    _require(_has_fraction(text[19:], column))
    return text.encode()


def _timestamp(value: Any, column: SchemaColumn) -> bytes:
    text = _text_of(value)
    _require(text[10:11] == "T" and text.endswith("Z"))
    return _datetime(f"{text[:10]} {text[11:-1]}", column)


def _time(value: Any, column: SchemaColumn) -> bytes:
    text = _text_of(value)
    match = _TIME.match(text)
    if match is None:
        raise ValueError
    _require(int(match[1]) <= _HOURS_MAX)
    _require(not text.startswith("-") or text.strip("-0:."))
    _require(_has_fraction(text[match.end() :], column))
    return text.encode()


def _has_fraction(text: str, column: SchemaColumn) -> bool:
    """Return whether a text is the fraction of a second as the column has it."""
    length = column.get("fraction", 0)
    return len(text) == length + 1 and bool(_FRACTION.fullmatch(text)) if length else not text


def _label(value: Any, column: SchemaColumn) -> bytes:
    return str(column.get("labels", []).index(_text_of(value)) + 1).encode()


def _bit(value: Any, column: SchemaColumn) -> bytes:
    length = column["length"]
    if length == 1:
        if not isinstance(value, bool):
            raise TypeError
        return bytes([value])
    text = _text_of(value)
    _require(_INTEGER.fullmatch(text) and 0 <= int(text) < 1 << length)
    return int(text).to_bytes((length + 7) // 8, "big")


# By type: the cell that a server sends for a JSON value. A FLOAT or DOUBLE is not compared exactly.
_CELLS: Final[dict[str, Callable[[Any, SchemaColumn], bytes]]] = {
    **dict.fromkeys(_BITS, _integer),
    "year": _year,
    "decimal": _decimal,
    "char": _characters,
    "varchar": _characters,
    "binary": _bytes,
    "varbinary": _bytes,
    "date": _date,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "time": _time,
    "enum": _label,
    "bit": _bit,
}
