"""Topics of the log in a folder, what is fetched from them, and who waits for it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import errors
from kafka.record.default_records import DefaultRecordBase

from connector.kafka.folder import segment_index
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.results import FolderInUse, Offsets, TimedOffset
from tests.kafka.folder.record_batches import batch, batches_of, records

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDERS = "orders", 0
MIB = 1 << 20


@pytest.fixture
def log(tmp_path: Path) -> Iterator[FolderLog]:
    log = FolderLog(tmp_path / "log", segment_bytes=2_000)
    log.create_topic("orders", 1, {})
    yield log
    log.close()


def reopened(log: FolderLog, tmp_path: Path) -> FolderLog:
    log.close()
    return FolderLog(tmp_path / "log", segment_bytes=2_000)


def test_topics_are_created_changed_and_deleted(log: FolderLog, tmp_path: Path) -> None:
    items = log.create_topic("items", 3, {"retention.ms": "-1"})
    assert len(items.topic_id) == 16
    changed = log.change_topic("items", {"cleanup.policy": "compact"})
    assert changed == items._replace(configuration={"cleanup.policy": "compact"})
    grown = log.add_partitions_to_topic("items", 5)
    assert grown.partitions == 5
    assert log.append(("items", 4), batch([b"a"]), None) == 0
    log.delete_topic("orders")
    assert log.topics() == {"items": grown}
    log = reopened(log, tmp_path)
    assert log.topics() == {"items": grown}
    assert log.offsets(("items", 4)) == Offsets(0, 1, 1)
    # A topic of the same name is another one.
    log.delete_topic("items")
    again = log.create_topic("items", 5, {})
    assert again.topic_id != items.topic_id
    assert log.offsets(("items", 4)) == Offsets(0, 0, 0)
    log.close()


def test_what_cannot_be_a_topic_is_refused(log: FolderLog) -> None:
    with pytest.raises(errors.TopicAlreadyExistsError):
        log.create_topic("orders", 1, {})
    for name in ("", "a/b", ".", "..", "x" * 250, "ü"):
        with pytest.raises(errors.InvalidTopicError):
            log.create_topic(name, 1, {})
    with pytest.raises(errors.InvalidPartitionsError):
        log.create_topic("items", 0, {})
    for wrong in ({"retention.ms": "a week"}, {"cleanup.policy": "none"}):
        with pytest.raises(errors.InvalidConfigurationError):
            log.create_topic("items", 1, wrong)
    with pytest.raises(errors.InvalidPartitionsError):
        log.add_partitions_to_topic("orders", 1)
    for unknown in ("items", ""):
        with pytest.raises(errors.UnknownTopicOrPartitionError):
            log.delete_topic(unknown)
    for partition in (("items", 0), ("orders", 1), ("orders", -1)):
        with pytest.raises(errors.UnknownTopicOrPartitionError):
            log.offsets(partition)


def test_what_is_no_record_batch_is_refused(log: FolderLog) -> None:
    good = batch([b"a"])
    for wrong in (b"", good[:-1], good + b"\0", good[:-2] + b"\xff\xff", good + good):
        with pytest.raises(errors.CorruptRecordError):
            log.append(ORDERS, wrong, None)
    with pytest.raises(errors.InvalidRecordError):
        log.append(ORDERS, batch([b"a"], transactional=True), None)
    log.change_topic("orders", {"max.message.bytes": str(len(good))})
    log.append(ORDERS, good, None)
    with pytest.raises(errors.MessageSizeTooLargeError):
        log.append(ORDERS, batch([b"ab"]), None)


def test_fetches_follow_each_other_over_segments(log: FolderLog, tmp_path: Path) -> None:
    log.create_topic("items", 1, {})
    values = [b"%03d" % number * 20 for number in range(100)]
    for number in range(0, 100, 2):
        assert log.append(ORDERS, batch(values[number : number + 2]), None) == number
        log.append(("items", 0), batch([b"other"]), None)
    assert len(list((tmp_path / "log").glob("*.log"))) > 5
    log = reopened(log, tmp_path)
    # From the middle of a batch on, the whole batch comes.
    fetched = log.fetch(ORDERS, 51, 1, committed=True)
    assert records(fetched) == [(50, values[50]), (51, values[51])]
    found = []
    while fetched.records:
        found += records(fetched)
        fetched = log.fetch(ORDERS, found[-1][0] + 1, 1_000, committed=False)
        assert len(fetched.records) <= 1_000
    assert found == list(enumerate(values))[50:]
    assert records(log.fetch(ORDERS, 0, MIB, committed=True)) == list(enumerate(values))
    log.close()


def test_a_fetch_opens_few_files_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = FolderLog(tmp_path / "many", segment_bytes=1)
    log.create_topic("orders", 1, {})
    values = [b"%d" % number for number in range(80)]
    for value in values:
        log.append(ORDERS, batch([value]), None)
    assert len(list((tmp_path / "many").glob("*.log"))) > len(values)
    opened = []
    close = os.close

    def noted(descriptor: int) -> None:
        opened.append(len(list(Path("/proc/self/fd").iterdir())))
        close(descriptor)

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(os, "close", noted)
    found = list[tuple[int, bytes]]()
    while fetched := records(log.fetch(ORDERS, len(found), MIB, committed=True)):
        found += fetched
    assert found == list(enumerate(values))
    assert max(opened) < before + 40
    monkeypatch.undo()
    log.close()


def test_offsets_outside_of_the_log_are_refused(log: FolderLog) -> None:
    log.append(ORDERS, batch([b"a", b"b", b"c"]), None)
    assert log.fetch(ORDERS, 3, MIB, committed=True).records == b""
    for offset in (-1, 4):
        with pytest.raises(errors.OffsetOutOfRangeError):
            log.fetch(ORDERS, offset, MIB, committed=True)
    assert log.delete_records(ORDERS, 1) == 1
    assert log.delete_records(ORDERS, 0) == 1
    with pytest.raises(errors.OffsetOutOfRangeError):
        log.fetch(ORDERS, 0, MIB, committed=True)
    assert log.fetch(ORDERS, 1, MIB, committed=True).log_start_offset == 1
    with pytest.raises(errors.OffsetOutOfRangeError):
        log.delete_records(ORDERS, 4)
    assert log.delete_records(ORDERS, -1) == 3
    assert log.offsets(ORDERS) == Offsets(3, 3, 3)
    # As a broker, it lets nobody delete what compaction keeps.
    log.change_topic("orders", {"cleanup.policy": "compact"})
    with pytest.raises(errors.PolicyViolationError):
        log.delete_records(ORDERS, -1)


def test_a_time_leads_to_the_first_record_of_it(log: FolderLog) -> None:
    assert log.offset_at(ORDERS, 0) is None
    for second in range(20):
        data = [b"%d" % number * 100 for number in range(3)]
        codec = DefaultRecordBase.CODEC_LZ4 if second % 2 else 0
        log.append(ORDERS, batch(data, time_ms=second * 1_000, codec=codec), None)
    assert log.offset_at(ORDERS, 0) == TimedOffset(0, 0)
    assert log.offset_at(ORDERS, 2) == TimedOffset(2, 2)
    assert log.offset_at(ORDERS, 3) == TimedOffset(3, 1_000)
    assert log.offset_at(ORDERS, 19_001) == TimedOffset(58, 19_001)
    assert log.offset_at(ORDERS, 19_003) is None
    log.delete_records(ORDERS, 31)
    assert log.offset_at(ORDERS, 0) == TimedOffset(31, 10_001)


def test_whoever_waits_is_woken_by_what_is_fetched_then(log: FolderLog) -> None:
    producer = log.init_producer("pipeline", 60_000, None)
    assert not log.wait({ORDERS: 0}, 0.01, committed=True)
    assert log.wait({("items", 0): 0}, 60, committed=True)
    found: list[tuple[bool, float]] = []

    def wait() -> None:
        is_ready = log.wait({ORDERS: 0}, 60, committed=True)
        found.append((is_ready, time.monotonic()))

    thread = threading.Thread(target=wait)
    thread.start()
    log.add_to_transaction("pipeline", *producer, [ORDERS])
    log.append(ORDERS, batch([b"a"], producer, 0, transactional=True), "pipeline")
    log.sync()
    assert log.wait({ORDERS: 0}, 60, committed=False)
    assert not found
    log.end_transaction("pipeline", *producer, commit=True)
    thread.join(30)
    assert [is_ready for is_ready, _ in found] == [True]
    assert not log.wait({ORDERS: 2}, 0.01, committed=True)
    thread = threading.Thread(target=lambda: log.wait({ORDERS: 2}, 60, committed=True))
    thread.start()
    time.sleep(0.05)
    log.close()
    thread.join(30)
    assert not thread.is_alive()


def test_one_process_has_the_folder(log: FolderLog, tmp_path: Path) -> None:
    with pytest.raises(FolderInUse):
        FolderLog(tmp_path / "log")
    log.close()
    with pytest.raises(errors.KafkaStorageError):
        log.append(ORDERS, batch([b"a"]), None)
    with pytest.raises(errors.KafkaStorageError):
        log.fetch(ORDERS, 0, MIB, committed=True)
    FolderLog(tmp_path / "log").close()


def test_threads_share_the_disk_and_each_record_is_kept_once(log: FolderLog) -> None:
    log.create_topic("items", 4, {})

    def append(number: int) -> None:
        for each in range(50):
            log.append(("items", number % 4), batch([b"%d-%d" % (number, each)]), None)

    threads = [threading.Thread(target=append, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [
        value
        for number in range(4)
        for _, value in records(log.fetch(("items", number), 0, MIB, committed=True))
    ]
    assert sorted(found) == sorted(b"%d-%d" % (a, b) for a in range(8) for b in range(50))
    assert len(batches_of(log.fetch(("items", 0), 0, MIB, committed=True).records)) == 100


def test_a_fetch_reads_of_each_index_what_its_partition_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda _: None)
    tables = [(f"t{number}", 0) for number in range(50)]
    log = FolderLog(tmp_path / "many", segment_bytes=20_000)
    for name, _ in tables:
        log.create_topic(name, 1, {})
    expected: dict[str, list[tuple[int, bytes]]] = {name: [] for name, _ in tables}
    while len(log._core.index.closed) < 20:
        for name, number in tables:
            value = b"%d" % len(expected[name])
            offset = log.append((name, number), batch([value], time_ms=1_000 + len(value)), None)
            expected[name].append((offset, value))
    whole = []
    read = segment_index.read

    def counted(path: Path, size: int) -> Any:
        whole.append(path)
        return read(path, size)

    for _ in range(2):
        with monkeypatch.context() as patches:
            patches.setattr(segment_index, "read", counted)
            for table in tables:
                assert records(log.fetch(table, 0, MIB, committed=False)) == expected[table[0]]
                assert log.offset_at(table, 1_002) == TimedOffset(10, 1_002)
        assert not whole
        # An index that could not be written is made.
        for path in (tmp_path / "many").glob("*.index"):
            path.unlink()
        assert records(log.fetch(tables[7], 0, MIB, committed=False)) == expected["t7"]
        log.close()
        log = FolderLog(tmp_path / "many", segment_bytes=20_000)
    log.close()
