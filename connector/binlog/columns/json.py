"""JSON columns: a length, then a document.

::

    JSON                             length 1 to 4 bytes │ document
    column of a multi-valued index   length u32 │ document, an array

`json_document` has the layout of documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.json_document import put_json
from connector.binlog.columns.strings import require_blob_length

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.codec.payload import PayloadReader


def json_reader(column: Column) -> JsonReader:
    """Return what reads a JSON column."""
    return JsonReader(require_blob_length(column))


def typed_array_reader(column: Column) -> TypedArrayReader:
    """Return what reads the column of a multi-valued index."""
    del column
    return TypedArrayReader()


class DocumentReader(PrintedReader):
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
        """Return the bytes of the next document, and move past it."""
        return image.read_bytes(image.read_length(self._prefix))

    def skip(self, image: PayloadReader) -> None:
        """Skip the length and as many bytes as it says."""
        image.skip(image.read_length(self._prefix))


@final
class TypedArrayReader(DocumentReader):
    """The column of a multi-valued index: an array."""

    __slots__ = ()

    def read_document(self, image: PayloadReader) -> bytes:
        """Return the bytes of the next array, and move past it."""
        return image.read_bytes(image.read_uint32())

    def skip(self, image: PayloadReader) -> None:
        """Skip the length, u32, and as many bytes as it says."""
        image.skip(image.read_uint32())
