"""TRANSACTION_PAYLOAD_EVENT, which holds the events of a transaction, compressed (8.0.20).

::

    (field lenenc │ length lenenc │ value) … │ 0 │ payload
        1 payload_size lenenc │ 2 compression_type lenenc │ 3 uncompressed_size lenenc

The events inside have no checksums, and a log_pos of 0: they have no place of their own in the
file.

*Memory.* A payload may expand ten thousand times. It is decompressed while it is read, so what is
held at a time is one event, and what zstd looks back on.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Transaction__payload__event.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from io import BytesIO
from typing import TYPE_CHECKING, Final, Protocol

import zstandard

from connector.binlog.event_types import EventType
from connector.binlog.header import HEADER_LENGTH
from connector.errors import DecodeError, EventError
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event

# Bytes that are decompressed at a time, so that a size that lies allocates nothing.
STEP_LENGTH = 1 << 20

_END = 0
_PAYLOAD_SIZE = 1
_COMPRESSION_TYPE = 2
_UNCOMPRESSED_SIZE = 3

_SIZE_START: Final = 9
_SIZE_END: Final = 13


class CompressionType(IntEnum):
    """How the events are compressed."""

    ZSTD = 0
    NONE = 255


class InnerDecoder(Protocol):
    """Opens the events of one payload, in order."""

    def open(self, data: bytes, number: int) -> Event:
        """Open the `number`th event, from 1."""
        ...


@dataclass(slots=True)
class TransactionPayloadEvent:
    """The events of a transaction behind its GTID event, compressed; `events()` decodes them."""

    compression: CompressionType
    payload_size: int  # bytes, compressed
    uncompressed_size: int  # bytes of the events
    unknown_fields: int  # number of the header's fields that this version does not know
    file: str
    position: int
    _data: bytes = field(repr=False)
    _start: int  # of the payload in `_data`
    _new_decoder: Callable[[], InnerDecoder] = field(repr=False, compare=False)
    # What `events` shows of them; None shows all.
    view: Callable[[Iterator[Event]], Iterator[Event]] | None = field(
        default=None, repr=False, compare=False
    )

    @classmethod
    def decode(
        cls,
        body: PayloadReader,
        file: str,
        position: int,
        new_decoder: Callable[[], InnerDecoder],
    ) -> TransactionPayloadEvent:
        """Decode the body of the event at `position` of `file`.

        `new_decoder` makes the decoder for one pass over the events inside.
        """
        fields: dict[int, int] = {}
        unknown = 0
        while (number := body.read_lenenc()) != _END:
            value = PayloadReader(body.read_lenenc_bytes())
            if number not in (_PAYLOAD_SIZE, _COMPRESSION_TYPE, _UNCOMPRESSED_SIZE):
                unknown += 1
                continue
            fields[number] = value.read_lenenc()
            if value.remaining:
                reason = f"field {number} of the payload's header is longer than its value"
                raise DecodeError(reason)
        if _PAYLOAD_SIZE not in fields or _COMPRESSION_TYPE not in fields:
            reason = "the payload's header lacks its size or its compression"
            raise DecodeError(reason)
        size = fields[_PAYLOAD_SIZE]
        if size != body.remaining:
            reason = f"the payload has {body.remaining} bytes, but its header says {size}"
            raise DecodeError(reason)
        compression = _compression_type(fields[_COMPRESSION_TYPE])
        # Not stated when the events are not compressed.
        uncompressed_size = fields.get(_UNCOMPRESSED_SIZE, size)
        start = body.offset
        body.skip(size)
        return cls(
            compression,
            size,
            uncompressed_size,
            unknown,
            file,
            position,
            body.data,
            start,
            new_decoder,
        )

    def events(self) -> Iterator[Event]:
        """Decompress and decode the events one after the other.

        They have the file and the positions of this event, and no checksum. Raises EventError that
        counts the events from 1 for one that cannot be read.
        """
        events = map(_decoded, self.opened())
        return events if self.view is None else self.view(events)

    def opened(self) -> Iterator[Event]:
        """Decompress the events; each body is decoded at its first use. `view` does not matter.

        Raises EventError as `events` does.
        """
        decoder = self._new_decoder()
        number = 0
        try:
            for data in self._split():
                number += 1
                yield decoder.open(data, number)
        except EventError:
            raise
        except (DecodeError, zstandard.ZstdError) as error:
            reason = f"behind event {number} inside: {error}"
            raise EventError(
                self.file, self.position, EventType.TRANSACTION_PAYLOAD_EVENT.name, reason
            ) from error

    def _split(self) -> Iterator[bytes]:
        """Yield the bytes of each event, by the sizes in their headers."""
        source = self._open()
        left = self.uncompressed_size
        while left:
            head = _read(source, min(HEADER_LENGTH, left))
            size = int.from_bytes(head[_SIZE_START:_SIZE_END], "little")
            if not HEADER_LENGTH <= size <= left:
                reason = (
                    f"the next event says it has {size} bytes, but {left} of "
                    f"{self.uncompressed_size} are left"
                )
                raise DecodeError(reason)
            left -= size
            yield head + _read(source, size - HEADER_LENGTH)
        if source.read(1):
            reason = f"more comes out than the {self.uncompressed_size} bytes that it says"
            raise DecodeError(reason)

    def _open(self) -> BytesIO | zstandard.ZstdDecompressionReader:
        payload = memoryview(self._data)[self._start : self._start + self.payload_size]
        if self.compression is CompressionType.NONE:
            return BytesIO(payload)
        return zstandard.ZstdDecompressor().stream_reader(payload, read_across_frames=True)


def _decoded(event: Event) -> Event:
    _ = event.body
    return event


def _read(source: BytesIO | zstandard.ZstdDecompressionReader, length: int) -> bytes:
    chunks: list[bytes] = []
    while length:
        chunk = source.read(min(length, STEP_LENGTH))
        if not chunk:
            reason = f"the payload ends {length} bytes too soon"
            raise DecodeError(reason)
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def _compression_type(code: int) -> CompressionType:
    try:
        return CompressionType(code)
    except ValueError:
        reason = f"compression type {code} is not known: upgrade the connector"
        raise DecodeError(reason) from None
