"""Envelopes become one Arrow array for each column of the row image, all records at once.

Arrow's JSON reader is fast, and refuses a whole block for one record that it does not like. Then
each record is read by itself: that finds the wrong one, and takes what Arrow does not know (an
ENUM value without a label is an object, and becomes its JSON text).

https://arrow.apache.org/docs/python/generated/pyarrow.json.read_json.html
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from connector.errors import mirror_records
from connector.errors.message import Message
from stream_jobs.apply.images import FEW, SOURCE, Images
from stream_jobs.apply.problems import WrongRecordError
from stream_jobs.schema.column_types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.contract import SchemaColumn

# Bytes of values that are read at once; text of a block has offsets of 32 bits.
_BLOCK_BYTES: Final = 32 * 1024 * 1024
_BRACE: Final = ord("{")


def read_images(
    values: Sequence[bytes], image: str, columns: Sequence[SchemaColumn], schema_id: str
) -> Images:
    """Read the image `before` or `after` of each value.

    Raises WrongRecordError for a value that is not JSON of these columns.
    """
    kinds = [(column["name"], ColumnType.of(column).parsed) for column in columns]
    if len(values) <= FEW:
        few = Images.of_few(values, image, kinds)
        if few is not None:
            return few
    schema = pa.schema([(image, pa.struct(kinds)), ("source", SOURCE)])
    tables = []
    for start, end in _blocks(values):
        block = values[start:end]
        table = _read_block(block, schema)
        if table is None:
            table = _read_each(block, schema, start, schema_id)
        tables.append(table)
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
    found = table[image]
    return Images(found.flatten(), pc.is_null(found), table["source"])


def _blocks(values: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    start = size = 0
    for place, value in enumerate(values):
        size += len(value)
        if size >= _BLOCK_BYTES:
            yield start, place + 1
            start, size = place + 1, 0
    if start < len(values) or not values:
        yield start, len(values)


def _read_block(values: Sequence[bytes], schema: pa.Schema) -> pa.Table | None:
    """Return a row for each value; None if they need a closer look."""
    if not values:
        return schema.empty_table()
    text = b"\n".join(values)
    # Arrow takes rows apart at line ends, and does not look at the encoding.
    if text.count(b"\n") != len(values) - 1:
        return None
    starts = np.fromiter(accumulate((len(value) + 1 for value in values[:-1]), initial=0), np.int64)
    first = np.frombuffer(text + b"\n", np.uint8)[starts]
    # An empty line is no row; with this, no value stands for two rows and another for none.
    if not (first == _BRACE).all():
        return None
    try:
        if not text.isascii():
            text.decode()
        table = pj.read_json(
            pa.BufferReader(text),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    return table if table.num_rows == len(values) else None


def _read_each(values: Sequence[bytes], schema: pa.Schema, first: int, schema_id: str) -> pa.Table:
    rows = []
    for place, value in enumerate(values, first):
        try:
            rows.append(
                {field.name: _typed(_loaded(value, field.name), field.type) for field in schema}
            )
        except (ValueError, TypeError, RecursionError) as error:
            why = Message(mirror_records.NOT_JSON, {"schema": schema_id})
            raise WrongRecordError(place, why) from error
    return pa.Table.from_pylist(rows, schema=schema)


def _loaded(value: bytes, name: str) -> Any:
    if not value:
        # There is no image, and no text that could be wrong.
        return None
    document = json.loads(value)
    if not isinstance(document, dict):
        raise TypeError(type(document).__name__)
    return document.get(name)


def _typed(value: Any, kind: pa.DataType) -> Any:
    """Return `value` if it is a JSON value of `kind`; raises ValueError or TypeError if not."""
    types = pa.types
    if value is None:
        return None
    if types.is_struct(kind) and isinstance(value, dict):
        return {field.name: _typed(value.get(field.name), field.type) for field in kind}
    if types.is_list(kind) and isinstance(value, list):
        return [_typed(each, kind.value_type) for each in value]
    if types.is_string(kind):
        return _text(value)
    if types.is_boolean(kind) and isinstance(value, bool):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if types.is_floating(kind) and is_number:
        return pa.scalar(float(value), kind).as_py()
    if types.is_integer(kind) and is_number and isinstance(value, int):
        try:
            return pa.scalar(value, kind).as_py()
        except (pa.ArrowInvalid, OverflowError) as error:
            raise ValueError(kind) from error
    raise TypeError(kind)


def _text(value: Any) -> str:
    """Return a text; that of an object is its JSON."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    # A half of a surrogate pair is no text.
    value.encode()
    return value
