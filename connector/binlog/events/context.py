"""Events that set up a statement: the values it read that are not in its text.

::

    INTVAR    type u8 │ value u64
    RAND      seed1 u64 │ seed2 u64
    USER_VAR  name length u32 │ name │ is_null u8 │
              [type u8 │ collation u32 │ value length u32 │ value │ [attributes]]

    value       STRING  bytes in the character set of the collation
                REAL    IEEE 754 double
                INT     i64, or u64 with the attribute
                DECIMAL precision u8 │ scale u8 │ digits as in a DECIMAL column
    attributes  0: signed │ 1: unsigned │ 2, length u8, name of the data type: MariaDB 11.4

The attributes came with 5.6.4 and MariaDB 5.5; without them an INT is signed.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Intvar__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Rand__event.html
https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1User__var__event.html
"""

from dataclasses import dataclass
from enum import IntEnum

from librt.strings import read_f64_le

from connector.binlog import log_errors
from connector.binlog.character_sets import character_decoder, charset_of
from connector.binlog.columns.decimal import DecimalReader
from connector.binlog.columns.floats import FLOAT64_LENGTH, require_finite
from connector.binlog.header import read_post_header
from connector.binlog.payload_reader import PayloadReader, utf8_text
from connector.foundation.errors import DecodeError

_INTVAR_NAMES = {1: "LAST_INSERT_ID", 2: "INSERT_ID"}

_SIGNED = 0
_UNSIGNED = 1
_DATA_TYPE_NAME = 2

_BINARY = "binary"
_INTEGER_LENGTH = 8


@dataclass(slots=True)
class IntvarEvent:
    """The value of LAST_INSERT_ID(), or the first AUTO_INCREMENT value, of the next statement."""

    type_code: int  # 1 LAST_INSERT_ID, 2 INSERT_ID
    value: int

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> "IntvarEvent":
        """Decode 9 bytes: the variable's number and its value."""
        read_post_header(body, post_header_length, 0)
        return cls(body.read_uint8(), body.read_uint64())

    @property
    def name(self) -> str:
        """The variable, INVALID_INT for a number that no server writes."""
        return _INTVAR_NAMES.get(self.type_code, "INVALID_INT")


@dataclass(slots=True)
class RandEvent:
    """The state of RAND() before the next statement."""

    seed1: int
    seed2: int

    @classmethod
    def decode(cls, body: PayloadReader, post_header_length: int | None = None) -> "RandEvent":
        """Decode 16 bytes: both seeds."""
        read_post_header(body, post_header_length, 0)
        return cls(body.read_uint64(), body.read_uint64())


class UserVarType(IntEnum):
    """The type of a user variable's value, MySQL's Item_result; a variable cannot be a ROW (3)."""

    STRING = 0
    REAL = 1
    INT = 2
    DECIMAL = 4


@dataclass(slots=True)
class UserVarEvent:
    """The value of a user variable that the next statement reads.

    `value` is None for NULL, the digits for DECIMAL, text for STRING, and bytes for a STRING
    that is binary or is not of its character set.
    """

    name: str  # without the @
    type: UserVarType
    collation: int
    value: int | float | str | bytes | None
    unsigned: bool
    data_type: str | None  # the SQL type, where MariaDB names it
    raw_value: bytes | None  # as logged
    raw_attributes: bytes  # as logged; empty in older servers
    mariadb: bool = False  # whether the number of the collation is MariaDB's

    @classmethod
    def decode(
        cls, body: PayloadReader, post_header_length: int | None = None, *, mariadb: bool = False
    ) -> "UserVarEvent":
        """Decode the name and the value; attributes of a newer server are kept as bytes.

        Raises DecodeError for a name that is not UTF-8, an unknown type, and a bad value.
        """
        read_post_header(body, post_header_length, 0)
        name = utf8_text(body.read_bytes(body.read_uint32()), "name of the user variable")
        if body.read_uint8():
            # The server reads NULL as a binary string, and so ignores what may follow.
            return cls(name, UserVarType.STRING, 63, None, False, None, None, body.read_rest())
        value_type = _value_type(body.read_uint8())
        collation = body.read_uint32()
        raw_value = body.read_bytes(body.read_uint32())
        raw_attributes = body.read_rest()
        unsigned, data_type = _read_attributes(PayloadReader(raw_attributes))
        value: int | float | str | bytes
        if value_type is UserVarType.STRING:
            value = _text(raw_value, charset_of(collation, mariadb=mariadb))
        else:
            value = _read_number(raw_value, value_type, unsigned=unsigned)
        return cls(
            name,
            value_type,
            collation,
            value,
            unsigned,
            data_type,
            raw_value,
            raw_attributes,
            mariadb,
        )


def _value_type(code: int) -> UserVarType:
    try:
        return UserVarType(code)
    except ValueError:
        raise DecodeError(log_errors.USER_VARIABLE_TYPE, value=code) from None


def _read_attributes(attributes: PayloadReader) -> tuple[bool, str | None]:
    """Return whether the value is unsigned, and the name of its type; stop at an unknown one."""
    unsigned = False
    data_type: str | None = None
    while attributes.remaining:
        attribute = attributes.read_uint8()
        if attribute == _DATA_TYPE_NAME:
            name = attributes.read_bytes(attributes.read_uint8())
            data_type = name.decode("utf-8", "backslashreplace")
        elif attribute in (_SIGNED, _UNSIGNED):
            unsigned = attribute == _UNSIGNED
        else:
            break
    return unsigned, data_type


def _read_number(raw: bytes, value_type: UserVarType, *, unsigned: bool) -> int | float | str:
    reader = PayloadReader(raw)
    value: int | float | str
    if value_type is UserVarType.REAL:
        value = require_finite(read_f64_le(raw, reader.take(FLOAT64_LENGTH)))
    elif value_type is UserVarType.INT:
        value = reader.read_uint64() if unsigned else reader.read_int(_INTEGER_LENGTH)
    else:
        precision, scale = reader.read_uint8(), reader.read_uint8()
        value = DecimalReader(precision, scale, computed=True).read_text(reader)
    if reader.remaining:
        raise DecodeError(
            log_errors.LEFT_OVER, count=reader.remaining, field="the value of the user variable"
        )
    return value


def _text(raw: bytes, charset: str | None) -> str | bytes:
    if charset is None or charset == _BINARY:
        return raw
    try:
        return character_decoder(charset, exact=True)(raw)
    except DecodeError:
        return raw
