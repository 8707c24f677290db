"""The changes of a JSON document, which a PARTIAL_UPDATE_ROWS_EVENT has instead of it.

::

    column     length u32 │ diff …
    diff       operation u8: 0 replace, 1 insert, 2 remove │ length lenenc │ path │
               [length lenenc │ document, unless remove]

https://dev.mysql.com/doc/dev/mysql-server/latest/classJson__diff.html
https://dev.mysql.com/worklog/task/?id=2955
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.column_reader import ColumnReader
from connector.binlog.columns.json_document import json_text
from connector.binlog.columns.strings import require_blob_length
from connector.binlog.columns.values import JsonDiff, JsonDiffs, JsonOperation
from connector.codec.payload import PayloadReader
from connector.errors import DecodeError, log_json

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value

_OPERATIONS = (JsonOperation.REPLACE, JsonOperation.INSERT, JsonOperation.REMOVE)


def json_diffs_reader(column: Column) -> JsonDiffsReader:
    """Return what reads the changes of a JSON column."""
    return JsonDiffsReader(require_blob_length(column))


@final
class JsonDiffsReader(ColumnReader):
    """The changes of a document in place of it."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: i64) -> None:
        """Read changes after a length of `prefix` bytes."""
        self._prefix: i64 = prefix

    def read(self, image: PayloadReader) -> Value:
        """Return the changes in their order; raise DecodeError for an unknown operation."""
        stored = PayloadReader(image.read_bytes(image.read_length(self._prefix)))
        diffs = []
        while stored.remaining:
            diffs.append(_read_diff(stored))
        return JsonDiffs(tuple(diffs))

    def skip(self, image: PayloadReader) -> None:
        """Skip the length and as many bytes as it says, without a look at the changes."""
        image.skip(image.read_length(self._prefix))


def _read_diff(stored: PayloadReader) -> JsonDiff:
    code = stored.read_uint8()
    if code >= len(_OPERATIONS):
        raise DecodeError(log_json.DIFF_OPERATION, value=code)
    operation = _OPERATIONS[code]
    try:
        path = stored.read_lenenc_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise DecodeError(log_json.DIFF_PATH_NOT_UTF8) from None
    if operation is JsonOperation.REMOVE:
        return JsonDiff(operation, path, None)
    return JsonDiff(operation, path, json_text(stored.read_lenenc_bytes()))
