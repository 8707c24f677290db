"""Batches of our writer and of the Kafka client become the same columns."""

from __future__ import annotations

import struct
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from connector.foundation.record_batch import HEADER_BYTES
from connector.foundation.record_reader import (
    NO_OP,
    NO_SCHEMA,
    NO_SEQUENCE,
    SEQUENCE_BYTES,
    WRONG_OP,
    WRONG_SEQUENCE,
    DamagedRecordsError,
    RecordColumns,
    read_records,
)
from tests.foundation.test_record_batch import Receiver, Sample, encoded, samples, target_of

BASE = 2**40


class Columns(NamedTuple):
    keys: list[bytes | None]
    values: list[bytes | None]
    offsets: list[int]
    sequences: list[bytes]
    ops: list[int]
    schema_ids: list[bytes | None]


def columns_of(out: RecordColumns) -> Columns:
    count = len(out.keys)
    digits, numbers = out.sequences.getvalue(), out.schemas.getvalue()
    indexes = struct.unpack(f"<{count}i", numbers)
    return Columns(
        out.keys,
        out.values,
        list(struct.unpack(f"<{count}q", out.offsets.getvalue())),
        [digits[n * SEQUENCE_BYTES :][:SEQUENCE_BYTES] for n in range(count)],
        list(out.ops.getvalue()),
        [None if n == NO_SCHEMA else out.schema_ids[n] for n in indexes],
    )


def batch_of(records: list[Sample]) -> bytes:
    receiver = Receiver()
    target = target_of(receiver)
    for record in records:
        target.take("t", record.key, record.value, encoded(record.headers), record.timestamp_ms)
    target.flush()
    return receiver.batches[0].data


def read(data: bytes, count: int, first: int = 0, end: int = 2**62) -> Columns:
    out = RecordColumns()
    read_records(data, HEADER_BYTES, count, BASE, first, end, out)
    return columns_of(out)


def first_header(record: Sample, name: str) -> bytes | None:
    return next((value for each, value in record.headers if each == name), None)


def expected(records: list[Sample]) -> Columns:
    sequences = [first_header(record, "cdc.seq") for record in records]
    ops = [first_header(record, "cdc.op") for record in records]
    return Columns(
        [record.key for record in records],
        [record.value for record in records],
        [BASE + number for number in range(len(records))],
        [
            NO_SEQUENCE if each is None else each if len(each) == SEQUENCE_BYTES else WRONG_SEQUENCE
            for each in sequences
        ],
        [NO_OP if op is None else max(op[0], 1) if len(op) == 1 else WRONG_OP for op in ops],
        [first_header(record, "cdc.schema") for record in records],
    )


names = st.sampled_from(["cdc.seq", "cdc.op", "cdc.schema", "cdc.txn", "other", ""])
sequences = st.text("0123456789", min_size=38, max_size=38).map(str.encode)
changes = st.builds(
    Sample,
    st.none() | st.binary(max_size=200),
    st.none() | st.binary(max_size=300),
    st.lists(st.tuples(names, sequences | st.binary(max_size=20)), max_size=5)
    | st.builds(
        lambda seq, op, schema: [("cdc.seq", seq), ("cdc.op", op), ("cdc.schema", schema)],
        sequences,
        st.sampled_from([b"c", b"u", b"d", b"t", b"r"]),
        st.sampled_from([b"one", b"two"]),
    ),
    st.integers(0, 2**42),
)


@given(st.lists(changes, min_size=1, max_size=60))
def test_records_of_our_writer_become_columns(records: list[Sample]) -> None:
    # A second header of a name that comes after an empty first one is not looked for.
    assert read(batch_of(records), len(records)) == expected(records)


@given(st.lists(changes, min_size=1, max_size=60))
def test_records_of_the_kafka_client_become_columns(records: list[Sample]) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    for number, record in enumerate(records):
        builder.append(number, record.timestamp_ms, record.key, record.value, record.headers)
    assert read(bytes(builder.build()), len(records)) == expected(records)


@given(st.lists(samples, min_size=1, max_size=30), st.integers(0, 40), st.integers(0, 40))
def test_records_outside_of_the_range_are_left_out(
    records: list[Sample], first: int, length: int
) -> None:
    found = read(batch_of(records), len(records), BASE + first, BASE + first + length)
    assert found.keys == [record.key for record in records][first : first + length]
    assert len(found.ops) == len(found.keys)


@given(st.lists(samples, min_size=1, max_size=10), st.data())
def test_a_batch_that_is_cut_anywhere_is_damaged(
    records: list[Sample], data: st.DataObject
) -> None:
    whole = batch_of(records)
    cut = data.draw(st.integers(HEADER_BYTES, len(whole) - 1))
    with pytest.raises(DamagedRecordsError):
        read(whole[:cut], len(records))


@given(st.binary(max_size=200), st.integers(1, 5))
def test_any_bytes_are_records_or_damaged(data: bytes, count: int) -> None:
    out = RecordColumns()
    try:
        read_records(data, 0, count, 0, 0, 2**62, out)
    except DamagedRecordsError:
        return
    assert len(out.keys) == len(out.ops.getvalue())
