"""Record batches for the log of a folder, and what a reader makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from connector.kafka.folder.batches import header_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.kafka.folder.results import Fetched

NO_PRODUCER = (-1, -1)


def batch(
    values: Sequence[bytes],
    producer: tuple[int, int] = NO_PRODUCER,
    sequence: int = -1,
    *,
    transactional: bool = False,
    keys: Sequence[bytes | None] | None = None,
    time_ms: int = 1_000,
    codec: int = 0,
) -> bytes:
    """Return a batch of records; `producer` has id and epoch, the times grow by 1 ms."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, *producer, sequence, 10_000_000)
    for at, value in enumerate(values):
        builder.append(at, time_ms + at, keys[at] if keys else None, value, [])
    return bytes(builder.build())


def records(fetched: Fetched) -> list[tuple[int, bytes]]:
    """Return offsets and values of all records, but for markers."""
    return [
        (record.offset, record.value)
        for each in batches_of(fetched.records)
        if not header_of(each).is_control
        for record in DefaultRecordBatch(each)
    ]


def committed(fetched: Fetched) -> list[bytes]:
    """Return the values of records whose transactions are committed, as a consumer finds them."""
    values = []
    aborted = list(fetched.aborted)
    dead = set()
    for each in batches_of(fetched.records):
        header = header_of(each)
        while aborted and aborted[0][1] <= header.last_offset:
            dead.add(aborted.pop(0)[0])
        if header.is_control:
            dead.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dead):
            values += [record.value for record in DefaultRecordBatch(each)]
    return values


def batches_of(data: bytes) -> list[bytes]:
    """Return the batches one by one; each is checked as a consumer does it."""
    found = []
    memory = MemoryRecords(data)
    at = 0
    while memory.has_next():
        parsed = memory.next_batch()
        assert parsed.validate_crc()
        size = header_of(data[at:]).length + 12
        found.append(data[at : at + size])
        at += size
    assert at == len(data)
    return found
