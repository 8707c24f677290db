"""Transactions of the log in a folder: their rules are those of a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kafka import errors

from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.results import NO_OFFSET, Offsets
from tests.kafka.folder.record_batches import batch, batches_of, committed, records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.kafka.folder.results import PartitionId

ID = "pipeline"
ORDERS = "orders", 0
ITEMS = "items", 1
MIB = 1 << 20


class Now:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def log(tmp_path: Path, now: Now) -> Iterator[FolderLog]:
    log = FolderLog(tmp_path / "log", now_ms=now)
    log.create_topic("orders", 1, {})
    log.create_topic("items", 2, {})
    yield log
    log.close()


def write(
    log: FolderLog,
    producer: tuple[int, int],
    sequence: int,
    *values: bytes,
    partition: PartitionId = ORDERS,
) -> int:
    """Add a partition to the transaction, and append a batch."""
    log.add_to_transaction(ID, *producer, [partition])
    return log.append(partition, batch(values, producer, sequence, transactional=True), ID)


def read(log: FolderLog, partition: PartitionId = ORDERS) -> list[bytes]:
    return committed(log.fetch(partition, 0, MIB, committed=True))


def test_a_transaction_is_seen_in_all_partitions_once_it_is_committed(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"a", b"b")
    write(log, producer, 0, b"c", partition=ITEMS)
    assert read(log) == read(log, ITEMS) == []
    assert log.offsets(ORDERS) == Offsets(0, 0, 0)
    log.sync()
    assert log.offsets(ORDERS) == Offsets(0, 2, 0)
    assert records(log.fetch(ORDERS, 0, MIB, committed=False)) == [(0, b"a"), (1, b"b")]
    log.end_transaction(ID, *producer, commit=True)
    assert read(log) == [b"a", b"b"]
    assert read(log, ITEMS) == [b"c"]
    # The marker has an offset.
    assert log.offsets(ORDERS) == Offsets(0, 3, 3)


def test_an_aborted_transaction_is_told_with_the_records(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"a")
    log.end_transaction(ID, *producer, commit=True)
    write(log, producer, 1, b"b")
    write(log, producer, 2, b"c")
    log.end_transaction(ID, *producer, commit=False)
    write(log, producer, 3, b"d")
    log.end_transaction(ID, *producer, commit=True)
    fetched = log.fetch(ORDERS, 0, MIB, committed=True)
    assert fetched.aborted == [(producer[0], 2)]
    assert committed(fetched) == [b"a", b"d"]
    assert [value for _, value in records(fetched)] == [b"a", b"b", b"c", b"d"]
    # Behind the transaction, nobody needs to know of it.
    assert log.fetch(ORDERS, 5, MIB, committed=True).aborted == []
    assert log.fetch(ORDERS, 4, MIB, committed=True).aborted == [(producer[0], 2)]
    assert log.fetch(ORDERS, 0, MIB, committed=False).aborted == []


def test_an_open_transaction_holds_back_what_follows_it(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"open")
    assert log.append(ORDERS, batch([b"plain"]), None) == 1
    assert log.offsets(ORDERS) == Offsets(0, 2, 0)
    assert read(log) == []
    log.end_transaction(ID, *producer, commit=True)
    assert read(log) == [b"open", b"plain"]


def test_a_partition_without_records_gets_its_marker(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    log.add_to_transaction(ID, *producer, [ORDERS])
    (open_one,) = log.transactions()
    assert open_one.partitions == {ORDERS: NO_OFFSET}
    log.end_transaction(ID, *producer, commit=False)
    assert log.transactions() == []
    assert log.offsets(ORDERS) == Offsets(0, 1, 1)
    assert log.fetch(ORDERS, 0, MIB, committed=True).aborted == []


def test_the_end_of_a_transaction_may_be_asked_for_twice(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    with pytest.raises(errors.InvalidTxnStateError):
        log.end_transaction(ID, *producer, commit=True)
    write(log, producer, 0, b"a")
    log.end_transaction(ID, *producer, commit=True)
    log.end_transaction(ID, *producer, commit=True)
    assert log.offsets(ORDERS).latest == 2
    with pytest.raises(errors.InvalidTxnStateError):
        log.end_transaction(ID, *producer, commit=False)


def test_a_new_producer_aborts_what_is_open_and_fences_the_old_one(log: FolderLog) -> None:
    old = log.init_producer(ID, 60_000, None)
    write(log, old, 0, b"a")
    new = log.init_producer(ID, 60_000, None)
    assert new == (old[0], old[1] + 1)
    assert log.transactions() == []
    with pytest.raises(errors.ProducerFencedError):
        log.end_transaction(ID, *old, commit=True)
    with pytest.raises(errors.ProducerFencedError):
        log.add_to_transaction(ID, *old, [ORDERS])
    with pytest.raises(errors.InvalidProducerEpochError):
        log.append(ORDERS, batch([b"b"], old, 1, transactional=True), ID)
    write(log, new, 0, b"c")
    log.end_transaction(ID, *new, commit=True)
    assert read(log) == [b"c"]


def test_a_producer_gets_its_next_epoch_once(log: FolderLog) -> None:
    first = log.init_producer(ID, 60_000, None)
    second = log.init_producer(ID, 60_000, first)
    assert second == (first[0], first[1] + 1)
    # The answer was lost.
    assert log.init_producer(ID, 60_000, first) == second
    third = log.init_producer(ID, 60_000, None)
    for fenced in (first, second, (first[0] + 1, third[1])):
        with pytest.raises(errors.ProducerFencedError):
            log.init_producer(ID, 60_000, fenced)


def test_epochs_that_are_used_up_lead_to_another_id(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    log._core.state.transactional[ID].epoch = 0x7FFE  # 32,766 times are too slow
    write(log, (producer[0], 0x7FFE), 0, b"a")
    new = log.init_producer(ID, 60_000, None)
    assert new == (producer[0] + 1, 0)
    write(log, new, 0, b"b")
    log.end_transaction(ID, *new, commit=True)
    assert read(log) == [b"b"]


def test_a_transaction_ends_when_its_time_is_up(log: FolderLog, now: Now) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"a")
    now.ms += 60_000
    log.end_late_transactions()
    assert len(log.transactions()) == 1
    now.ms += 1
    log.end_late_transactions()
    assert log.transactions() == []
    assert read(log) == []
    with pytest.raises(errors.ProducerFencedError):
        log.end_transaction(ID, *producer, commit=True)
    # It may go on with the next epoch, as after an abort by a broker.
    assert log.init_producer(ID, 60_000, producer) == (producer[0], producer[1] + 1)


def test_a_batch_that_comes_twice_is_kept_once(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    for number in range(7):
        assert write(log, producer, number, b"%d" % number) == number
    repeated = batch([b"6"], producer, 6, transactional=True)
    assert log.append(ORDERS, repeated, ID) == 6
    with pytest.raises(errors.DuplicateSequenceNumberError):
        log.append(ORDERS, batch([b"0"], producer, 0, transactional=True), ID)
    with pytest.raises(errors.OutOfOrderSequenceNumberError):
        log.append(ORDERS, batch([b"8"], producer, 8, transactional=True), ID)
    log.end_transaction(ID, *producer, commit=True)
    assert log.append(ORDERS, repeated, ID) == 6
    assert len(read(log)) == 7


def test_the_first_number_of_a_partition_is_0(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    with pytest.raises(errors.OutOfOrderSequenceNumberError):
        write(log, producer, 1, b"a")
    plain = log.init_producer(None, 0, None)
    assert log.append(ORDERS, batch([b"a"], plain, 0), None) == 0
    # Such a producer raises its epoch itself.
    renewed = plain[0], plain[1] + 1
    with pytest.raises(errors.OutOfOrderSequenceNumberError):
        log.append(ORDERS, batch([b"b"], renewed, 1), None)
    assert log.append(ORDERS, batch([b"b"], renewed, 0), None) == 1
    with pytest.raises(errors.InvalidProducerEpochError):
        log.append(ORDERS, batch([b"c"], plain, 1), None)


def test_numbers_begin_again_after_the_largest_one(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"a")
    recent = log._core.state.transactional[ID].recent  # after 2^31 records
    (key,) = recent
    recent[key][-1] = recent[key][-1]._replace(first=0x7FFF_FFFE, last=0x7FFF_FFFE)
    write(log, producer, 0x7FFF_FFFF, b"b", b"c")
    write(log, producer, 1, b"d")


def test_only_partitions_of_the_transaction_are_written(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    data = batch([b"a"], producer, 0, transactional=True)
    with pytest.raises(errors.InvalidTxnStateError):
        log.append(ORDERS, data, ID)
    log.add_to_transaction(ID, *producer, [ITEMS])
    with pytest.raises(errors.InvalidTxnStateError):
        log.append(ORDERS, data, ID)
    with pytest.raises(errors.InvalidProducerIdMappingError):
        log.append(ORDERS, data, "another")
    with pytest.raises(errors.InvalidTxnStateError):
        log.append(ORDERS, batch([b"a"], producer, 0), ID)
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        log.add_to_transaction(ID, *producer, [("orders", 1)])
    with pytest.raises(errors.InvalidProducerIdMappingError):
        log.add_to_transaction("another", *producer, [ORDERS])
    with pytest.raises(errors.UnknownProducerIdError):
        log.append(ORDERS, batch([b"a"], (99, 0), 0), None)
    with pytest.raises(errors.InvalidTransactionTimeoutError):
        log.init_producer(ID, 0, None)


def test_all_is_as_before_after_another_opening(log: FolderLog, tmp_path: Path, now: Now) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"a")
    log.end_transaction(ID, *producer, commit=False)
    write(log, producer, 1, b"b")
    before = log.transactions()
    log.close()
    log.close()
    log = FolderLog(tmp_path / "log", now_ms=now)
    try:
        # The transaction goes on, with its numbers.
        assert log.openings == 2
        assert log.transactions() == before
        write(log, producer, 2, b"c")
        log.end_transaction(ID, *producer, commit=True)
        assert read(log) == [b"b", b"c"]
        assert len(batches_of(log.fetch(ORDERS, 0, MIB, committed=True).records)) == 5
    finally:
        log.close()


def test_a_deleted_topic_leaves_its_transaction(log: FolderLog) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"a")
    write(log, producer, 0, b"b", partition=ITEMS)
    log.delete_topic("orders")
    assert log.create_topic("orders", 1, {}).partitions == 1
    log.end_transaction(ID, *producer, commit=True)
    assert log.offsets(ORDERS) == Offsets(0, 0, 0)
    assert read(log, ITEMS) == [b"b"]


def test_a_producer_goes_on_with_its_numbers_in_a_topic_that_was_made_again(
    log: FolderLog,
) -> None:
    producer = log.init_producer(ID, 60_000, None)
    write(log, producer, 0, b"a", b"b")
    log.end_transaction(ID, *producer, commit=True)
    log.delete_topic("orders")
    log.create_topic("orders", 1, {})
    assert write(log, producer, 2, b"c") == 0
    with pytest.raises(errors.OutOfOrderSequenceNumberError):
        write(log, producer, 4, b"e")
    # It has written nothing in the other topic, where its numbers begin at 0.
    with pytest.raises(errors.OutOfOrderSequenceNumberError):
        write(log, producer, 1, b"b", partition=ITEMS)
