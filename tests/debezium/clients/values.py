"""What the values of the source are in records of the profile `debezium`, after their formats."""

from __future__ import annotations

import struct
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.debezium.clients import workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.debezium.clients.rows import Row

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a DATETIME has no time zone
_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_DAY = timedelta(days=1)
# Of a geometry: its reference system; the byte order and type of its WKB.
_SRID_BYTES, _HEADER_BYTES = 4, 5


def in_records(table: str, row: Row) -> Row:
    """Return a row of the source as records have it.

    Numbers since 1970 for times, decimals as their digits, and bytes as hexadecimal text.
    """
    columns = workload.columns(table)
    return {name: _in_records(columns[name], value) for name, value in row.items()}


def unsigned(row: Row) -> Row:
    """Return a row whose BIGINT UNSIGNED, which is signed in records, is that of the source."""
    huge = row.get("huge")
    return row if huge is None else row | {"huge": str(huge % 2**64)}


def _in_records(kind: str, value: Any) -> Any:
    if value is None:
        return None
    form = _FORMS.get(kind.removesuffix(" NULL"))
    if form is not None:
        return form(value)
    if isinstance(value, Decimal):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def _point(value: bytes) -> dict[str, Any]:
    x, y = struct.unpack_from("<dd", value, _SRID_BYTES + _HEADER_BYTES)
    return {"x": x, "y": y, **_geometry(value)}


def _geometry(value: bytes) -> dict[str, Any]:
    """Return a value of MySQL, which is the number of a reference system and WKB."""
    system = int.from_bytes(value[:_SRID_BYTES], "little")
    return {"wkb": value[_SRID_BYTES:].hex(), "srid": system or None}


# What is not written as PyMySQL reads it.
_FORMS: dict[str, Callable[[Any], Any]] = {
    "BIGINT UNSIGNED": str,
    "BIT(1)": lambda value: value == b"\1",
    "BIT(20)": lambda value: value[::-1].hex(),  # the lowest byte is the first
    "DATE": lambda value: (datetime.combine(value, datetime.min.time()) - _EPOCH) // _DAY,
    "DATETIME": lambda value: (value - _EPOCH) // _MILLISECOND,
    "DATETIME(3)": lambda value: (value - _EPOCH) // _MILLISECOND,
    "DATETIME(6)": lambda value: (value - _EPOCH) // _MICROSECOND,
    "TIMESTAMP": lambda value: f"{value.isoformat()}Z",
    "TIMESTAMP(6)": lambda value: f"{value.isoformat(timespec='microseconds')}Z",
    "POINT": _point,
    "GEOMETRY": _geometry,
    "VECTOR(3)": lambda value: list(struct.unpack("<3f", value)),
    "TIME": lambda value: value // _MICROSECOND,
    "TIME(6)": lambda value: value // _MICROSECOND,
}
