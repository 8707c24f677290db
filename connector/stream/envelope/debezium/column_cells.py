"""The form of a column in the profile `debezium`: in row images, in SELECTs, and as a value.

Only columns whose text is not that of the profile `exact` have a form here. The three ways give
the same text: row images are read as the server prints them, and then given their form.
"""

from collections.abc import Callable
from typing import Any, Final, final

from librt.strings import BytesWriter, read_i32_le
from mypy_extensions import i64

from connector.binlog.columns.column import ColumnReader, EnumIndex, PrintedReader
from connector.binlog.columns.integers import EnumReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader, GeometryReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import quoted
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells import select_cells
from connector.stream.envelope.cells.image_cells import CellWriter
from connector.stream.envelope.cells.values import value_encoder
from connector.stream.envelope.debezium import number_cells, string_cells, temporal_cells
from connector.stream.envelope.debezium.profile import DebeziumProfile

_NULL: Final = b"null"

_MILLIS_DIGITS: Final = 3
_MICROS_DIGITS: Final = 6
_NANOS_DIGITS: Final = 9
# Types whose values are bytes.
BINARY: Final = frozenset({"binary", "varbinary", "blob"})
# Types whose values are strings of characters.
TEXTS: Final = frozenset({"char", "varchar", "text", "set"})
STRINGS: Final = TEXTS | {"enum", "json"}


def printed_cell(column: SchemaColumn, form: DebeziumProfile) -> select_cells.SelectCell | None:
    """Return what writes the value that the server prints; None if the form is that of `exact`."""
    kind = column["type"]
    if kind == "decimal":
        return _decimal_cell(form)
    if kind == "bigint" and column.get("unsigned", False):
        return (
            number_cells.UnscaledCell()
            if form.unsigned_bigints == "precise"
            else number_cells.SignedBigintCell()
        )
    if kind in ("float", "double"):
        return number_cells.JavaNumberCell(single=kind == "float")
    if kind == "year":
        return number_cells.YearCell()
    if kind == "vector":
        return number_cells.JavaVectorCell()
    if kind == "bit":
        bits = column.get("length", 1)
        return None if bits == 1 else number_cells.LittleEndianBitsCell(bits)
    return _temporal_cell(column, form)


def binary_cell(form: DebeziumProfile) -> select_cells.SelectCell | None:
    """Return what writes stored bytes; None if the form is base64, that of `exact`."""
    if form.binary == "hex":
        return string_cells.HexCell()
    return string_cells.UrlSafeCell() if form.binary == "base64-url-safe" else None


def _decimal_cell(form: DebeziumProfile) -> select_cells.SelectCell | None:
    if form.decimals == "precise":
        return number_cells.UnscaledCell()
    return number_cells.RoundedCell() if form.decimals == "double" else None


def _temporal_cell(column: SchemaColumn, form: DebeziumProfile) -> select_cells.SelectCell | None:
    kind = column["type"]
    if kind == "timestamp":
        # Every form of times has the same text.
        return temporal_cells.ZonedTimestampCell(_zero(column, temporal_cells.EPOCH_TEXT))
    if form.times == "isostring":
        return _iso_cell(column, form)
    if kind == "date":
        return temporal_cells.EpochDaysCell(_zero(column, temporal_cells.EPOCH_NUMBER))
    if kind == "datetime":
        digits = _digits(column, form)
        return temporal_cells.EpochDatetimeCell(
            digits,
            _zero(column, temporal_cells.EPOCH_NUMBER),
            temporal_cells.OutOfRangeTime(column, form),
        )
    if kind != "time":
        return None
    if form.times == "connect":
        return temporal_cells.TimeOfDayCell(temporal_cells.OutOfRangeTime(column, form))
    return temporal_cells.DurationCell(
        _NANOS_DIGITS if form.times == "nanoseconds" else _MICROS_DIGITS
    )


def _iso_cell(column: SchemaColumn, form: DebeziumProfile) -> select_cells.SelectCell | None:
    kind = column["type"]
    if kind == "date":
        return temporal_cells.IsoDateCell(_zero(column, temporal_cells.EPOCH_DATE))
    if kind == "datetime":
        return temporal_cells.IsoDatetimeCell(_zero(column, temporal_cells.EPOCH_TEXT))
    return (
        temporal_cells.IsoTimeCell(temporal_cells.OutOfRangeTime(column, form))
        if kind == "time"
        else None
    )


def _digits(column: SchemaColumn, form: DebeziumProfile) -> int:
    """Return the digits after the second in the number of a DATETIME."""
    if form.times == "microseconds":
        return _MICROS_DIGITS
    if form.times == "nanoseconds":
        return _NANOS_DIGITS
    if form.times == "connect" or column.get("fraction", 0) <= _MILLIS_DIGITS:
        return _MILLIS_DIGITS
    return _MICROS_DIGITS


def _zero(column: SchemaColumn, epoch: bytes) -> bytes:
    """Return what is written for a date with a zero part."""
    return _NULL if column["nullable"] else epoch


def debezium_writer(
    column: SchemaColumn, reader: ColumnReader, form: DebeziumProfile, *, point: bool
) -> CellWriter | None:
    """Return the writer for the cells of `column`; None if its form is that of `exact`.

    `exact` has that form; `point`: the column is a POINT, not any geometry.
    """
    if isinstance(reader, GeometryReader):
        return _ShapeWriter(reader, point=point)
    if isinstance(reader, EnumReader):
        return string_cells.EscapedWriter(_LabelWriter(reader))
    if isinstance(reader, DocumentReader):
        return string_cells.CompactDocumentWriter(reader)
    if isinstance(reader, CharacterReader):
        if column["type"] not in BINARY:
            return None
        binary = binary_cell(form)
        return None if binary is None else string_cells.BinaryTextWriter(reader, binary)
    cell = printed_cell(column, form)
    if cell is None or not isinstance(reader, PrintedReader):
        return None
    return _PrintedWriter(reader, cell)


@final
class _PrintedWriter(CellWriter):
    """A column whose printed text has a form of its own."""

    __slots__ = ("_cell", "_printed", "_reader")

    def __init__(self, reader: PrintedReader, cell: select_cells.SelectCell) -> None:
        self._reader = reader
        self._cell = cell
        self._printed = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        printed = self._printed
        printed.truncate(0)
        self._reader.put(image, printed)
        text = printed.getvalue()
        self._cell.put(out, text, 0, len(text))


@final
class _LabelWriter(CellWriter):
    """ENUM: the label; NULL for an index that has none."""

    __slots__ = ("_labels", "_reader")

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader
        self._labels = [quoted(label) for label in reader.labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        index = self._reader.read_index(image)
        labels = self._labels
        out.write(labels[index] if index < len(labels) else _NULL)


@final
class _ShapeWriter(CellWriter):
    """A geometry; a POINT has its coordinates, too."""

    __slots__ = ("_number", "_point", "_reader")

    def __init__(self, reader: GeometryReader, *, point: bool) -> None:
        self._reader = reader
        self._point = point
        self._number = number_cells.JavaNumberCell()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        stored = self._reader.read_stored(image)
        srid = stored.read_uint32()
        if self._point:
            number_cells.put_point(out, stored.read_rest(), srid, self._number)
        else:
            number_cells.put_shape(out, stored.read_rest(), srid)


_SRID_LENGTH: Final = 4
_WORD_MASK: Final = 0xFFFF_FFFF


def debezium_cell(
    column: SchemaColumn, form: DebeziumProfile, *, point: bool
) -> select_cells.SelectCell | None:
    """Return the writer for the cells of `column`; None if its form is that of `exact`."""
    kind = column["type"]
    if kind == "geometry":
        return _ShapeCell(column["name"], point=point)
    if kind in BINARY:
        return binary_cell(form)
    cell = printed_cell(column, form)
    if cell is None:
        return None
    if kind == "float":
        return number_cells.RewrittenCell(select_cells.FloatCell(), cell)
    if kind == "double":
        return number_cells.RewrittenCell(select_cells.DoubleCell(), cell)
    if kind == "vector":
        return number_cells.RewrittenCell(select_cells.VectorCell(column["name"]), cell)
    if kind == "bit":
        return number_cells.RewrittenCell(select_cells.BitsCell(), _InQuotes(cell))
    return cell


@final
class _InQuotes(select_cells.SelectCell):
    """A cell whose text comes in quotes."""

    __slots__ = ("_cell",)

    def __init__(self, cell: select_cells.SelectCell) -> None:
        self._cell = cell

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        self._cell.put(out, data, start + 1, end - 1)


@final
class _ShapeCell(select_cells.SelectCell):
    """A geometry in its stored form: SRID u32, WKB."""

    __slots__ = ("_name", "_number", "_point")

    def __init__(self, name: str, *, point: bool) -> None:
        self._name = name
        self._point = point
        self._number = number_cells.JavaNumberCell()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        if end - start < _SRID_LENGTH:
            raise UnsupportedChange(
                record_errors.GEOMETRY_SIZE, column=self._name, length=end - start
            )
        srid = i64(read_i32_le(data, start)) & _WORD_MASK
        wkb = data[start + _SRID_LENGTH : end]
        if self._point:
            number_cells.put_point(out, wkb, srid, self._number)
        else:
            number_cells.put_shape(out, wkb, srid)


def debezium_encoder(
    column: SchemaColumn, form: DebeziumProfile, *, point: bool
) -> Callable[[Any], str]:
    """Return the function that writes a non-NULL value of `column` as JSON.

    Raises UnsupportedChange for a type that the envelope cannot hold.
    """
    kind = column["type"]
    exact = value_encoder(column)
    if kind == "geometry":
        return _point if point else _shape
    if kind == "json":
        return lambda value: string_cells.with_escapes(exact(_compact(value)))
    if kind in STRINGS:
        return lambda value: (
            "null" if isinstance(value, EnumIndex) else string_cells.with_escapes(exact(value))
        )
    cell = binary_cell(form) if kind in BINARY else printed_cell(column, form)
    if cell is None:
        return exact

    def encode(value: Any) -> str:
        if isinstance(value, bytes):
            text = value
        else:
            # Decimals and times are text; numbers in quotes are not needed as such.
            text = (value if isinstance(value, str) else exact(value).strip('"')).encode()
        out = BytesWriter()
        cell.put(out, text, 0, len(text))
        return out.getvalue().decode()

    return encode


def _compact(document: Any) -> Any:
    if not isinstance(document, str):
        return document
    out = BytesWriter()
    string_cells.put_compact(out, document.encode())
    return out.getvalue().decode()


def _point(value: Any) -> str:
    out = BytesWriter()
    number_cells.put_point(out, value.wkb, value.srid, number_cells.JavaNumberCell())
    return out.getvalue().decode()


def _shape(value: Any) -> str:
    out = BytesWriter()
    number_cells.put_shape(out, value.wkb, value.srid)
    return out.getvalue().decode()
