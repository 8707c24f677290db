"""The topic of one table: its records between two offsets, and whether Kafka still has them.

Kafka deletes old records. If somebody deletes a topic and makes it again, offsets begin again, and
those that were noted before say nothing about the new records.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafka import KafkaConsumer, TopicPartition

from connector.foundation import contract
from stream_jobs.errors import MirrorError, record_errors
from verification import verify_errors

_POLL_MS: Final = 500


class TopicRecord(NamedTuple):
    """A record of a table's topic."""

    op: str
    value: bytes
    sequence: str  # cdc.seq
    transaction: str  # cdc.txn
    partition: int = 0
    offset: int = 0


class LostRecordsError(Exception):
    """Kafka lacks records of a partition from `offset` on: it has those from `first` to `end`."""

    def __init__(self, topic: str, partition: int, offset: int, first: int, end: int) -> None:
        super().__init__(topic, partition, offset, first, end)
        self._topic = topic
        self._partition = partition
        self._offset = offset
        self._first = first
        self._end = end

    def since(self, number: int, table: str) -> MirrorError:
        """Return the error of what needs the records of a table since the cut with a number."""
        if self._offset > self._end:
            return _shorter(self._topic, self._partition, self._offset, self._end)
        return MirrorError(
            verify_errors.RECORDS_LOST,
            table=table,
            number=number,
            partition=self._partition,
            offset=self._offset,
            first=self._first,
        )


def require_records(
    topic: str, begin: Mapping[int, int], firsts: Mapping[int, int], ends: Mapping[int, int]
) -> None:
    """Raise LostRecordsError unless Kafka has all records of a topic from `begin` on.

    `firsts` are the offsets of the first records that it has, and `ends` those after the last ones;
    all are by partition.
    """
    for number in sorted(begin.keys() | firsts.keys()):
        offset, first, end = (each.get(number, 0) for each in (begin, firsts, ends))
        if not first <= offset <= end:
            raise LostRecordsError(topic, number, offset, first, end)


def read_records(
    consumer: KafkaConsumer,
    topic: str,
    begin: Mapping[int, int],
    end: Mapping[int, int],
    patience_seconds: float,
) -> Iterator[list[TopicRecord]]:
    """Yield the committed records between two offsets of each partition, without tombstones.

    Raises MirrorError if a partition ends before that for so long, and the errors of Kafka.
    """
    for number, stop in end.items():
        partition, first = TopicPartition(topic, number), begin.get(number, 0)
        consumer.assign([partition])
        consumer.seek(partition, first)
        moved_at = time.monotonic()
        while (place := consumer.position(partition)) < stop:
            polled = consumer.poll(timeout_ms=_POLL_MS).get(partition, ())
            records = [
                _record(dict(record.headers), record.value, number, record.offset)
                for record in polled
                if record.value is not None and first <= record.offset < stop
            ]
            if records:
                yield records
            if consumer.position(partition) != place:
                moved_at = time.monotonic()
                continue
            last = consumer.end_offsets([partition])[partition]
            # While a broker takes over, the end may be an earlier one.
            if last < stop and time.monotonic() - moved_at >= patience_seconds:
                raise _shorter(topic, number, stop, last)


def _record(headers: Mapping[str, bytes], value: bytes, partition: int, offset: int) -> TopicRecord:
    op, sequence, transaction = (
        headers[name].decode()
        for name in (contract.HEADER_OP, contract.HEADER_SEQ, contract.HEADER_TXN)
    )
    return TopicRecord(op, value, sequence, transaction, partition, offset)


def _shorter(topic: str, partition: int, offset: int, end: int) -> MirrorError:
    facts = {"partition": partition, "offset": offset, "end": end}
    return MirrorError(record_errors.TOPIC_SHORTER, topic=topic, **facts)
