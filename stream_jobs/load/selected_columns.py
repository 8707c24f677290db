"""The cells of a SELECT become the columns of a mirror, whole columns at a time.

The stored values are those that the records of the same rows would give. Most types are converted
by Arrow from the texts that the server prints. For the others, and for texts that Arrow does not
take, the writer of records makes JSON of each cell, which is read like a record.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from librt.strings import BytesWriter

from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import quoted
from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.replication.protocol.result_set import CellRows
from connector.stream.envelope.cells.labels import has_uncertain_labels
from connector.stream.envelope.cells.selected import selected_reader
from connector.stream.envelope.row_writer import cell_writer
from connector.stream.envelope.schemas.table_schema import TableSchema as SourceSchema
from stream_jobs.apply.column_values import ZeroDates, stored_columns
from stream_jobs.apply.row_images import SOURCE, RowImages, read_images
from stream_jobs.source.column_types import ColumnType, mask_of

# Character sets whose stored bytes are UTF-8.
_UTF8: Final = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii"})
_BYTES: Final = frozenset({"binary", "varbinary", "blob"})
_TEXTS: Final = frozenset({"char", "varchar", "text"})
_NUMBERS: Final = frozenset({*INTEGER_TYPES, "year", "double"})
_PRINTED: Final = frozenset({"decimal", "date", "datetime", "time", "json"})


class SelectedCells:
    """The cells of the rows of a SELECT."""

    def __init__(self, rows: CellRows, width: int) -> None:
        """Take the rows, which have `width` cells each; `rows` has none then."""
        self.rows = int(rows.count)
        data, bounds, nulls = rows.take()
        self._width = width
        self._nulls = np.frombuffer(nulls, np.bool_)
        if len(self._nulls) != self.rows * width:
            raise ValueError(width)
        # Between two cells lies what gives the length of the second: each other element is a cell.
        count = max(0, 2 * self.rows * width - 1)
        buffers = [None, pa.py_buffer(bounds or bytes(8)), pa.py_buffer(data)]
        self._elements = pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, buffers)

    def column(self, place: int) -> pa.LargeBinaryArray:
        """Return the cells of a column."""
        places = 2 * (np.arange(self.rows, dtype=np.int64) * self._width + place)
        nulls = self._nulls[place :: self._width]
        return self._elements.take(pa.array(places, mask=nulls if nulls.any() else None))

    def of_last(self, places: Sequence[int]) -> list[bytes]:
        """Return cells of the last row, none of which is NULL."""
        first = (self.rows - 1) * self._width
        return [self._elements[2 * (first + place)].as_py() for place in places]


def mirror_columns(
    cells: SelectedCells,
    source: SourceSchema,
    columns: Sequence[SchemaColumn],
    zero_dates: ZeroDates,
) -> pa.Table:
    """Return `columns` of a mirror, some of those of `source`, which the cells have in order.

    Raises InvalidRecordError for the first row that cannot be stored, and UnsupportedChange for a
    value that no record could have.
    """
    places = {column["name"]: place for place, column in enumerate(source.columns)}
    stored, others, parsed = {}, [], []
    for column in columns:
        place = places[column["name"]]
        values = cells.column(place)
        if column["type"] in _BYTES and mask_of(column) is None:
            stored[column["name"]] = pa.chunked_array([values.cast(pa.binary())])
        else:
            others.append(column)
            parsed.append(pa.chunked_array([_parsed(source, place, values)]))
    missing = pa.chunked_array([np.zeros(cells.rows, np.bool_)])
    images = RowImages(parsed, missing, pa.chunked_array([pa.nulls(cells.rows, SOURCE)]))
    converted = stored_columns(images, others, zero_dates)
    stored |= {column["name"]: own for column, own in zip(others, converted, strict=True)}
    return pa.table({column["name"]: stored[column["name"]] for column in columns})


def _parsed(source: SourceSchema, place: int, cells: pa.LargeBinaryArray) -> pa.Array:
    """Return the values as they would be read from records."""
    column = source.columns[place]
    kind = ColumnType.of_source(column).parsed
    convert = _converter(column)
    if convert is not None:
        try:
            values = convert(cells.cast(pa.large_string()), column)
            return values if values.type == kind else values.cast(kind)
        except pa.ArrowInvalid:
            # The writer of records knows the value, or says what is wrong with it.
            pass
    return _by_records(source, column, cells)


_Converter = Callable[[pa.Array, SchemaColumn], pa.Array]


def _converter(column: SchemaColumn) -> _Converter | None:
    """Return what converts the texts of a column; None if only the writer of records can."""
    kind = column["type"]
    if kind in _TEXTS:
        return _as_they_are if column.get("charset") in _UTF8 else None
    if kind in _NUMBERS or kind in _PRINTED:
        return _as_they_are
    if kind == "enum":
        return _as_they_are if has_uncertain_labels(column) else _labels
    return {"float": _floats, "timestamp": _timestamps}.get(kind)


def _as_they_are(texts: pa.Array, _column: SchemaColumn) -> pa.Array:
    return texts


def _floats(texts: pa.Array, _column: SchemaColumn) -> pa.Array:
    # The server prints the DOUBLE of the same value.
    return texts.cast(pa.float64())


def _timestamps(texts: pa.Array, _column: SchemaColumn) -> pa.Array:
    parts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    end = pa.scalar("Z", parts.type)
    return pc.binary_join_element_wise(parts, end, pa.scalar("", parts.type))


def _labels(texts: pa.Array, column: SchemaColumn) -> pa.Array:
    labels = pa.array(["", *column.get("labels", [])], pa.string())
    numbers = texts.cast(pa.int64())
    if len(numbers) > numbers.null_count and pc.max(numbers).as_py() >= len(labels):
        # An index without a label is no text.
        raise pa.ArrowInvalid(column["name"])
    return labels.take(numbers)


def _by_records(source: SourceSchema, column: SchemaColumn, cells: Any) -> pa.Array:
    point = column["name"] in source.points
    writer = cell_writer(column, selected_reader(column), None, point=point)
    before = b'{"after":{' + quoted(column["name"]) + b":"
    values = []
    for cell in cells.to_pylist():
        out = BytesWriter()
        out.write(before)
        if cell is None:
            out.write(b"null")
        else:
            writer.put(PayloadReader(cell), out)
        out.write(b"}}")
        values.append(out.getvalue())
    images = read_images(values, "after", [column], source.schema_id)
    return images.columns[0].combine_chunks()
