"""Values of columns, and JSON documents."""

from connector.foundation.errors.code import table_error

VALUE_DAMAGED = table_error(
    "L182",
    "{reason}",
    cause="No server stores this value, or describes a column so: bytes were changed.",
)
BIT_LENGTH = VALUE_DAMAGED.because("a BIT of {length} bits does not exist", was="L401")
ENUM_LENGTH = VALUE_DAMAGED.because("an ENUM of {length} bytes does not exist", was="L402")
SET_LENGTH = VALUE_DAMAGED.because("a SET of {length} bytes does not exist", was="L403")
SET_BIT = VALUE_DAMAGED.because("a SET with {count} labels holds a higher bit", was="L404")
LENGTH_LENGTH = VALUE_DAMAGED.because("a length of {length} bytes does not exist", was="L405")
PACKED_SIZE = VALUE_DAMAGED.because(
    "{length} compressed bytes do not start with their size", was="L412"
)
NOT_UNPACKED = VALUE_DAMAGED.because("a compressed value cannot be read: {why}", was="L413")
UNPACKED_SIZE = VALUE_DAMAGED.because(
    "a compressed value does not hold the {size} bytes that it promises", was="L414"
)
DECIMAL_DIGITS = VALUE_DAMAGED.because("DECIMAL({precision},{scale}) does not exist", was="L422")
DECIMAL_GROUP = VALUE_DAMAGED.because(
    "a group of {digits} decimal digits holds a larger number", was="L423"
)
NOT_FINITE = VALUE_DAMAGED.because("a floating-point number is not finite", was="L424")
DATETIME_HOUR_OR_DAY = VALUE_DAMAGED.because(
    "a DATETIME has an hour above 23 or a day above 31", was="L431"
)
DATETIME_NEGATIVE = VALUE_DAMAGED.because("a DATETIME is negative", was="L432")
FRACTION_DIGITS = VALUE_DAMAGED.because(
    "a time with {digits} digits after the second does not exist", was="L433"
)
DATE = VALUE_DAMAGED.because("a date has a month above 12 or a year above 9999", was="L434")
CLOCK = VALUE_DAMAGED.because("a time has a minute or a second above 59", was="L435")
FRACTION = VALUE_DAMAGED.because(
    "a fraction of a second with {digits} digits holds a larger number", was="L436"
)
DATETIME_HOUR = VALUE_DAMAGED.because("a DATETIME has an hour above 23", was="L437")
VECTOR_LENGTH = VALUE_DAMAGED.because(
    "a VECTOR of {length} bytes is not a row of 32-bit floats", was="L441"
)
DEPTH = VALUE_DAMAGED.because("a JSON document is nested deeper than {limit} levels", was="L461")
TWICE = VALUE_DAMAGED.because("a JSON document refers to the same bytes more than once", was="L462")
CONTAINER_SIZE = VALUE_DAMAGED.because(
    "a JSON container of {size} bytes is longer than the {left} left", was="L463"
)
LITERAL = VALUE_DAMAGED.because("JSON literal {value:#04x} is not known", was="L464")
KIND = VALUE_DAMAGED.because("JSON type {value:#04x} is not known", was="L465")
NOT_UTF8 = VALUE_DAMAGED.because("a JSON string is not UTF-8", was="L466")
STRING_LENGTH = VALUE_DAMAGED.because(
    "the length of a JSON string takes more than five bytes", was="L467"
)
TIME_LENGTH = VALUE_DAMAGED.because(
    "a date or time in a JSON document has {length} bytes instead of {needed}", was="L468"
)
DIFF_OPERATION = VALUE_DAMAGED.because(
    "operation {value} on a JSON document is not known", was="L471"
)
DIFF_PATH_NOT_UTF8 = VALUE_DAMAGED.because("a path into a JSON document is not UTF-8", was="L472")
DIFF_PATH = VALUE_DAMAGED.because(
    "{path!r} is not the path of a change of a JSON document", was="L473"
)
NOTHING_TO_CHANGE = VALUE_DAMAGED.because(
    "it has changes of a document, but no document is before them", was="L474"
)
NO_SUCH_PATH = VALUE_DAMAGED.because(
    "the JSON document has no place to {operation} {path}", was="L475"
)
NOT_JSON = VALUE_DAMAGED.because("a JSON document cannot be read: {why}", was="L476")

PACKED_METHOD = table_error(
    "L411",
    "compression method {method} is not known",
    "upgrade the connector",
    cause="MariaDB compresses columns by zlib alone. A newer server wrote it, or bytes changed.",
    example={"method": 9},
)
OLD_DECIMAL = table_error(
    "L421",
    "DECIMAL of servers before 5.0 cannot be read from rows",
    "rebuild the table, or exclude it",
    cause="A table made before MySQL 5.0 keeps the old form of DECIMAL until it is rebuilt.",
)
NOT_OF_CHARSET = table_error(
    "L442",
    "byte {offset} of the value is not {charset}",
    cause="The value is not text of the character set of its column. Some servers of old versions "
    "stored such values; otherwise bytes were changed.",
    example={"charset": "utf8mb4"},
)
