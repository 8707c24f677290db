"""The rows of one rows event become records.

The value is Debezium's envelope with values of the `lossless` profile::

    {"before":…,"after":…,"source":{…,"row":n,…},"transaction":null,"op":"u","ts_ms":…,…}

Whatever the rows of an event share is composed once, here, so a row adds only what is its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from connector.envelope.contract import (
    HEADER_OP,
    HEADER_SCHEMA,
    HEADER_SEQ,
    HEADER_TXN,
    OP_CREATE,
    OP_DELETE,
    OP_TRUNCATE,
    OP_UPDATE,
    Sequence,
)
from connector.envelope.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.binlog.rows_event import Row
    from connector.changes.transaction import Transaction
    from connector.envelope.row_encoder import RowEncoder

US_PER_MS = 1000
NS_PER_US = 1000
# A sequence counts halves of rows: the delete side and the create side of a primary key change.
HALVES = 2

# Headers of Debezium's records of a primary key change, which its consumers know.
_NEW_KEY = "__debezium.newkey"
_OLD_KEY = "__debezium.oldkey"

Headers = list[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """What the records of one pipeline have in common."""

    prefix: str
    connector: str  # "mysql" or "mariadb"
    version: str
    tombstones: bool = True


class EventEncoder:
    """Writes the records of one event; `first` is the sequence of its first row."""

    def __init__(
        self,
        options: EnvelopeOptions,
        transaction: Transaction,
        event: Event,
        table: tuple[str, str],
        schema_id: str,
        topic: str,
        first: Sequence,
        now_us: int,
    ) -> None:
        """Compose what the records share; `now_us` is the time of encoding."""
        self._topic = topic
        self._tombstones = options.tombstones
        self._first = first
        self._timestamp_ms = transaction.committed_us // US_PER_MS
        self._shared_headers: Headers = [
            (HEADER_SCHEMA, schema_id.encode()),
            (HEADER_TXN, transaction.id.encode()),
        ]
        self._source, self._source_end = _source(options, transaction, event, table)
        self._times = (
            f'"ts_ms":{now_us // US_PER_MS},"ts_us":{now_us},"ts_ns":{now_us * NS_PER_US}}}'
        )

    def rows(self, encoder: RowEncoder, number: int, row: Row) -> Iterator[Record]:
        """Yield the records of the event's row `number`."""
        before, after = row.before, row.after
        sequence = self._sequence(number, 0)
        if before is None:
            if after is not None:
                image = encoder.image(after)
                yield self._record(OP_CREATE, encoder.key(after), "null", image, number, sequence)
            return
        old_key, old_image = encoder.key(before), encoder.image(before)
        if after is None:
            yield from self._delete(old_key, old_image, number, sequence)
            return
        new_key, new_image = encoder.key(after), encoder.image(after)
        if old_key is None or new_key is None or old_key == new_key:
            yield self._record(OP_UPDATE, old_key, old_image, new_image, number, sequence)
            return
        # The row moves to another key, and perhaps to another partition.
        yield from self._delete(old_key, old_image, number, sequence, (_NEW_KEY, new_key))
        moved = self._sequence(number, 1)
        yield self._record(
            OP_CREATE, new_key, "null", new_image, number, moved, (_OLD_KEY, old_key)
        )

    def truncate(self) -> Record:
        """Return the record which says that all earlier rows of the table are gone."""
        return self._record(OP_TRUNCATE, None, "null", "null", 0, self._first)

    def _delete(
        self,
        key: bytes | None,
        image: str,
        number: int,
        sequence: Sequence,
        *headers: tuple[str, bytes],
    ) -> Iterator[Record]:
        deleted = self._record(OP_DELETE, key, image, "null", number, sequence, *headers)
        yield deleted
        if self._tombstones and key is not None:
            yield deleted._replace(value=None)

    def _record(
        self,
        op: str,
        key: bytes | None,
        before: str,
        after: str,
        number: int,
        sequence: Sequence,
        *headers: tuple[str, bytes],
    ) -> Record:
        value = (
            f'{{"before":{before},"after":{after},{self._source}{number}{self._source_end}'
            f'"op":"{op}",{self._times}'
        )
        return Record(
            self._topic,
            key,
            value.encode(),
            [
                (HEADER_SEQ, str(sequence).encode()),
                (HEADER_OP, op.encode()),
                *self._shared_headers,
                *headers,
            ],
            self._timestamp_ms,
        )

    def _sequence(self, number: int, half: int) -> Sequence:
        first = self._first
        return Sequence(
            first.epoch, first.file, first.position, first.event, number * HALVES + half
        )


def _source(
    options: EnvelopeOptions, transaction: Transaction, event: Event, table: tuple[str, str]
) -> tuple[str, str]:
    """Return the source block up to the number of the row, and what follows it."""
    committed_us = transaction.committed_us
    gtid = "null" if transaction.gtid is None else f'"{transaction.gtid}"'
    thread = "null" if transaction.thread_id is None else str(transaction.thread_id)
    database, name = map(encode_basestring, table)
    start = (
        f'"source":{{"version":"{options.version}","connector":"{options.connector}",'
        f'"name":"{options.prefix}","ts_ms":{committed_us // US_PER_MS},"snapshot":"false",'
        f'"db":{database},"sequence":null,"ts_us":{committed_us},'
        f'"ts_ns":{committed_us * NS_PER_US},"table":{name},'
        f'"server_id":{event.header.server_id},"gtid":{gtid},'
        f'"file":{encode_basestring(event.file)},"pos":{event.position},"row":'
    )
    return start, f',"thread":{thread},"query":null}},"transaction":null,'
