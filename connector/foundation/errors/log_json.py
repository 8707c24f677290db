"""L460: JSON documents, and the changes of them."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode, Scope

_CHANGED = "No server stores this: bytes were changed."
_DIFF = (
    "With binlog_row_value_options=PARTIAL_JSON, the log has the changes of a document instead of "
    "the document."
)

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
