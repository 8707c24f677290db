"""SQL statements and literals: some hundred keys in a DELETE, some thousand rows in an INSERT.

Values become literals a column at a time. The session has NO_BACKSLASH_ESCAPES, so a quote is the
only character of a text that has a meaning. Bytes are hexadecimal digits. Floats are quoted: the
server reads such a text as the nearest number, and keeps the sign of zero.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connector.binlog.sql_text import quoted_identifier, quoted_name
from connector.foundation.contract import SchemaColumn
from stream_jobs.source.column_types import decimal_texts

_TEXT = pa.large_string()
_HEX_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8)


def literals(values: pa.ChunkedArray, column: SchemaColumn) -> pa.Array:
    """Return `values` of a column of the mirror as texts; NULL stays NULL."""
    array = values.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    kind, types = array.type, pa.types
    if types.is_boolean(kind):
        return array.cast(pa.int8()).cast(_TEXT)
    if types.is_integer(kind):
        return array.cast(_TEXT)
    if types.is_decimal(kind):
        return decimal_texts(array).cast(_TEXT)
    if types.is_floating(kind):
        return _quoted(array.cast(pa.float64()).cast(_TEXT))
    if types.is_binary(kind):
        return _bytes(array)
    if types.is_struct(kind):
        return _bytes(_mapped(array, _geometry))
    if types.is_list(kind):
        return _bytes(_mapped(array, _vector))
    if types.is_timestamp(kind):
        # TIMESTAMP is UTC, as the session is.
        return _quoted(array.cast(pa.timestamp("us")).cast(_TEXT))
    text = array.cast(_TEXT)
    # Compared with a quoted text, the server would take a DECIMAL as a float.
    return text if column["type"] == "decimal" else _quoted(text)


def _quoted(texts: pa.Array) -> pa.Array:
    return _between("'", pc.replace_substring(texts, "'", "''"), "'")


def _between(before: str, texts: pa.Array, after: str) -> pa.Array:
    first, last, none = (pa.scalar(text, _TEXT) for text in (before, after, ""))
    return pc.binary_join_element_wise(first, texts, last, none)


def _bytes(values: pa.Array) -> pa.Array:
    """Return X'…' of binary values: all digits are made at once."""
    values = values.cast(pa.large_binary())
    if not len(values):
        return values.cast(_TEXT)
    _, offsets, content = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    raw = np.frombuffer(content or b"", np.uint8)[ends[0] : ends[-1]]
    digits = np.empty(2 * len(raw), np.uint8)
    digits[0::2], digits[1::2] = _HEX_DIGITS[raw >> 4], _HEX_DIGITS[raw & 15]
    texts = pa.LargeStringArray.from_buffers(
        len(values), pa.py_buffer(2 * (ends - ends[0])), pa.py_buffer(digits)
    )
    texts = pc.if_else(values.is_valid(), texts, pa.scalar(None, _TEXT))
    return _between("X'", texts, "'")


def _mapped(values: pa.Array, form: Any) -> pa.Array:
    texts = [None if value is None else form(value) for value in values.to_pylist()]
    return pa.array(texts, pa.large_binary())


def _geometry(value: dict[str, Any]) -> bytes:
    """Return a geometry as servers store it."""
    return struct.pack("<I", value["srid"]) + bytes(value["wkb"])


def _vector(value: list[float]) -> bytes:
    return struct.pack(f"<{len(value)}f", *value)


# Above, MariaDB makes a join of a list, and MySQL may scan the table.
_KEYS: Final = 500
_ROWS: Final = 5000


class TableName(NamedTuple):
    """A table at the target."""

    database: str
    table: str

    def __str__(self) -> str:
        """Return `database.table`, for messages."""
        return f"{self.database}.{self.table}"

    @property
    def sql(self) -> str:
        """The name in statements."""
        return quoted_name(self.database, self.table)


class InsertStatement(NamedTuple):
    """A statement that inserts rows."""

    sql: str
    rows: int
    # Values of ENUM that are no label: strict mode refuses them, although the source has them.
    errors_of_enum: int = 0


def text_literal(text: str) -> str:
    """Return a text in quotes, for a session with NO_BACKSLASH_ESCAPES."""
    return f"'{text.replace(chr(39), chr(39) * 2)}'"


def deletes(
    name: TableName, key: Sequence[SchemaColumn], keys: pa.Table, bytes_max: int
) -> Iterator[str]:
    """Yield statements that delete the rows with `keys`.

    A statement has at most `bytes_max` bytes, or one key.
    """
    head = f"DELETE FROM {name.sql} WHERE "
    for start in range(0, keys.num_rows, _KEYS):
        part = keys.slice(start, _KEYS)
        columns = [(quoted_identifier(c["name"]), literals(part[c["name"]], c)) for c in key]
        if len(columns) == 1:
            (column, values) = columns[0]
            parts = _joined(f"{head}{column} IN (", values, ",", ")", bytes_max)
        else:
            pairs = [
                pc.binary_join_element_wise(pa.scalar(column, pa.large_string()), values, _EQUALS)
                for column, values in columns
            ]
            rows = pc.binary_join_element_wise(*pairs, _AND)
            parts = _joined(f"{head}(", rows, ") OR (", ")", bytes_max)
        yield from (sql for sql, _ in parts)


def inserts(
    name: TableName,
    columns: Sequence[SchemaColumn],
    rows: pa.Table,
    bytes_max: int,
    *,
    may_exist: bool,
) -> Iterator[InsertStatement]:
    """Yield statements that insert `rows`; of rows that may exist, only other values are written.

    A row that has the same values is not written: that is how servers execute the statement. A
    statement has at most `bytes_max` bytes, or one row.
    """
    quoted = [quoted_identifier(column["name"]) for column in columns]
    into = f"{name.sql} ({','.join(quoted)}) VALUES ("
    head, tail = f"INSERT INTO {into}", ""
    if may_exist:
        tail = f" ON DUPLICATE KEY UPDATE {','.join(f'{own}=VALUES({own})' for own in quoted)}"
    for start in range(0, rows.num_rows, _ROWS):
        part = rows.slice(start, _ROWS)
        wrong = _errors_of_enum(columns, part)
        if wrong is None:
            yield from _some(head, columns, part, tail, bytes_max)
            continue
        right = pc.equal(wrong, 0)
        yield from _some(head, columns, part.filter(right), tail, bytes_max)
        # VALUES() in the tail is a warning, and here warnings are counted.
        alone = f"REPLACE INTO {into}" if may_exist else head
        for place in range(part.num_rows):
            if not right[place].as_py():
                for statement in _some(alone, columns, part.slice(place, 1), "", bytes_max):
                    yield statement._replace(errors_of_enum=wrong[place].as_py())


def _some(
    head: str, columns: Sequence[SchemaColumn], rows: pa.Table, tail: str, bytes_max: int
) -> Iterator[InsertStatement]:
    if not rows.num_rows:
        return
    values = [literals(rows[column["name"]], column) for column in columns]
    joined = pc.binary_join_element_wise(
        *values, _COMMA, null_handling="replace", null_replacement="NULL"
    )
    for sql, count in _joined(head, joined, "),(", f"){tail}", bytes_max):
        yield InsertStatement(sql, count)


def _joined(
    head: str, parts: pa.Array, separator: str, tail: str, bytes_max: int
) -> Iterator[tuple[str, int]]:
    """Yield statements that have all `parts`, and how many each has.

    A part that does not fit into `bytes_max` is alone in its statement.
    """
    texts: list[str] = parts.to_pylist()
    least = len(f"{head}{tail}".encode())
    begin, size = 0, least
    for place, own in enumerate(pc.binary_length(parts).to_pylist()):
        if begin < place and size + own > bytes_max:
            yield f"{head}{separator.join(texts[begin:place])}{tail}", place - begin
            begin, size = place, least
        size += own + len(separator)
    if texts:
        yield f"{head}{separator.join(texts[begin:])}{tail}", len(texts) - begin


def _errors_of_enum(columns: Sequence[SchemaColumn], rows: pa.Table) -> pa.ChunkedArray | None:
    """Return how many values of each row are ENUM's error value; None if there are none.

    It has the index 0, prints as an empty text, and is no label.
    """
    counts = None
    for column in columns:
        if column["type"] != "enum" or "" in column.get("labels", ("",)):
            continue
        own = pc.fill_null(pc.equal(rows[column["name"]], ""), fill_value=False)
        if pc.any(own).as_py():
            numbers = own.cast(pa.int64())
            counts = numbers if counts is None else pc.add(counts, numbers)
    return counts


_EQUALS: Final = pa.scalar("=", pa.large_string())
_COMMA: Final = pa.scalar(",", pa.large_string())
_AND: Final = pa.scalar(" AND ", pa.large_string())
