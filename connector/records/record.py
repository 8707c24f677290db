"""Records on their way to Kafka: the interface that takes them, and a record as an object.

Headers have the form of a Kafka record from the start, so they are encoded once and then copied::

    count varint │ (name length varint │ name │ value length varint │ value) …

https://kafka.apache.org/documentation/#record
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy_extensions import i64, mypyc_attr

from connector.records.varint import put_varint, read_varint

if TYPE_CHECKING:
    from librt.strings import BytesWriter

NO_HEADERS: Final = b"\x00"


class Record(NamedTuple):
    """Bytes for a topic; the sink chooses the partition by the key."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, Any]]  # bytes, or None for NULL
    timestamp_ms: int  # time of the source's commit


@mypyc_attr(allow_interpreted_subclasses=True)
class RecordTarget:
    """Takes records, in their order."""

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Take one record; `headers` are encoded, `timestamp_ms` is when the source committed.

        Raises before anything is taken if the record is too large for the target, or the topic is
        missing and cannot be created.
        """
        raise NotImplementedError

    def require_room(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes
    ) -> None:
        """Raise the errors that `take` would raise before it takes a record that is too large."""

    def require_topic(self, topic: str) -> None:
        """Raise the error that `take` would raise because the target cannot create `topic`."""


def put_header(out: BytesWriter, name: bytes, value: bytes) -> None:
    """Append one header; the caller writes the count of all headers first, as a varint."""
    put_varint(out, len(name))
    out.write(name)
    put_varint(out, len(value))
    out.write(value)


def decode_headers(headers: bytes) -> list[tuple[str, Any]]:
    """Return the headers of a record as names and values; a value may be NULL."""
    count, at = read_varint(headers, 0)
    decoded: list[tuple[str, Any]] = []
    for _ in range(count):
        length, at = read_varint(headers, at)
        name = headers[at : at + length].decode()
        length, at = read_varint(headers, at + length)
        if length < 0:
            decoded.append((name, None))
            continue
        decoded.append((name, headers[at : at + length]))
        at += length
    return decoded
