"""A column of a table map: its type, the forms of its values, and the interface of their readers.

The type byte and its metadata are always in the log. Signedness, collation and geometry type come
with binlog_row_metadata=MINIMAL, everything else with FULL. The server gives ENUM and SET the type
STRING and puts the real one into the metadata.

*Values.* Five things that are not a value each have their own form: NULL is `None`, an empty SET is
`""`, a column that the row image leaves out is `ABSENT`, a zero date is MySQL's text for it, and an
ENUM index without a label is an `EnumIndex`. A character column is `str`. It is `bytes`, as stored,
if the log does not name the character set, or if the bytes are not text of it.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
"""

from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from typing import Final, final

from librt.strings import BytesWriter

from connector.binlog.character_sets import BINARY_COLLATION, charset_of
from connector.binlog.payload_reader import PayloadReader


class ColumnType(IntEnum):
    """Every type that a TABLE_MAP_EVENT or its metadata may name."""

    DECIMAL = 0  # before 5.0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7  # before 5.6; MariaDB with mysql56_temporal_format=OFF
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11  # as TIMESTAMP
    DATETIME = 12  # as TIMESTAMP
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    TYPED_ARRAY = 20  # of hidden columns of multi-valued indexes (8.0.17)
    BLOB_COMPRESSED = 140  # MariaDB
    VARCHAR_COMPRESSED = 141  # MariaDB
    VECTOR = 242  # 9.0
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


# The types that may be UNSIGNED.
NUMERIC_TYPES = frozenset(
    {
        ColumnType.TINY,
        ColumnType.SHORT,
        ColumnType.INT24,
        ColumnType.LONG,
        ColumnType.LONGLONG,
        ColumnType.DECIMAL,
        ColumnType.NEWDECIMAL,
        ColumnType.FLOAT,
        ColumnType.DOUBLE,
        ColumnType.YEAR,
    }
)


def column_type_name(code: int) -> str:
    """Return MySQL's name of a type, or `column type n` for a number without one."""
    try:
        return ColumnType(code).name
    except ValueError:
        return f"column type {code}"


class Family(StrEnum):
    """What a value is, whatever its bytes are: each form of output has one writer for each.

    The texts are the types of columns in records.
    """

    TINYINT = "tinyint"
    SMALLINT = "smallint"
    MEDIUMINT = "mediumint"
    INT = "int"
    BIGINT = "bigint"
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    BIT = "bit"
    CHAR = "char"
    VARCHAR = "varchar"
    TEXT = "text"
    ENUM = "enum"
    SET = "set"
    BINARY = "binary"
    VARBINARY = "varbinary"
    BLOB = "blob"
    DATE = "date"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"
    TIME = "time"
    YEAR = "year"
    JSON = "json"
    GEOMETRY = "geometry"
    VECTOR = "vector"


# Families that most forms of output treat alike.
INTEGERS: Final = (
    Family.TINYINT,
    Family.SMALLINT,
    Family.MEDIUMINT,
    Family.INT,
    Family.BIGINT,
)
CHARACTERS: Final = (Family.CHAR, Family.VARCHAR, Family.TEXT)
BINARIES: Final = (Family.BINARY, Family.VARBINARY, Family.BLOB)
# What the server prints, as text without characters that need an escape.
PRINTED: Final = (Family.DATE, Family.DATETIME, Family.TIMESTAMP, Family.TIME)


_STRING_LENGTH_BITS = 0x30


@dataclass(slots=True)
class Column:
    """One column, in the order of the table.

    `metadata` is the type's metadata as one little-endian number. `collation` is None if the
    column has none or the log does not name it.
    """

    type_code: int
    metadata: int
    nullable: bool
    name: str | None = None
    unsigned: bool = False
    collation: int | None = None
    labels: list[str] | None = None  # ENUM, SET
    primary_key: int = 0  # 1-based position in the primary key, 0 outside of it
    primary_key_prefix: int = 0  # characters of the value in the key, 0 for all
    visible: bool = True
    geometry_type: int | None = None  # 0 GEOMETRY, 1 POINT, 2 LINESTRING, ...
    dimension: int | None = None  # VECTOR
    mariadb: bool = False  # whether the number of the collation is MariaDB's

    @property
    def real_type(self) -> int:
        """The type, with ENUM, SET and CHAR distinguished."""
        # Without metadata (5.1 pre-releases) they cannot be distinguished.
        if self.type_code != ColumnType.STRING or not self.metadata:
            return self.type_code
        first = self.metadata & 0xFF
        return first | _STRING_LENGTH_BITS

    @property
    def charset(self) -> str | None:
        """MySQL's name of the character set; None if there is none, or it is not known."""
        if self.collation is None:
            return None
        return charset_of(self.collation, mariadb=self.mariadb)

    @property
    def binary(self) -> bool:
        """Whether a string type holds bytes; without metadata it is read as bytes, too."""
        return self.collation is None or self.collation == BINARY_COLLATION

    @property
    def family(self) -> Family | None:
        """The family of the values; None for a type that no release of a server has written.

        A string type with an unknown collation counts as binary, as its values do.
        """
        real_type = self.real_type
        text_and_binary = _STRINGS.get(real_type)
        return _OTHERS.get(real_type) if text_and_binary is None else text_and_binary[self.binary]

    @property
    def type_name(self) -> str:
        """The name of the family, or `type n`."""
        family = self.family
        return f"type {self.real_type}" if family is None else family.value

    @property
    def precision(self) -> int | None:
        """Decimal digits of a DECIMAL."""
        return self.metadata & 0xFF if self.real_type == ColumnType.NEWDECIMAL else None

    @property
    def scale(self) -> int | None:
        """Decimal digits after the point of a DECIMAL."""
        return self.metadata >> 8 if self.real_type == ColumnType.NEWDECIMAL else None

    @property
    def fraction(self) -> int | None:
        """Digits after the second of a TIME, DATETIME or TIMESTAMP."""
        if self.real_type in _FRACTIONAL:
            return self.metadata
        return 0 if self.real_type in _WITHOUT_FRACTION else None

    @property
    def length(self) -> int | None:
        """Bytes that a CHAR, VARCHAR, BINARY or VARBINARY can hold; bits of a BIT."""
        real_type = self.real_type
        if real_type in (ColumnType.VARCHAR, ColumnType.VAR_STRING):
            return self.metadata
        if real_type == ColumnType.VARCHAR_COMPRESSED:
            return self.metadata - 1  # for the header of compressed bytes
        if real_type == ColumnType.STRING:
            # Bits 8 and 9 of the length hide, inverted, in the type byte (MySQL bug 37426).
            high = (self.metadata & _STRING_LENGTH_BITS) ^ _STRING_LENGTH_BITS
            return self.metadata >> 8 | high << 4
        if real_type == ColumnType.BIT:
            return (self.metadata >> 8) * 8 + (self.metadata & 0xFF)
        return None

    @property
    def stored_length(self) -> int:
        """The metadata's second byte: bytes of an ENUM's index or a SET's mask."""
        return self.metadata >> 8


_FRACTIONAL = (ColumnType.TIMESTAMP2, ColumnType.DATETIME2, ColumnType.TIME2)
_WITHOUT_FRACTION = (ColumnType.TIMESTAMP, ColumnType.DATETIME, ColumnType.TIME)

# With a character set, and without.
_STRINGS: dict[int, tuple[Family, Family]] = {
    ColumnType.STRING: (Family.CHAR, Family.BINARY),
    ColumnType.VARCHAR: (Family.VARCHAR, Family.VARBINARY),
    ColumnType.VAR_STRING: (Family.VARCHAR, Family.VARBINARY),
    ColumnType.VARCHAR_COMPRESSED: (Family.VARCHAR, Family.VARBINARY),
    ColumnType.BLOB_COMPRESSED: (Family.TEXT, Family.BLOB),
    ColumnType.TINY_BLOB: (Family.TEXT, Family.BLOB),
    ColumnType.MEDIUM_BLOB: (Family.TEXT, Family.BLOB),
    ColumnType.LONG_BLOB: (Family.TEXT, Family.BLOB),
    ColumnType.BLOB: (Family.TEXT, Family.BLOB),
}

_OTHERS: dict[int, Family] = {
    ColumnType.TINY: Family.TINYINT,
    ColumnType.SHORT: Family.SMALLINT,
    ColumnType.INT24: Family.MEDIUMINT,
    ColumnType.LONG: Family.INT,
    ColumnType.LONGLONG: Family.BIGINT,
    ColumnType.NEWDECIMAL: Family.DECIMAL,
    ColumnType.FLOAT: Family.FLOAT,
    ColumnType.DOUBLE: Family.DOUBLE,
    ColumnType.BIT: Family.BIT,
    ColumnType.ENUM: Family.ENUM,
    ColumnType.SET: Family.SET,
    ColumnType.DATE: Family.DATE,
    ColumnType.NEWDATE: Family.DATE,
    ColumnType.DATETIME: Family.DATETIME,
    ColumnType.DATETIME2: Family.DATETIME,
    ColumnType.TIMESTAMP: Family.TIMESTAMP,
    ColumnType.TIMESTAMP2: Family.TIMESTAMP,
    ColumnType.TIME: Family.TIME,
    ColumnType.TIME2: Family.TIME,
    ColumnType.YEAR: Family.YEAR,
    ColumnType.JSON: Family.JSON,
    ColumnType.TYPED_ARRAY: Family.JSON,
    ColumnType.GEOMETRY: Family.GEOMETRY,
    ColumnType.VECTOR: Family.VECTOR,
}


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


# The row image does not hold the column (binlog_row_image=MINIMAL or NOBLOB).
ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class EnumIndex:
    """The stored number of an ENUM value whose label is not in the table map."""

    index: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """A geometry: its spatial reference system and its Well-Known Binary form."""

    srid: int
    wkb: bytes


class JsonOperation(Enum):
    """What a `JsonDiff` does at its path."""

    REPLACE = "replace"  # the existing value
    INSERT = "insert"  # a new member, or an element before the existing one
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class JsonDiff:
    """One change of a JSON document."""

    operation: JsonOperation
    path: str  # `$.a[0]."b c"`
    value: str | None  # the text that MySQL prints; None for REMOVE


@dataclass(frozen=True, slots=True)
class JsonDiffs:
    """The changes, in order, that turn the document of the before image into the one after.

    With binlog_row_value_options=PARTIAL_JSON the after image holds these, not the document.
    """

    diffs: tuple[JsonDiff, ...]


Value = int | float | str | bytes | list[float] | EnumIndex | Geometry | JsonDiffs | Absent | None


# The memory of a large text must be freed.
_KEPT_BYTES_MAX: Final = 64 * 1024


class ColumnReader:
    """Reads the values of one column that are not NULL, each from the front of the rest.

    Not an abstract base class: abstract classes that are compiled share one cache of isinstance
    results, so isinstance in interpreted code would be wrong.
    """

    __slots__ = ()

    def read(self, image: PayloadReader) -> Value:
        """Return the next value, and move past it.

        Raises DecodeError for bytes that are not a value of the column's type.
        """
        raise NotImplementedError

    def skip(self, image: PayloadReader) -> None:
        """Move past the next value, whatever its bytes are.

        Raises TruncatedPayload if the bytes end within the value.
        """
        raise NotImplementedError


@final
class _Spare:
    """A writer whose memory is used again."""

    __slots__ = ("writer",)

    def __init__(self) -> None:
        self.writer: BytesWriter | None = None


_SPARE: Final = _Spare()


class PrintedReader(ColumnReader):
    """A column whose values are read as the server prints them: numbers, dates, documents."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the next value as UTF-8 text, neither quoted nor escaped; move past it.

        Raises DecodeError as `read` does; then a part of the text may have been appended.
        """
        raise NotImplementedError

    def read(self, image: PayloadReader) -> Value:
        """Return the text of the next value, and move past it."""
        return self.read_text(image)

    def read_text(self, image: PayloadReader) -> str:
        """Return the text of the next value, and move past it; DecodeError as in `read`."""
        spare = _SPARE
        out = spare.writer
        # Meanwhile, another thread makes one of its own.
        spare.writer = None
        if out is None:
            out = BytesWriter()
        self.put(image, out)
        text = out.getvalue().decode("utf-8")
        if len(out) <= _KEPT_BYTES_MAX:
            out.truncate(0)
            spare.writer = out
        return text
