"""What of a record is not as the log says; the time of encoding and the version are left out."""

from __future__ import annotations

import json
from typing import Any, Final

from connector.records.record import decode_headers

# The start of an envelope of a row; the record of a statement has another form.
_ROW: Final = b'{"before":'
# In the envelope of a row, the time of encoding follows, which is another one at each encoding.
_TIMES: Final = b'","ts_ms":'
_TIME_FIELDS: Final = ("ts_ms", "ts_us", "ts_ns")


def difference(record: Any, key: bytes | None, value: bytes | None, headers: bytes) -> str:
    """Return what of a record is not as expected; "" if nothing."""
    if record.key != key:
        return "its key"
    if record.headers != decode_headers(headers):
        return "its headers"
    found = record.value
    if found is None or value is None:
        return ""
    is_row = value.startswith(_ROW)
    if is_row and found[: found.rfind(_TIMES)] == value[: value.rfind(_TIMES)]:
        return ""
    return "" if _without_times(found) == _without_times(value) else "its value"


def _without_times(value: bytes) -> object:
    """Return an envelope without the time of encoding and the version that encoded it."""
    try:
        envelope = json.loads(value)
        for name in _TIME_FIELDS:
            envelope.pop(name, None)
        envelope["source"].pop("version", None)
    except (ValueError, TypeError, KeyError, AttributeError):
        return value
    return envelope
