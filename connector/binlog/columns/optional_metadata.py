"""The tail of a TABLE_MAP_EVENT becomes names, signs, character sets and keys of its columns.

::

    (type u8 │ length lenenc │ value) …

     1 SIGNEDNESS              1 bit for each numeric column, highest bit first
     2 DEFAULT_CHARSET         collation │ (index among the character columns │ collation) …
     3 COLUMN_CHARSET          collation of each character column
     4 COLUMN_NAME             name of each column
     5 SET_STR_VALUE           count │ labels, for each SET column
     6 ENUM_STR_VALUE          count │ labels, for each ENUM column
     7 GEOMETRY_TYPE           type of each GEOMETRY column
     8 SIMPLE_PRIMARY_KEY      column of each key part
     9 PRIMARY_KEY_WITH_PREFIX (column │ prefix length) of each key part
    10 ENUM_AND_SET_DEFAULT_CHARSET, 11 ENUM_AND_SET_COLUMN_CHARSET   as 2 and 3
    12 COLUMN_VISIBILITY       1 bit for each column, highest bit first
    13 VECTOR_DIMENSIONALITY   dimension of each VECTOR column

All numbers are length-encoded. The length of an unknown field says how much to skip.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
"""

from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum

from connector.binlog import log_errors
from connector.binlog.character_sets import BINARY_COLLATION, character_decoder
from connector.binlog.columns.column import NUMERIC_TYPES, Column, ColumnType
from connector.binlog.payload_reader import PayloadReader, encode_lenenc, utf8_text
from connector.foundation.errors import DecodeError


class MetadataField(IntEnum):
    """The types of the fields."""

    SIGNEDNESS = 1
    DEFAULT_CHARSET = 2
    COLUMN_CHARSET = 3
    COLUMN_NAME = 4
    SET_STR_VALUE = 5
    ENUM_STR_VALUE = 6
    GEOMETRY_TYPE = 7
    SIMPLE_PRIMARY_KEY = 8
    PRIMARY_KEY_WITH_PREFIX = 9
    ENUM_AND_SET_DEFAULT_CHARSET = 10
    ENUM_AND_SET_COLUMN_CHARSET = 11
    COLUMN_VISIBILITY = 12
    VECTOR_DIMENSIONALITY = 13


KNOWN_FIELDS = frozenset(field.value for field in MetadataField)

_CHARACTER = frozenset(
    {
        ColumnType.STRING,
        ColumnType.VAR_STRING,
        ColumnType.VARCHAR,
        ColumnType.BLOB,
        ColumnType.BLOB_COMPRESSED,
        ColumnType.VARCHAR_COMPRESSED,
        ColumnType.VECTOR,
    }
)
# In MariaDB, GEOMETRY is a BLOB with the collation `binary`.
_MARIADB_CHARACTER = _CHARACTER | {ColumnType.GEOMETRY}

_UTF8_COLLATION = 46  # utf8mb4_bin

_ENUM = frozenset({ColumnType.ENUM})
_SET = frozenset({ColumnType.SET})
_GEOMETRY = frozenset({ColumnType.GEOMETRY})
_VECTOR = frozenset({ColumnType.VECTOR})


def read_optional_metadata(
    body: PayloadReader, columns: list[Column], *, mariadb: bool
) -> tuple[int, ...]:
    """Read the fields up to the end of `body` into `columns`, and return the types of all.

    Unknown types are skipped.
    """
    fields: dict[int, PayloadReader] = {}
    while body.remaining:
        number = body.read_uint8()
        length = body.read_lenenc()
        start = body.offset
        body.skip(length)
        fields[number] = PayloadReader(body.data, start, body.offset)
    characters = _MARIADB_CHARACTER if mariadb else _CHARACTER
    for column in columns:
        column.mariadb = mariadb
    # ENUM and SET labels are read with the character set, so that comes first.
    for kind, types, read in (
        (MetadataField.SIGNEDNESS, NUMERIC_TYPES, _read_signs),
        (MetadataField.DEFAULT_CHARSET, characters, _read_default_charset),
        (MetadataField.COLUMN_CHARSET, characters, _read_charsets),
        (MetadataField.ENUM_AND_SET_DEFAULT_CHARSET, _ENUM | _SET, _read_default_charset),
        (MetadataField.ENUM_AND_SET_COLUMN_CHARSET, _ENUM | _SET, _read_charsets),
        (MetadataField.SET_STR_VALUE, _SET, _read_labels),
        (MetadataField.ENUM_STR_VALUE, _ENUM, _read_labels),
        (MetadataField.GEOMETRY_TYPE, _GEOMETRY, _read_geometry_types),
        (MetadataField.VECTOR_DIMENSIONALITY, _VECTOR, _read_dimensions),
        (MetadataField.COLUMN_NAME, None, _read_names),
        (MetadataField.COLUMN_VISIBILITY, None, _read_visibility),
        (MetadataField.SIMPLE_PRIMARY_KEY, None, _read_primary_key),
        (MetadataField.PRIMARY_KEY_WITH_PREFIX, None, _read_prefix_key),
    ):
        field = fields.get(kind)
        if field is not None:
            read(field, columns if types is None else _of_types(columns, types))
            if field.remaining:
                raise DecodeError(log_errors.LEFT_OVER, count=field.remaining, field=kind.name)
    return tuple(fields)


def write_optional_metadata(columns: list[Column], *, mariadb: bool) -> bytes:
    """Return the fields that describe `columns`: the inverse of `read_optional_metadata`.

    Labels are written as UTF-8, whatever character set they have on the server. Geometry types and
    dimensions, which rows do not need, are left out.
    """
    characters = _MARIADB_CHARACTER if mariadb else _CHARACTER
    enums, sets = _of_types(columns, _ENUM), _of_types(columns, _SET)
    keyed = sorted(
        (column.primary_key, index) for index, column in enumerate(columns) if column.primary_key
    )
    fields = (
        (
            MetadataField.SIGNEDNESS,
            _bits([column.unsigned for column in _of_types(columns, NUMERIC_TYPES)]),
        ),
        (
            MetadataField.COLUMN_CHARSET,
            b"".join(
                encode_lenenc(BINARY_COLLATION if column.collation is None else column.collation)
                for column in _of_types(columns, characters)
            ),
        ),
        (
            MetadataField.COLUMN_NAME,
            b"".join(_text(column.name or "") for column in columns),
        ),
        (MetadataField.SET_STR_VALUE, b"".join(map(_labels, sets))),
        (MetadataField.ENUM_STR_VALUE, b"".join(map(_labels, enums))),
        (MetadataField.SIMPLE_PRIMARY_KEY, b"".join(encode_lenenc(index) for _, index in keyed)),
        (
            MetadataField.ENUM_AND_SET_COLUMN_CHARSET,
            encode_lenenc(_UTF8_COLLATION) * (len(enums) + len(sets)),
        ),
    )
    return b"".join(
        bytes((kind,)) + encode_lenenc(len(value)) + value for kind, value in fields if value
    )


def _bits(values: list[bool]) -> bytes:
    octets = bytearray((len(values) + 7) // 8)
    for index, value in enumerate(values):
        if value:
            octets[index >> 3] |= 0x80 >> (index & 7)
    return bytes(octets)


def _text(value: str) -> bytes:
    data = value.encode()
    return encode_lenenc(len(data)) + data


def _labels(column: Column) -> bytes:
    labels = column.labels or []
    return encode_lenenc(len(labels)) + b"".join(map(_text, labels))


def _of_types(columns: list[Column], types: frozenset[ColumnType]) -> list[Column]:
    return [column for column in columns if column.real_type in types]


def _at(columns: Sequence[Column], index: int) -> Column:
    if index >= len(columns):
        raise DecodeError(log_errors.METADATA_COLUMN, number=index, count=len(columns))
    return columns[index]


def _read_bits(field: PayloadReader, count: int) -> list[bool]:
    """Read `count` bits, the highest bit of each byte first."""
    octets = field.read_bytes((count + 7) // 8)
    return [octets[n >> 3] & 0x80 >> (n & 7) != 0 for n in range(count)]


def _read_signs(field: PayloadReader, columns: list[Column]) -> None:
    for column, bit in zip(columns, _read_bits(field, len(columns)), strict=True):
        column.unsigned = bit


def _read_default_charset(field: PayloadReader, columns: list[Column]) -> None:
    default = field.read_lenenc()
    for column in columns:
        column.collation = default
    while field.remaining:
        column = _at(columns, field.read_lenenc())
        column.collation = field.read_lenenc()


def _read_charsets(field: PayloadReader, columns: list[Column]) -> None:
    for column in columns:
        column.collation = field.read_lenenc()


def _read_names(field: PayloadReader, columns: list[Column]) -> None:
    for column in columns:
        column.name = utf8_text(field.read_lenenc_bytes(), "name of a column")


def _read_labels(field: PayloadReader, columns: list[Column]) -> None:
    for column in columns:
        raw = [field.read_lenenc_bytes() for _ in range(field.read_lenenc())]
        charset = column.charset
        # Without its character set a label cannot be read; the values stay numbers.
        if charset is not None:
            decode = character_decoder(charset)
            with suppress(DecodeError):
                column.labels = [decode(label) for label in raw]


def _read_geometry_types(field: PayloadReader, columns: list[Column]) -> None:
    for column in columns:
        column.geometry_type = field.read_lenenc()


def _read_dimensions(field: PayloadReader, columns: list[Column]) -> None:
    for column in columns:
        column.dimension = field.read_lenenc()


def _read_visibility(field: PayloadReader, columns: list[Column]) -> None:
    for column, bit in zip(columns, _read_bits(field, len(columns)), strict=True):
        column.visible = bit


def _read_primary_key(field: PayloadReader, columns: list[Column]) -> None:
    part = 0
    while field.remaining:
        part += 1
        _at(columns, field.read_lenenc()).primary_key = part


def _read_prefix_key(field: PayloadReader, columns: list[Column]) -> None:
    part = 0
    while field.remaining:
        part += 1
        column = _at(columns, field.read_lenenc())
        column.primary_key = part
        column.primary_key_prefix = field.read_lenenc()
