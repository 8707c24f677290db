"""Headers of records, as Kafka's client gives them."""

from __future__ import annotations

from typing import Any

from connector.contract import HEADER_SEQ, SEQ_DIGITS


def header_of(record: Any, name: str) -> bytes | None:
    """Return a header of a record; None without one."""
    for header, value in record.headers:
        if header == name:
            found: bytes | None = value
            return found
    return None


def sequence_of(record: Any) -> bytes | None:
    """Return the digits of cdc.seq; None if the record has no such header."""
    value = header_of(record, HEADER_SEQ)
    return value if value is not None and len(value) == SEQ_DIGITS and value.isdigit() else None
