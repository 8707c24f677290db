"""The bytes of a fetch become the committed records of a partition, or an error with the offset."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import zlib
from dataclasses import dataclass, field

import crc32c
import lz4.frame
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from connector.foundation.record_batch import HEADER_BYTES
from connector.foundation.record_reader import RecordColumns
from stream_jobs.errors import MirrorError, record_errors
from stream_jobs.source import record_batches
from stream_jobs.source.record_batches import (
    AbortedTransaction,
    FetchResponse,
    first_committed_time,
    read_committed_records,
)
from tests.foundation.errors.texts import text_of
from tests.foundation.test_record_batch import Sample, samples
from tests.foundation.test_record_reader import batch_of

COMMIT, ABORT = 1, 0
TRANSACTIONAL, CONTROL = 0x10, 0x20
HEADER = struct.Struct(">hiqqqhii")


def xerial(data: bytes) -> bytes:
    """As the library snappy-java frames it."""
    half = len(data) // 2
    blocks = [snappy(data[:half]), snappy(data[half:])]
    framed = b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + framed


def snappy(data: bytes) -> bytes:
    compressed: bytes = pa.Codec("snappy").compress(data, asbytes=True)
    return compressed


CODECS = {
    "none": (0, bytes),
    "gzip": (1, gzip.compress),
    "xerial": (2, xerial),
    "snappy": (2, snappy),
    "lz4": (3, lz4.frame.compress),
    "zstd": (4, zstandard.ZstdCompressor(write_content_size=False).compress),
}


@dataclass
class Log:
    """A partition as a broker stores it."""

    data: bytearray = field(default_factory=bytearray)
    end: int = 0
    aborted: list[AbortedTransaction] = field(default_factory=list)

    def append(self, records: list[Sample], codec: str = "none", producer: int = -1) -> None:
        attributes, compress = CODECS[codec]
        if producer >= 0:
            attributes |= TRANSACTIONAL
        body = batch_of(records)[HEADER_BYTES:]
        self.add(attributes, len(records), producer, compress(body))

    def end_transaction(self, producer: int, kind: int) -> None:
        key = struct.pack(">hh", 0, kind)
        record = b"\0\0\0" + b"\x08" + key + b"\x0c" + bytes(6) + b"\0"
        body = bytes([len(record) * 2]) + record
        self.add(TRANSACTIONAL | CONTROL, 1, producer, body)

    def add(self, attributes: int, count: int, producer: int, body: bytes) -> None:
        rest = HEADER.pack(attributes, count - 1, 0, 0, producer, 0, -1, count) + body
        head = struct.pack(">ib", 0, 2) + struct.pack(">I", crc32c.crc32c(rest))
        batch = head + rest
        self.data += struct.pack(">qi", self.end, len(batch)) + batch
        self.end += count

    def read(self, first: int = 0, end: int | None = None) -> tuple[RecordColumns, int]:
        out = RecordColumns()
        fetched = FetchResponse("t", 3, bytes(self.data), tuple(self.aborted))
        return out, read_committed_records(fetched, first, self.end if end is None else end, out)


def sample(value: bytes) -> Sample:
    return Sample(b"k", value, [], 5)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read(codec: str) -> None:
    log = Log()
    values = [b"%d" % number * 50 for number in range(200)]
    log.append([sample(value) for value in values], codec)
    out, next_offset = log.read()
    assert out.values == values
    assert next_offset == 200


@given(st.lists(st.lists(samples, min_size=1, max_size=8), min_size=1, max_size=6), st.data())
def test_the_records_are_those_that_the_kafka_client_reads(
    batches: list[list[Sample]], data: st.DataObject
) -> None:
    log = Log()
    for records in batches:
        log.append(records, data.draw(st.sampled_from(["none", "gzip", "lz4"])))
    first = data.draw(st.integers(0, log.end))
    end = data.draw(st.integers(first, log.end))
    theirs = []
    memory = MemoryRecords(bytes(log.data))
    while (batch := memory.next_batch()) is not None:
        theirs += [(r.key, r.value) for r in batch if first <= r.offset < end]
    out, next_offset = log.read(first, end)
    assert list(zip(out.keys, out.values, strict=True)) == theirs
    assert next_offset >= end


def test_records_that_were_rolled_back_and_markers_are_left_out() -> None:
    log = Log()
    log.append([sample(b"1 committed")], producer=1)
    log.aborted.append(AbortedTransaction(2, log.end))
    log.append([sample(b"2 rolled back")], producer=2)
    log.append([sample(b"1 again")], producer=1)
    log.append([sample(b"2 rolled back, too")], producer=2)
    log.end_transaction(2, ABORT)
    log.append([sample(b"2 in its next transaction")], producer=2)
    log.append([sample(b"no transaction")])
    log.end_transaction(1, COMMIT)
    log.end_transaction(2, COMMIT)
    out, next_offset = log.read()
    assert out.values == [
        b"1 committed",
        b"1 again",
        b"2 in its next transaction",
        b"no transaction",
    ]
    assert next_offset == log.end == 9


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    log = Log()
    log.append([sample(b"first")])
    whole = len(log.data)
    log.append([sample(b"second")])
    for length in range(whole, len(log.data)):
        out = RecordColumns()
        cut = FetchResponse("t", 3, bytes(log.data[:length]), ())
        assert read_committed_records(cut, 0, 2, out) == 1
        assert out.values == [b"first"]


def damaged(log: Log) -> str:
    with pytest.raises(MirrorError) as caught:
        log.read()
    assert caught.value.code == record_errors.DAMAGED_BATCH
    return caught.value.text


def test_a_damaged_byte_anywhere_is_an_error_with_the_offset() -> None:
    log = Log()
    log.append([sample(b"first"), sample(b"second")])
    whole = len(log.data)
    log.append([sample(b"third")], "gzip")
    # Behind the checksum; what is before it has its own ways to be wrong.
    for at in range(whole + 21, len(log.data)):
        log.data[at] ^= 0x40
        assert damaged(log) == (
            "t, partition 3, offset 2: the record batch is damaged; check the disks of the "
            "brokers, and resume the table; to give up the batch, let Kafka delete the records up "
            "to it, let the connector copy the table again (`binlog-connector snapshot`), and then "
            "let the mirror be made again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`"
        )
        log.data[at] ^= 0x40
    log.data[whole + 16] = 1
    assert damaged(log).startswith("t, partition 3, offset 2: ")


@pytest.mark.parametrize("length", [-12, -65_536, 0, 48])
def test_a_length_that_no_batch_has_is_an_error_for_whoever_reads_it(length: int) -> None:
    log = Log()
    log.append([sample(b"first")], producer=2)
    log.aborted.append(AbortedTransaction(2, 0))
    whole = len(log.data)
    log.append([sample(b"second")])
    struct.pack_into(">i", log.data, whole + 8, length)
    assert damaged(log).startswith("t, partition 3, offset 1: ")
    with pytest.raises(MirrorError) as caught:
        first_committed_time(FetchResponse("t", 3, bytes(log.data), tuple(log.aborted)), 0)
    assert caught.value.text == damaged(log)


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4, 7])
def test_records_that_do_not_have_the_announced_form_are_an_error(codec: int) -> None:
    for body in (b"", b"\x82SNAPPY\x00" + bytes(20), b"\xff" * 40):
        log = Log()
        log.add(codec, 1, -1, body)
        assert damaged(log).startswith("t, partition 3, offset 0: ")


def bomb(codec: int, size: int) -> bytes:
    """Return few bytes that stand for many."""
    if codec == 1:
        stream = zlib.compressobj(wbits=31)
        return b"".join(stream.compress(bytes(1 << 20)) for _ in range(size >> 20)) + stream.flush()
    if codec == 2:
        block = snappy(bytes(1 << 20))
        framed = len(block).to_bytes(4, "big") + block
        return b"\x82SNAPPY\x00" + bytes(8) + framed * (size >> 20)
    if codec == 3:
        packer = lz4.frame.LZ4FrameCompressor()
        packed: bytes = packer.begin()
        packed += b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20))
        packed += packer.flush()
        return packed
    frame = zstandard.ZstdCompressor().compressobj()
    return b"".join(frame.compress(bytes(1 << 20)) for _ in range(size >> 20)) + frame.flush()


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_that_would_fill_the_memory_is_refused_with_its_offset(
    codec: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 1 << 23
    for module in (record_batches, record_batches):
        monkeypatch.setattr(module, "CONTENT_BYTES_MAX", limit)
    log = Log()
    log.append([sample(b"first")])
    log.add(codec, 1, -1, bomb(codec, 8 * limit))
    tracemalloc.start()
    try:
        with pytest.raises(MirrorError) as caught:
            log.read()
        assert tracemalloc.get_traced_memory()[1] < 4 * limit
    finally:
        tracemalloc.stop()
    assert caught.value.text == text_of(
        record_errors.BATCH_TOO_LARGE, topic="t", partition=3, offset=1, limit=limit
    )


def test_a_frame_that_only_says_that_it_is_large_is_refused() -> None:
    # A header of Zstandard with a content size of eight bytes.
    log = Log()
    log.add(4, 1, -1, b"\x28\xb5\x2f\xfd\xe0" + (1 << 40).to_bytes(8, "little"))
    with pytest.raises(MirrorError) as caught:
        log.read()
    assert caught.value.code == record_errors.BATCH_TOO_LARGE
