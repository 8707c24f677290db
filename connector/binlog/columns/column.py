"""A column of a TABLE_MAP_EVENT: what the log says about it, and what follows from that.

The type byte and its metadata are always there. Signedness, collation and geometry type come with
binlog_row_metadata=MINIMAL, everything else with FULL.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
"""

from __future__ import annotations

from dataclasses import dataclass

from connector.binlog.charsets.collations import BINARY_COLLATION, charset_of
from connector.binlog.columns.column_types import ColumnType

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
        return charset_of(self.collation) if self.collation is not None else None

    @property
    def binary(self) -> bool:
        """Whether a string type holds bytes; without metadata it is read as bytes, too."""
        return self.collation is None or self.collation == BINARY_COLLATION

    @property
    def type_name(self) -> str:
        """The family of the SQL type, such as `varchar`, `varbinary` or `datetime`.

        A string type with an unknown collation counts as binary, as its values do.
        """
        real_type = self.real_type
        text_and_binary = _STRING_NAMES.get(real_type)
        if text_and_binary is not None:
            return text_and_binary[self.binary]
        return _NAMES.get(real_type, f"type {real_type}")

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
_STRING_NAMES: dict[int, tuple[str, str]] = {
    ColumnType.STRING: ("char", "binary"),
    ColumnType.VARCHAR: ("varchar", "varbinary"),
    ColumnType.VAR_STRING: ("varchar", "varbinary"),
    ColumnType.VARCHAR_COMPRESSED: ("varchar", "varbinary"),
    ColumnType.BLOB_COMPRESSED: ("text", "blob"),
    ColumnType.TINY_BLOB: ("text", "blob"),
    ColumnType.MEDIUM_BLOB: ("text", "blob"),
    ColumnType.LONG_BLOB: ("text", "blob"),
    ColumnType.BLOB: ("text", "blob"),
}

_NAMES: dict[int, str] = {
    ColumnType.TINY: "tinyint",
    ColumnType.SHORT: "smallint",
    ColumnType.INT24: "mediumint",
    ColumnType.LONG: "int",
    ColumnType.LONGLONG: "bigint",
    ColumnType.NEWDECIMAL: "decimal",
    ColumnType.FLOAT: "float",
    ColumnType.DOUBLE: "double",
    ColumnType.BIT: "bit",
    ColumnType.ENUM: "enum",
    ColumnType.SET: "set",
    ColumnType.DATE: "date",
    ColumnType.NEWDATE: "date",
    ColumnType.DATETIME: "datetime",
    ColumnType.DATETIME2: "datetime",
    ColumnType.TIMESTAMP: "timestamp",
    ColumnType.TIMESTAMP2: "timestamp",
    ColumnType.TIME: "time",
    ColumnType.TIME2: "time",
    ColumnType.YEAR: "year",
    ColumnType.JSON: "json",
    ColumnType.TYPED_ARRAY: "json",
    ColumnType.GEOMETRY: "geometry",
    ColumnType.VECTOR: "vector",
}
