"""The form of each family of columns in the profile `debezium`, for the log and for SELECTs.

Where a family has no form of its own, its text is that of the profile `exact`. Printed values are
read as the server prints them, and then given their form.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, final

from librt.strings import BytesWriter

from connector.binlog.columns.cell_writers import CellWriter, EnumWriter
from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    ColumnReader,
    Family,
    PrintedReader,
)
from connector.binlog.columns.integers import EnumReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader, GeometryReader
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.contract import SchemaColumn
from connector.stream.envelope.cells.selected import TextDocumentReader, TextReader
from connector.stream.envelope.cells.writers import (
    TextForm,
    exact_writer,
    quoted_labels,
    require_form,
)
from connector.stream.envelope.debezium import number_cells, string_cells, temporal_cells
from connector.stream.envelope.debezium.profile import DebeziumProfile

_NULL: Final = b"null"

_MILLIS_DIGITS: Final = 3
_MICROS_DIGITS: Final = 6
_NANOS_DIGITS: Final = 9
# Types whose values are strings of characters.
STRINGS: Final = (*CHARACTERS, Family.SET, Family.ENUM, Family.JSON)


def debezium_writer(
    column: SchemaColumn, reader: ColumnReader, form: DebeziumProfile, *, point: bool
) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads.

    `point`: the column is a POINT, not any geometry. Raises UnsupportedChange for a type that the
    envelope cannot hold.
    """
    require_form(column)
    if point:
        assert isinstance(reader, GeometryReader)
        return _ShapeWriter(reader, point=True)
    return DEBEZIUM[column["type"]](column, reader, form)


@final
class _FormWriter(CellWriter):
    """A column whose printed text has a form of its own."""

    __slots__ = ("_form", "_printed", "_reader")

    def __init__(self, reader: PrintedReader, form: TextForm) -> None:
        self._reader = reader
        self._form = form
        self._printed = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        printed = self._printed
        printed.truncate(0)
        self._reader.put(image, printed)
        text = printed.getvalue()
        self._form.put(out, text, 0, len(text))


@final
class _TextFormWriter(CellWriter):
    """A cell of a SELECT, which is the printed text."""

    __slots__ = ("_form",)

    def __init__(self, form: TextForm) -> None:
        self._form = form

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        self._form.put(out, image.data, image.offset, image.end)
        image.offset = image.end


def _in_form(reader: PrintedReader, form: TextForm) -> CellWriter:
    return _TextFormWriter(form) if isinstance(reader, TextReader) else _FormWriter(reader, form)


@final
class _ShapeWriter(CellWriter):
    """A geometry; a POINT has its coordinates, too."""

    __slots__ = ("_number", "_point", "_reader")

    def __init__(self, reader: GeometryReader, *, point: bool) -> None:
        self._reader = reader
        self._point = point
        self._number = number_cells.JavaNumberForm()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        stored = self._reader.read_stored(image)
        srid = stored.read_uint32()
        if self._point:
            number_cells.put_point(out, stored.read_rest(), srid, self._number)
        else:
            number_cells.put_shape(out, stored.read_rest(), srid)


def _exact(column: SchemaColumn, reader: ColumnReader, _: DebeziumProfile) -> CellWriter:
    return exact_writer(column, reader)


def _escaped(column: SchemaColumn, reader: ColumnReader, _: DebeziumProfile) -> CellWriter:
    return string_cells.EscapedWriter(exact_writer(column, reader))


def _bigint(column: SchemaColumn, reader: PrintedReader, form: DebeziumProfile) -> CellWriter:
    if not column.get("unsigned", False):
        return exact_writer(column, reader)
    if form.unsigned_bigints == "precise":
        return _in_form(reader, number_cells.UnscaledForm())
    return _in_form(reader, number_cells.SignedBigintForm())


def _decimal(column: SchemaColumn, reader: PrintedReader, form: DebeziumProfile) -> CellWriter:
    if form.decimals == "precise":
        return _in_form(reader, number_cells.UnscaledForm())
    if form.decimals == "double":
        return _in_form(reader, number_cells.RoundedForm())
    return exact_writer(column, reader)


def _float(column: SchemaColumn, reader: PrintedReader, _: DebeziumProfile) -> CellWriter:
    single = column["type"] == Family.FLOAT
    return _in_form(reader, number_cells.JavaNumberForm(single=single))


def _year(_: SchemaColumn, reader: PrintedReader, __: DebeziumProfile) -> CellWriter:
    return _in_form(reader, number_cells.YearForm())


def _vector(_: SchemaColumn, reader: PrintedReader, __: DebeziumProfile) -> CellWriter:
    return _in_form(reader, number_cells.JavaVectorForm())


def _bits(column: SchemaColumn, reader: PrintedReader, _: DebeziumProfile) -> CellWriter:
    bits = column.get("length", 1)
    if bits == 1:
        return exact_writer(column, reader)
    return _in_form(reader, number_cells.LittleEndianBitsForm(bits))


def _enum(column: SchemaColumn, reader: ColumnReader, _: DebeziumProfile) -> CellWriter:
    if isinstance(reader, EnumReader):
        return string_cells.EscapedWriter(EnumWriter(reader, quoted_labels(reader), _NULL, None))
    return string_cells.EscapedWriter(exact_writer(column, reader))


def _binary(column: SchemaColumn, reader: CharacterReader, form: DebeziumProfile) -> CellWriter:
    if form.binary == "hex":
        return string_cells.BinaryTextWriter(reader, string_cells.HexForm())
    if form.binary == "base64-url-safe":
        return string_cells.BinaryTextWriter(reader, string_cells.UrlSafeForm())
    return exact_writer(column, reader)


def _json(column: SchemaColumn, reader: DocumentReader, _: DebeziumProfile) -> CellWriter:
    # Debezium takes the text of a SELECT as it is.
    if isinstance(reader, TextDocumentReader):
        return string_cells.EscapedWriter(exact_writer(column, reader))
    return string_cells.CompactDocumentWriter(reader)


def _shape(_: SchemaColumn, reader: GeometryReader, __: DebeziumProfile) -> CellWriter:
    return _ShapeWriter(reader, point=False)


def _timestamp(column: SchemaColumn, reader: PrintedReader, _: DebeziumProfile) -> CellWriter:
    # Every form of times has the same text.
    zero = _zero(column, temporal_cells.EPOCH_TEXT)
    return _in_form(reader, temporal_cells.ZonedTimestampForm(zero))


def _date(column: SchemaColumn, reader: PrintedReader, form: DebeziumProfile) -> CellWriter:
    if form.times == "isostring":
        zero = _zero(column, temporal_cells.EPOCH_DATE)
        return _in_form(reader, temporal_cells.IsoDateForm(zero))
    zero = _zero(column, temporal_cells.EPOCH_NUMBER)
    return _in_form(reader, temporal_cells.EpochDaysForm(zero))


def _datetime(column: SchemaColumn, reader: PrintedReader, form: DebeziumProfile) -> CellWriter:
    if form.times == "isostring":
        zero = _zero(column, temporal_cells.EPOCH_TEXT)
        return _in_form(reader, temporal_cells.IsoDatetimeForm(zero))
    zero = _zero(column, temporal_cells.EPOCH_NUMBER)
    unfit = temporal_cells.OutOfRangeTime(column, form)
    return _in_form(
        reader, temporal_cells.EpochDatetimeForm(_datetime_digits(column, form), zero, unfit)
    )


def _time(column: SchemaColumn, reader: PrintedReader, form: DebeziumProfile) -> CellWriter:
    if form.times == "isostring":
        unfit = temporal_cells.OutOfRangeTime(column, form)
        return _in_form(reader, temporal_cells.IsoTimeForm(unfit))
    if form.times == "connect":
        unfit = temporal_cells.OutOfRangeTime(column, form)
        return _in_form(reader, temporal_cells.TimeOfDayForm(unfit))
    digits = _NANOS_DIGITS if form.times == "nanoseconds" else _MICROS_DIGITS
    return _in_form(reader, temporal_cells.DurationForm(digits))


def _datetime_digits(column: SchemaColumn, form: DebeziumProfile) -> int:
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


# Any stands for the reader of the family.
_Choice: TypeAlias = Callable[[SchemaColumn, Any, DebeziumProfile], CellWriter]
DEBEZIUM: Final[dict[str, _Choice]] = {
    **dict.fromkeys(INTEGERS, _exact),
    **dict.fromkeys(CHARACTERS, _escaped),
    **dict.fromkeys(BINARIES, _binary),
    **dict.fromkeys(PRINTED, _exact),
    Family.BIGINT: _bigint,
    Family.DECIMAL: _decimal,
    Family.FLOAT: _float,
    Family.DOUBLE: _float,
    Family.BIT: _bits,
    Family.ENUM: _enum,
    Family.SET: _escaped,
    Family.DATE: _date,
    Family.DATETIME: _datetime,
    Family.TIMESTAMP: _timestamp,
    Family.TIME: _time,
    Family.YEAR: _year,
    Family.JSON: _json,
    Family.GEOMETRY: _shape,
    Family.VECTOR: _vector,
}
