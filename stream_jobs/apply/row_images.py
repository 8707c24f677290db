"""The row images of records: an Arrow array for each column, read from all envelopes at once.

Arrow's JSON reader is fast, but it refuses a whole block because of one record that it does not
like. Then each record is read by itself: that finds the wrong one, and takes what Arrow does not
know (an ENUM value without a label is an object, and becomes its JSON text).

Arrow's reader hands its work to threads, and takes as long to begin as to read forty records.
Most tables have fewer in a batch, so these are read in Python, which takes only what Arrow's
reader would take, and leaves everything else to it.

https://arrow.apache.org/docs/python/generated/pyarrow.json.read_json.html
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from types import NoneType
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from connector.foundation.contract import SchemaColumn
from connector.foundation.errors.message import Message
from stream_jobs.apply.table_failures import InvalidRecordError
from stream_jobs.errors import record_errors
from stream_jobs.source.column_types import ColumnType

_TIMES: Final = ("ts_ms", "ts_us")
SOURCE: Final = pa.struct([(name, pa.int64()) for name in _TIMES])
# More records than these are read faster by Arrow.
FEW: Final = 50
# What JSON values of a column are in Python. A number without a fraction is no `float`: JSON knows
# the sign of a zero. Other types are left to Arrow's reader.
_KINDS: Final[dict[pa.DataType, type]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16()), int),
    pa.float64(): float,
    pa.string(): str,
    pa.bool_(): bool,
}


class RowImages(NamedTuple):
    """One image of each record."""

    columns: list[pa.ChunkedArray]  # of the parsed types
    missing: pa.ChunkedArray  # whether the record has no such image
    source: pa.ChunkedArray  # when the source committed it: STRUCT<ts_ms, ts_us>

    @classmethod
    def of_few(
        cls, values: Sequence[bytes], image: str, columns: Sequence[tuple[str, pa.DataType]]
    ) -> "RowImages | None":
        """Read few envelopes; return None if they need a closer look."""
        kinds = [(name, _KINDS.get(kind)) for name, kind in columns]
        try:
            documents = [orjson.loads(value) for value in values]
            rows = _objects(document.get(image) for document in documents)
            sources = _objects(document.get("source") for document in documents)
            # Arrow makes texts of texts alone, but 1 of 1.5 and of a true.
            for name, kind in kinds:
                if kind is not str:
                    _check([row.get(name) for row in rows], kind)
            for name in _TIMES:
                _check([source.get(name) for source in sources], int)
            kind = pa.struct([(image, pa.struct(columns)), ("source", SOURCE)])
            parsed, source = pa.array(documents, kind).flatten()
        except (ValueError, TypeError, AttributeError, OverflowError, pa.ArrowException):
            return None
        missing, source = pa.chunked_array([parsed.is_null()]), pa.chunked_array([source])
        return cls(pa.Table.from_struct_array(parsed).columns, missing, source)


def _objects(items: Iterable[object]) -> list[dict[str, object]]:
    """Return JSON objects, and empty ones for null; raises TypeError for other values."""
    values = list(items)
    _check(values, dict)
    return [value if isinstance(value, dict) else {} for value in values]


def _check(values: Sequence[object], kind: type | None) -> None:
    # A bool is an int for Python, and not for JSON.
    if kind is None or not {kind, NoneType}.issuperset(map(type, values)):
        raise TypeError(kind)


# Bytes of values that are read at once; text of a block has offsets of 32 bits.
_BLOCK_BYTES: Final = 32 * 1024 * 1024
_BRACE: Final = ord("{")


def read_images(
    values: Sequence[bytes], image: str, columns: Sequence[SchemaColumn], schema_id: str
) -> RowImages:
    """Read the image `before` or `after` of each value.

    Raises InvalidRecordError for a value that is not JSON of these columns.
    """
    kinds = [(column["name"], ColumnType.of(column).parsed) for column in columns]
    if len(values) <= FEW:
        few = RowImages.of_few(values, image, kinds)
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
    images = table[image]
    return RowImages(images.flatten(), pc.is_null(images), table["source"])


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
            why = Message(record_errors.NOT_JSON, {"schema": schema_id})
            raise InvalidRecordError(place, why) from error
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
        return [_typed(item, kind.value_type) for item in value]
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
