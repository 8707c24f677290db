"""Masks, hashes and truncations of text, and the cells that write them.

The results are those of Debezium's options `column.mask.with.length.chars`, `column.mask.hash` and
`column.mask.hash.v2`, and `column.truncate.to.length.chars`.
https://debezium.io/documentation/reference/stable/connectors/mysql.html
"""

import hashlib
import json
from typing import Final, final

from librt.strings import BytesWriter

from connector.binlog.columns.cell_writers import CellWriter
from connector.binlog.columns.column import ColumnReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import quoted
from connector.stream.envelope.debezium.string_cells import with_escapes

# Java's serialized form of a string: the stream's header, and its tag.
# https://docs.oracle.com/en/java/javase/21/docs/specs/serialization/protocol.html
_SHORT_STRING: Final = b"\xac\xed\x00\x05\x74"
_LONG_STRING: Final = b"\xac\xed\x00\x05\x7c"
_SHORT_MAX: Final = 0xFFFF

_UNIT_BYTES: Final = 2


class TextTransform:
    """Makes another text of a value."""

    # What is written for NULL, as JSON.
    null: bytes = b"null"
    # Whether every value becomes the same text.
    constant: bool = False

    def text(self, value: str) -> str:
        """Return the text that records have."""
        raise NotImplementedError


@final
class TextMask(TextTransform):
    """Asterisks, also for NULL."""

    def __init__(self, length: int) -> None:
        """Write `length` asterisks."""
        self._mask = "*" * length
        self.null = f'"{self._mask}"'.encode()
        self.constant = True

    def text(self, value: str) -> str:
        del value
        return self._mask


@final
class TextTruncation(TextTransform):
    """The beginning of a text."""

    def __init__(self, length: int) -> None:
        """Keep `length` units of UTF-16, as Java counts characters."""
        self.length = length

    def text(self, value: str) -> str:
        """Return the beginning, without half of a character."""
        units = value.encode("utf-16-le")
        if len(units) <= self.length * _UNIT_BYTES:
            return value
        return units[: self.length * _UNIT_BYTES].decode("utf-16-le", "ignore")


@final
class TextHash(TextTransform):
    """A hash in hexadecimal digits."""

    def __init__(self, algorithm: str, salt: str, version: int, length: int) -> None:
        """Hash with `algorithm`, by its name in hashlib; keep `length` digits, or all if it is 0.

        Version 1 hashes Java's serialized string, version 2 the text in UTF-8.
        """
        self._algorithm = algorithm
        self._salt = salt.encode()
        self._version = version
        self._length = length

    def text(self, value: str) -> str:
        data = value.encode() if self._version != 1 else java_serialized(value)
        digits = hashlib.new(self._algorithm, self._salt + data).hexdigest()
        return digits[: self._length] if self._length else digits


def java_serialized(value: str) -> bytes:
    """Return a string as Java's ObjectOutputStream writes it."""
    data = _modified_utf8(value)
    if len(data) <= _SHORT_MAX:
        return _SHORT_STRING + len(data).to_bytes(2, "big") + data
    return _LONG_STRING + len(data).to_bytes(8, "big") + data


def _modified_utf8(value: str) -> bytes:
    units = value.encode("utf-16-be")
    each = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), _UNIT_BYTES))
    # Halves of a character, and a NUL of two bytes.
    encoded = "".join(map(chr, each)).encode("utf-8", "surrogatepass")
    return encoded.replace(b"\x00", b"\xc0\x80")


def transformed_json(written: bytes, change: TextTransform, *, escapes: bool) -> bytes:
    """Return the JSON of a value whose own JSON is `written`; `escapes`: with Debezium's."""
    value = json.loads(written)
    if value is None:
        return change.null
    # An ENUM without a label is an object in the profile `exact`.
    text = quoted(change.text(value if isinstance(value, str) else written.decode()))
    return with_escapes(text.decode()).encode() if escapes else text


@final
class ConstantWriter(CellWriter):
    """A cell that is not looked at."""

    __slots__ = ("_reader", "_text")

    def __init__(self, reader: ColumnReader, text: bytes) -> None:
        """Write `text` instead of what `reader` would read."""
        self._reader = reader
        self._text = text

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        self._reader.skip(image)
        out.write(self._text)


@final
class TransformWriter(CellWriter):
    """A text that becomes another one."""

    __slots__ = ("_change", "_escapes", "_scratch", "_written")

    def __init__(self, written: CellWriter, change: TextTransform, *, escapes: bool) -> None:
        """Change what `written` appends; `escapes` as in `changed_json`."""
        self._written = written
        self._change = change
        self._escapes = escapes
        self._scratch = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the changed text in quotes."""
        scratch = self._scratch
        scratch.truncate(0)
        self._written.put(image, scratch)
        out.write(transformed_json(scratch.getvalue(), self._change, escapes=self._escapes))
