"""Keys of rows as text: conditions in SQL, keys of records in a request, and keys in a state file.

A key is used in a request only if the job would read its text as the key of the mirror.
"""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.foundation.errors import SourceRefused, UnsupportedChange
from connector.stream.snapshot.keyset import listed_keys
from connector.stream.source.selected_table import KeyColumn
from stream_jobs.errors import MirrorError
from stream_jobs.source.column_types import ColumnType
from stream_jobs.source.table_schema import TableSchema
from verification.digests import Digest, digest_pairs, row_digests
from verification.source_table import UNKNOWN_KEY, RowKey, SourceTable

_TEXTS = frozenset({"char", "varchar", "text", "enum", "set"})


def condition_of_keys(
    columns: Sequence[KeyColumn],
    keys: Iterable[Sequence[object]],
    literal: Callable[[KeyColumn, object], str],
) -> str:
    """Return the condition that any of `keys` meets; a key has the values of `columns`."""
    if len(columns) == 1:
        values = ", ".join(literal(columns[0], key[0]) for key in keys)
        return f"{columns[0].expression} IN ({values})"
    return " OR ".join(
        "(" + " AND ".join(
            f"{column.expression} = {literal(column, value)}"
            for column, value in zip(columns, key, strict=True)
        ) + ")"
        for key in keys
    )  # fmt: skip


def select_literal(column: KeyColumn, value: object) -> str:
    """Return a value as a SELECT compares it with the column, whatever its characters are."""
    if isinstance(value, bytes):
        return column.literal(value)
    if isinstance(value, str):
        # Backslashes and quotes have no meaning in hexadecimal digits.
        text = f"X'{value.encode().hex()}'"
        return f"_utf8mb4 {text}" if column.type in _TEXTS else f"CAST({text} AS CHAR)"
    if isinstance(value, float):
        return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
    return plain_literal(value)


def plain_literal(value: object) -> str:
    """Return a value that is neither a text nor bytes."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, datetime):
        return f"'{value.replace(tzinfo=None).isoformat(' ')}'"
    if isinstance(value, date):
        return f"'{value.isoformat()}'"
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


_NUMBERS: Final = frozenset({*INTEGER_TYPES, "bit", "year"})
_MOMENTS: Final = frozenset({"datetime", "timestamp"})
_SECONDS: Final = len("2026-01-01 00:00:00")
_NO_KEYS = (ValueError, TypeError, AttributeError, MirrorError, SourceRefused, UnsupportedChange)


def record_keys(
    source: SourceTable, names: Sequence[str], keys: Mapping[Digest, RowKey]
) -> list[str] | None:
    """Return the texts of `keys`, whose columns are `names`; None if one of them has none."""
    schema = source.selected.schema
    columns = [schema.columns[index] for index in schema.key_indexes]
    if UNKNOWN_KEY in keys.values():
        return None
    try:
        texts = [_text(columns, key) for key in keys.values()]
        listed_keys(source.selected, texts)
        images = [f'{{"after":{text}}}'.encode() for text in texts]
        read = digest_pairs(row_digests(source.typed(images, "after", names), names))
    except _NO_KEYS:
        # The mirror holds a value that the source cannot have, or the key cannot be listed.
        return None
    return texts if read == list(keys) else None


def _text(columns: Sequence[SchemaColumn], key: RowKey) -> str:
    values = {
        column["name"]: _json_value(column, value)
        for column, value in zip(columns, key, strict=True)
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _json_value(column: SchemaColumn, value: Any) -> object:
    """Return a value of the mirror as the record's key has it, for types that can be listed."""
    kind = column["type"]
    if kind in _NUMBERS:
        if kind == "bit" and column.get("length") == 1:
            return bool(value)
        is_text = kind == "bit" or (kind == "bigint" and column.get("unsigned"))
        return str(int(value)) if is_text else int(value)
    if kind == "decimal":
        return value if isinstance(value, str) else format(value, "f")
    if kind == "date":
        return value.isoformat()
    if kind in _MOMENTS:
        digits = column.get("fraction", 0)
        text = value.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
        text = text[: _SECONDS + digits + 1] if digits else text[:_SECONDS]
        return text if kind == "datetime" else f"{text.replace(' ', 'T')}Z"
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def encode_keys(keys: Sequence[RowKey]) -> str:
    """Return keys as text; all have as many values."""
    columns = [pa.array(values) for values in zip(*keys, strict=True)]
    data = pa.table(columns, names=[str(place) for place in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return base64.b64encode(sink.getvalue()).decode()


def decode_keys(text: str, schema: TableSchema) -> dict[Digest, RowKey]:
    """Return what `write_keys` got for keys of the table with this schema."""
    data = pa.ipc.open_stream(base64.b64decode(text)).read_all()
    names = schema.key
    kinds = [ColumnType.of(schema.by_name[name]).stored for name in names]
    columns = [
        pa.array(values.to_pylist(), kind) for values, kind in zip(data.columns, kinds, strict=True)
    ]
    typed = pa.table(columns, names=list(names))
    keys = list(zip(*(values.to_pylist() for values in columns), strict=True))
    return dict(zip(digest_pairs(row_digests(typed, names)), keys, strict=True))
