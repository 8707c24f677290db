"""The changes of a JSON document, which a PARTIAL_UPDATE_ROWS_EVENT has in its place.

::

    column     length u32 │ diff …
    diff       operation u8: 0 replace, 1 insert, 2 remove │ length lenenc │ path │
               [length lenenc │ document, unless remove]

https://dev.mysql.com/doc/dev/mysql-server/latest/classJson__diff.html
https://dev.mysql.com/worklog/task/?id=2955
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.json import json_text
from connector.binlog.columns.strings import require_blob_length
from connector.binlog.values import JsonDiff, JsonDiffs, JsonOperation
from connector.errors import DecodeError
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column

_OPERATIONS = (JsonOperation.REPLACE, JsonOperation.INSERT, JsonOperation.REMOVE)


def json_diffs_reader(column: Column) -> Callable[[PayloadReader], JsonDiffs]:
    """Return the function that reads the changes of a JSON column."""
    prefix = require_blob_length(column)

    def read(image: PayloadReader) -> JsonDiffs:
        stored = PayloadReader(image.read_bytes(image.read_uint(prefix)))
        diffs = []
        while stored.remaining:
            diffs.append(_read_diff(stored))
        return JsonDiffs(tuple(diffs))

    return read


def _read_diff(stored: PayloadReader) -> JsonDiff:
    code = stored.read_uint8()
    if code >= len(_OPERATIONS):
        reason = f"operation {code} on a JSON document is not known"
        raise DecodeError(reason)
    operation = _OPERATIONS[code]
    try:
        path = stored.read_lenenc_bytes().decode("utf-8")
    except UnicodeDecodeError:
        reason = "a path into a JSON document is not UTF-8"
        raise DecodeError(reason) from None
    if operation is JsonOperation.REMOVE:
        return JsonDiff(operation, path, None)
    return JsonDiff(operation, path, json_text(stored.read_lenenc_bytes()))
