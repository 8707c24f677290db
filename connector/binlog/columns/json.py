"""JSON columns: a whole document, or the changes that a partial update has instead of it.

::

    JSON                             length 1 to 4 bytes │ document
    column of a multi-valued index   length u32 │ document, an array
    partial update                   length u32 │ diff …
    diff                             operation u8: 0 replace, 1 insert, 2 remove │ length lenenc │
                                     path │ [length lenenc │ document, unless remove]

`json_document` has the layout of documents.

Changes are applied to the text of the document before; the result is what MySQL prints, because
numbers and the values of SQL types are kept as they are printed. An object's keys are ordered by
their length in bytes, then by their bytes. A path is made of `.member`, `."quoted member"`,
`[index]` and `[last-index]`; a change whose path leads nowhere is an error, as for a replica of the
server.

https://dev.mysql.com/doc/dev/mysql-server/latest/classJson__diff.html
https://dev.mysql.com/worklog/task/?id=2955
https://dev.mysql.com/doc/refman/8.4/en/json.html#json-path-syntax
"""

import re
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring
from typing import Final, cast, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from connector.binlog import value_errors
from connector.binlog.columns import column
from connector.binlog.columns.json_document import json_text, put_json, require_depth
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError


class DocumentReader(column.PrintedReader):
    """JSON documents as the text that MySQL prints."""

    __slots__ = ()

    def read_document(self, image: PayloadReader) -> bytes:
        """Return the bytes of the next document, and move past it."""
        raise NotImplementedError

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the document's text as MySQL prints it; DecodeError as in `put_json`."""
        put_json(out, self.read_document(image))

    def put_in_string(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the document's text, escaped for a JSON string."""
        put_json(out, self.read_document(image), in_string=True)


@final
class JsonReader(DocumentReader):
    """A JSON column."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: i64) -> None:
        """Read documents after a length of `prefix` bytes."""
        self._prefix: i64 = prefix

    def read_document(self, image: PayloadReader) -> bytes:
        return image.read_bytes(image.read_length(self._prefix))

    def skip(self, image: PayloadReader) -> None:
        image.skip(image.read_length(self._prefix))


@final
class TypedArrayReader(DocumentReader):
    """The column of a multi-valued index: an array."""

    __slots__ = ()

    def read_document(self, image: PayloadReader) -> bytes:
        return image.read_bytes(image.read_uint32())

    def skip(self, image: PayloadReader) -> None:
        image.skip(image.read_uint32())


_OPERATIONS = (
    column.JsonOperation.REPLACE,
    column.JsonOperation.INSERT,
    column.JsonOperation.REMOVE,
)


@final
class JsonDiffsReader(column.ColumnReader):
    """The changes of a document in place of it."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: i64) -> None:
        """Read changes after a length of `prefix` bytes."""
        self._prefix: i64 = prefix

    def read(self, image: PayloadReader) -> column.Value:
        """Return the changes in their order; raise DecodeError for an unknown operation."""
        stored = PayloadReader(image.read_bytes(image.read_length(self._prefix)))
        diffs = []
        while stored.remaining:
            diffs.append(_read_diff(stored))
        return column.JsonDiffs(tuple(diffs))

    def skip(self, image: PayloadReader) -> None:
        image.skip(image.read_length(self._prefix))


def _read_diff(stored: PayloadReader) -> column.JsonDiff:
    code = stored.read_uint8()
    if code >= len(_OPERATIONS):
        raise DecodeError(value_errors.DIFF_OPERATION, value=code)
    operation = _OPERATIONS[code]
    try:
        path = stored.read_lenenc_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise DecodeError(value_errors.DIFF_PATH_NOT_UTF8) from None
    if operation is column.JsonOperation.REMOVE:
        return column.JsonDiff(operation, path, None)
    return column.JsonDiff(operation, path, json_text(stored.read_lenenc_bytes()))


@mypyc_attr(native_class=False)  # a native class has no base that is built in
class _Number(str):
    """A number as it was printed."""

    __slots__ = ()


_Scalar = str | bool | None
_Node = dict[str, "_Node"] | list["_Node"] | _Scalar
_Leg = str | int  # a key, or an index as in Python: negative ones count from the end

# The server escapes only control characters by their number.
_LEG = re.compile(
    r'\.("(?:[^"\\]|\\[^u]|\\u00[01][0-9a-f])*"|[^.\["]+)|\[(last-)?([0-9]{1,10})\]|\[last\]'
)
_DECODER = JSONDecoder(parse_int=_Number, parse_float=_Number)


def with_diffs_applied(before: column.Value, after: column.Value) -> column.Value:
    """Return the document after the `JsonDiffs` in `after`; return any other `after` unchanged.

    Raises DecodeError if the changes do not fit the document before.
    """
    if not isinstance(after, column.JsonDiffs) or before is column.ABSENT:
        return after
    if not isinstance(before, str):
        raise DecodeError(value_errors.NOTHING_TO_CHANGE)
    return apply_json_diffs(before, after)


# Instead of the offset of a document in the image before.
NULL_BEFORE: Final = -1
ABSENT_BEFORE: Final = -2


def changed_document(
    image: PayloadReader, changes: column.ColumnReader, documents: column.ColumnReader, before: i64
) -> column.Value:
    """Return the text of a document after the changes of it, which `changes` reads next.

    The document before is at offset `before` of the same data, and `documents` reads it; if the
    image before lacks it, return the changes. Raises DecodeError if they do not fit it.
    """
    diffs = changes.read(image)
    if before == ABSENT_BEFORE:
        return diffs
    document: column.Value = None
    if before != NULL_BEFORE:
        document = documents.read(PayloadReader(image.data, before, image.end))
    return with_diffs_applied(document, diffs)


def apply_json_diffs(document: str, diffs: column.JsonDiffs) -> str:
    """Return `document`, a text as MySQL prints it, with all changes applied in their order.

    Raises DecodeError for a path that leads nowhere.
    """
    root = _parse(document)
    for diff in diffs.diffs:
        if not _apply(root, diff):
            raise DecodeError(
                value_errors.NO_SUCH_PATH, operation=diff.operation.value, path=diff.path
            )
    parts: list[str] = []
    _write(root, parts, 0)
    return "".join(parts)


def _apply(root: _Node, diff: column.JsonDiff) -> bool:
    """Change the value under `root`; return whether the path leads to a value."""
    *legs, last = _legs(diff.path)
    parent = root
    for leg in legs:
        if isinstance(parent, dict):
            if not isinstance(leg, str) or leg not in parent:
                return False
            parent = parent[leg]
        else:
            if not (isinstance(parent, list) and isinstance(leg, int) and _is_in(parent, leg)):
                return False
            parent = parent[leg]
    if isinstance(parent, dict) and isinstance(last, str):
        return _change_member(parent, last, diff)
    if isinstance(parent, list) and isinstance(last, int):
        return _change_element(parent, last, diff)
    return False


def _change_member(parent: dict[str, _Node], key: str, diff: column.JsonDiff) -> bool:
    if (diff.operation is column.JsonOperation.INSERT) is (key in parent):
        return False
    if diff.operation is column.JsonOperation.REMOVE:
        del parent[key]
    else:
        parent[key] = _value(diff)
    return True


def _change_element(parent: list[_Node], index: int, diff: column.JsonDiff) -> bool:
    if diff.operation is column.JsonOperation.INSERT:
        # An index outside of the array means its nearer end.
        parent.insert(index, _value(diff))
        return True
    if not _is_in(parent, index):
        return False
    if diff.operation is column.JsonOperation.REMOVE:
        del parent[index]
    else:
        parent[index] = _value(diff)
    return True


def _is_in(array: list[_Node], index: int) -> bool:
    return -len(array) <= index < len(array)


def _value(diff: column.JsonDiff) -> _Node:
    assert diff.value is not None
    return _parse(diff.value)


def _legs(path: str) -> list[_Leg]:
    """Return the members and indexes of a path after its `$`.

    Raises DecodeError for a bad path, and for `$` alone: no change replaces the whole document.
    """
    legs: list[_Leg] = []
    offset = 1
    while path[:1] == "$" and (match := _LEG.match(path, offset)):
        offset = match.end()
        member, last, index = match.groups()
        if member is None:
            array_index = int(index or 0)
            legs.append(array_index if index and not last else -array_index - 1)
        else:
            legs.append(cast("str", _parse(member)) if member[0] == '"' else member)
    if not legs or offset < len(path):
        raise DecodeError(value_errors.DIFF_PATH, path=path)
    return legs


def _parse(text: str) -> _Node:
    try:
        return cast("_Node", _DECODER.decode(text))
    except JSONDecodeError as error:
        raise DecodeError(value_errors.NOT_JSON, why=error) from None


def _write(node: _Node, parts: list[str], depth: int) -> None:
    require_depth(depth)
    if isinstance(node, dict):
        separator = "{"
        for key in sorted(node, key=_key_order):
            parts += (separator, encode_basestring(key), ": ")
            _write(node[key], parts, depth + 1)
            separator = ", "
        parts.append("}" if node else "{}")
    elif isinstance(node, list):
        separator = "["
        for element in node:
            parts.append(separator)
            _write(element, parts, depth + 1)
            separator = ", "
        parts.append("]" if node else "[]")
    elif isinstance(node, _Number):
        parts.append(node)
    elif isinstance(node, str):
        parts.append(encode_basestring(node))
    else:
        parts.append(_LITERALS[node])


_LITERALS = {None: "null", True: "true", False: "false"}


def _key_order(key: str) -> tuple[int, bytes]:
    stored = key.encode()
    return len(stored), stored
