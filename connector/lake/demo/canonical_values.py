"""Equal Python values of a printed value of the source and a stored value of the mirror.

::

    MySQL text or bytes ──from_source──▶ int, float, Decimal, str or bytes ◀──from_mirror── Arrow

Each side has its own reader, so that neither can repeat the other's mistake. A mirror value of an
unexpected type is left unchanged, so it differs from every value of the source.
"""

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from ipaddress import ip_address
from typing import Any
from uuid import UUID

from connector.lake.demo import demo_errors
from local_stack.stack_errors import LocalStackError

SRID_BYTES = 4


@dataclass(frozen=True, slots=True)
class Family:
    """The readers of one family of column types, for both sides."""

    # The SELECT expression instead of the column; {} is its quoted name.
    expression: str
    from_source: Callable[[Any], object]
    from_mirror: Callable[[Any], object]


def family_of(data_type: str) -> Family:
    """Return the family of a column by `information_schema.columns.data_type`.

    Raises LocalStackError for a type without a family.
    """
    family = _FAMILIES.get(data_type.lower())
    if family is None:
        raise LocalStackError(demo_errors.NO_FAMILY, type=data_type)
    return family


def _same(value: object) -> object:
    return value


def _whole(value: object) -> object:
    # BIGINT UNSIGNED and BIT(n) are DECIMAL(20,0), BIT(1) is BOOLEAN.
    return int(value) if isinstance(value, Decimal | bool) else value


def _decimal_text(value: object) -> object:
    # More than 38 digits are text in the mirror already.
    if isinstance(value, str):
        # A mirror that is late may have another type: then the text is shown as a difference.
        with suppress(InvalidOperation):
            return Decimal(value)
    return value


def _source_moment(text: str) -> str:
    """Fill up to six digits after the second; zero dates are text like any other."""
    seconds, _, fraction = text.partition(".")
    return f"{seconds}.{fraction:0<6}"


def _mirror_moment(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return value.isoformat(sep=" ", timespec="microseconds")


def _mirror_date(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def _mirror_geometry(value: object) -> object:
    match value:
        case {"wkb": bytes(wkb), "srid": int(srid)}:
            return srid.to_bytes(SRID_BYTES, "little") + wkb
        case _:
            return value


def _mirror_vector(value: object) -> object:
    return struct.pack(f"<{len(value)}f", *value) if isinstance(value, list) else value


def _source_label(value: str | bytes) -> str:
    # The labels of a table in the character set binary are bytes.
    return value.decode() if isinstance(value, bytes) else value


def _source_bits(value: bytes) -> int:
    return int.from_bytes(value, "big")


_INTEGER = Family("{}", int, _whole)
# A FLOAT is printed with six digits, and as a double with all of them.
_FLOAT = Family("{} + 0e0", float, _same)
_DECIMAL = Family("{}", Decimal, _decimal_text)
_BIT = Family("{}", _source_bits, _whole)
_TEXT = Family("{}", _same, _same)
_MOMENT = Family("{}", _source_moment, _mirror_moment)
_DATE = Family("{}", _same, _mirror_date)
_GEOMETRY = Family("{}", _same, _mirror_geometry)
_VECTOR = Family("{}", _same, _mirror_vector)

_FAMILIES = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year"), _INTEGER),
    **dict.fromkeys(("float", "double"), _FLOAT),
    "decimal": _DECIMAL,
    "bit": _BIT,
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), _TEXT),
    **dict.fromkeys(("enum", "set"), Family("{}", _source_label, _same)),
    **dict.fromkeys(("json", "time"), _TEXT),
    "uuid": Family("{}", lambda text: UUID(text).bytes, _same),
    **dict.fromkeys(("inet4", "inet6"), Family("{}", lambda text: ip_address(text).packed, _same)),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _TEXT),
    **dict.fromkeys(("datetime", "timestamp"), _MOMENT),
    "date": _DATE,
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "multipoint"), _GEOMETRY),
    **dict.fromkeys(("multilinestring", "multipolygon", "geomcollection"), _GEOMETRY),
    "geometrycollection": _GEOMETRY,
    "vector": _VECTOR,
}
