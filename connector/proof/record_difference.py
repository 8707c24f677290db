"""What of a record is not as the log says; the time of encoding and the version are left out."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from connector.records.record import decode_headers

if TYPE_CHECKING:
    from connector.proof.readable_values import ReadableValues

# What comes before the letter of the operation in the envelope of a row.
_OPERATION: Final = b',"transaction":null,"op":"'
# The start of a key or value that begins with its schema.
_WITH_SCHEMA: Final = b'{"schema":'
# In the envelope of a row, the time of encoding follows, which is another one at each encoding.
_TIMES: Final = b'","ts_ms":'
_TIME_FIELDS: Final = ("ts_ms", "ts_us", "ts_ns")


def difference(
    record: Any,
    key: bytes | None,
    value: bytes | None,
    headers: bytes,
    values: ReadableValues,
) -> str:
    """Return what of a record is not as expected; "" if nothing."""
    if record.key != key:
        return "its key"
    if record.headers != decode_headers(headers):
        return "its headers"
    found = record.value
    if found is None or value is None:
        return ""
    end = value.rfind(_TIMES)
    is_envelope = value[:end].endswith(_OPERATION, 0, end - 1)
    if is_envelope and found[: found.rfind(_TIMES)] == value[:end]:
        return ""
    same = _without_times(found, values) == _without_times(value, values)
    return "" if same else "its value"


def _without_times(value: bytes, values: ReadableValues) -> object:
    """Return an envelope without the time of encoding and the version that encoded it."""
    try:
        record = values.read(value)
        envelope = record["payload"] if value.startswith(_WITH_SCHEMA) else record
        if "source" not in envelope:
            return _flat_without_times(record, envelope)
        for name in _TIME_FIELDS:
            envelope.pop(name, None)
        envelope["source"].pop("version", None)
    except (ValueError, TypeError, LookupError, AttributeError, struct.error):
        return value
    return record


def _flat_without_times(record: object, row: dict[str, object]) -> object:
    """Return a row without an envelope, or a CloudEvent, without its time and its version."""
    row.pop("iodebeziumversion", None)
    for name in (*_TIME_FIELDS, "version", "source_version"):
        row.pop(f"__{name}", None)
    return record
