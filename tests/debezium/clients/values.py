"""What the values of the source are in records of the profile `debezium`, after their formats."""

from __future__ import annotations

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


def in_records(table: str, row: Row) -> Row:
    """Return a row of the source as records have it.

    Numbers since 1970 for times, decimals as their digits, and bytes as hexadecimal text.
    """
    columns = workload.columns(table)
    return {name: _in_records(columns[name], value) for name, value in row.items()}


def _in_records(kind: str, value: Any) -> Any:
    if value is None:
        return None
    form = _FORMS.get(kind.removesuffix(" NULL"))
    if form is not None:
        return form(value)
    if isinstance(value, Decimal):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


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
    "TIME": lambda value: value // _MICROSECOND,
    "TIME(6)": lambda value: value // _MICROSECOND,
}
