"""Values of columns, and JSON documents."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

_METADATA = "The table map says how values of the column are written. Its bytes were changed."

BIT_LENGTH = ErrorCode(
    "L401",
    "a BIT of {length} bits does not exist",
    cause=_METADATA,
    example={"length": 65},
    scope=Scope.TABLE,
)

ENUM_LENGTH = ErrorCode(
    "L402",
    "an ENUM of {length} bytes does not exist",
    cause=_METADATA,
    example={"length": 3},
    scope=Scope.TABLE,
)

SET_LENGTH = ErrorCode(
    "L403",
    "a SET of {length} bytes does not exist",
    cause=_METADATA,
    example={"length": 9},
    scope=Scope.TABLE,
)

_VALUE = "No server stores this value: bytes were changed."

SET_BIT = ErrorCode(
    "L404",
    "a SET with {count} labels holds a higher bit",
    cause=f"Each bit stands for a label. {_VALUE}",
    example={"count": 3},
    scope=Scope.TABLE,
)

LENGTH_LENGTH = ErrorCode(
    "L405",
    "a length of {length} bytes does not exist",
    cause=_METADATA,
    example={"length": 5},
    scope=Scope.TABLE,
)

PACKED_METHOD = ErrorCode(
    "L411",
    "compression method {method} is not known",
    "upgrade the connector",
    cause="MariaDB compresses columns by zlib alone. A newer server wrote it, or bytes changed.",
    example={"method": 9},
    scope=Scope.TABLE,
)

PACKED_SIZE = ErrorCode(
    "L412",
    "{length} compressed bytes do not start with their size",
    cause=_VALUE,
    example={"length": 1},
    scope=Scope.TABLE,
)

NOT_UNPACKED = ErrorCode(
    "L413",
    "a compressed value cannot be read: {why}",
    cause=_VALUE,
    example={"why": "Error -3 while decompressing data: invalid block type"},
    scope=Scope.TABLE,
)

UNPACKED_SIZE = ErrorCode(
    "L414",
    "a compressed value does not hold the {size} bytes that it promises",
    cause=_VALUE,
    example={"size": 300},
    scope=Scope.TABLE,
)

OLD_DECIMAL = ErrorCode(
    "L421",
    "DECIMAL of servers before 5.0 cannot be read from rows",
    "rebuild the table, or exclude it",
    cause="A table made before MySQL 5.0 keeps the old form of DECIMAL until it is rebuilt.",
    scope=Scope.TABLE,
)

DECIMAL_DIGITS = ErrorCode(
    "L422",
    "DECIMAL({precision},{scale}) does not exist",
    cause="No server allows this number of digits. Bytes were changed.",
    example={"precision": 82, "scale": 2},
    scope=Scope.TABLE,
)

DECIMAL_GROUP = ErrorCode(
    "L423",
    "a group of {digits} decimal digits holds a larger number",
    cause=f"A DECIMAL is stored in groups of up to nine digits. {_VALUE}",
    example={"digits": 9},
    scope=Scope.TABLE,
)

NOT_FINITE = ErrorCode(
    "L424",
    "a floating-point number is not finite",
    cause=_VALUE,
    scope=Scope.TABLE,
)

DATETIME_HOUR_OR_DAY = ErrorCode(
    "L431",
    "a DATETIME has an hour above 23 or a day above 31",
    cause=_VALUE,
    scope=Scope.TABLE,
)

DATETIME_NEGATIVE = ErrorCode(
    "L432",
    "a DATETIME is negative",
    cause=_VALUE,
    scope=Scope.TABLE,
)

FRACTION_DIGITS = ErrorCode(
    "L433",
    "a time with {digits} digits after the second does not exist",
    cause=_METADATA,
    example={"digits": 7},
    scope=Scope.TABLE,
)

DATE = ErrorCode(
    "L434",
    "a date has a month above 12 or a year above 9999",
    cause=_VALUE,
    scope=Scope.TABLE,
)

CLOCK = ErrorCode(
    "L435",
    "a time has a minute or a second above 59",
    cause=_VALUE,
    scope=Scope.TABLE,
)

FRACTION = ErrorCode(
    "L436",
    "a fraction of a second with {digits} digits holds a larger number",
    cause=_VALUE,
    example={"digits": 2},
    scope=Scope.TABLE,
)

DATETIME_HOUR = ErrorCode(
    "L437",
    "a DATETIME has an hour above 23",
    cause=_VALUE,
    scope=Scope.TABLE,
)

VECTOR_LENGTH = ErrorCode(
    "L441",
    "a VECTOR of {length} bytes is not a row of 32-bit floats",
    cause=_VALUE,
    example={"length": 7},
    scope=Scope.TABLE,
)

NOT_OF_CHARSET = ErrorCode(
    "L442",
    "byte {offset} of the value is not {charset}",
    cause=(
        "The value is not text of the character set of its column. Some servers of old versions "
        "stored such values; otherwise bytes were changed."
    ),
    example={"offset": 3, "charset": "utf8mb4"},
    scope=Scope.TABLE,
)

_CHANGED = "No server stores this: bytes were changed."

DEPTH = ErrorCode(
    "L461",
    "a JSON document is nested deeper than {limit} levels",
    cause=_CHANGED,
    example={"limit": 100},
    scope=Scope.TABLE,
)

TWICE = ErrorCode(
    "L462",
    "a JSON document refers to the same bytes more than once",
    cause=f"Such a document could grow without bounds while it is read. {_CHANGED}",
    scope=Scope.TABLE,
)

CONTAINER_SIZE = ErrorCode(
    "L463",
    "a JSON container of {size} bytes is longer than the {left} left",
    cause=_CHANGED,
    example={"size": 300, "left": 120},
    scope=Scope.TABLE,
)

LITERAL = ErrorCode(
    "L464",
    "JSON literal {value:#04x} is not known",
    cause=_CHANGED,
    example={"value": 3},
    scope=Scope.TABLE,
)

KIND = ErrorCode(
    "L465",
    "JSON type {value:#04x} is not known",
    cause=_CHANGED,
    example={"value": 0x0D},
    scope=Scope.TABLE,
)

NOT_UTF8 = ErrorCode(
    "L466",
    "a JSON string is not UTF-8",
    cause=_CHANGED,
    scope=Scope.TABLE,
)

STRING_LENGTH = ErrorCode(
    "L467",
    "the length of a JSON string takes more than five bytes",
    cause=_CHANGED,
    scope=Scope.TABLE,
)

TIME_LENGTH = ErrorCode(
    "L468",
    "a date or time in a JSON document has {length} bytes instead of {needed}",
    cause=_CHANGED,
    example={"length": 5, "needed": 8},
    scope=Scope.TABLE,
)

_DIFF = (
    "With binlog_row_value_options=PARTIAL_JSON, the log has the changes of a document instead of "
    "the document."
)

DIFF_OPERATION = ErrorCode(
    "L471",
    "operation {value} on a JSON document is not known",
    cause=f"{_DIFF} There are three operations. Bytes were changed.",
    example={"value": 3},
    scope=Scope.TABLE,
)

DIFF_PATH_NOT_UTF8 = ErrorCode(
    "L472",
    "a path into a JSON document is not UTF-8",
    cause=f"{_DIFF} Bytes were changed.",
    scope=Scope.TABLE,
)

DIFF_PATH = ErrorCode(
    "L473",
    "{path!r} is not the path of a change of a JSON document",
    cause=f"{_DIFF} Bytes were changed.",
    example={"path": "$.a["},
    scope=Scope.TABLE,
)

NOTHING_TO_CHANGE = ErrorCode(
    "L474",
    "it has changes of a document, but no document is before them",
    cause=f"{_DIFF} They belong to the row before, which has no document here.",
    scope=Scope.TABLE,
)

NO_SUCH_PATH = ErrorCode(
    "L475",
    "the JSON document has no place to {operation} {path}",
    cause=f"{_DIFF} They do not fit the document of the row before, so bytes were changed.",
    example={"operation": "insert", "path": "$.a[3]"},
    scope=Scope.TABLE,
)

NOT_JSON = ErrorCode(
    "L476",
    "a JSON document cannot be read: {why}",
    cause=_CHANGED,
    example={"why": "Expecting value: line 1 column 1 (char 0)"},
    scope=Scope.TABLE,
)
