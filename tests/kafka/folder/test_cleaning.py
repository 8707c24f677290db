"""What the log of a folder gives back: old records, deleted topics, and compacted ones."""

from __future__ import annotations

import os
import random
import socket
import time
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from kafka import errors
from kafka.record.default_records import DefaultRecordBatch
from structlog.testing import capture_logs

from connector.foundation.errors.message import Message
from connector.kafka.folder import cleaning, compaction, files, folder_errors, folder_server
from connector.kafka.folder.batches import header_of
from connector.kafka.folder.cleaning import Cleaner
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.folder_server import FolderServer
from connector.kafka.folder.results import FolderInUse
from tests.kafka.folder.record_batches import batch, batches_of, committed, records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from connector.kafka.folder.compaction import Rules
    from connector.kafka.folder.results import PartitionId

MIB = 1 << 20
ORDERS = "orders", 0
PROGRESS = "progress", 0
SEGMENT_BYTES = 10_000


class Now:
    """A clock that is set."""

    def __init__(self) -> None:
        self.ms = 1_000_000_000_000

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def log(tmp_path: Path, now: Now) -> Iterator[FolderLog]:
    log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
    yield log
    log.close()


def clean(log: FolderLog, now: Now) -> None:
    now.ms += 61_000
    log.clean()


def fill(
    log: FolderLog, partition: PartitionId, segments: int, now: Now, value: bytes = b"x" * 500
) -> None:
    """Append records until the log has so many segments more."""
    folder = log._core.folder
    before = len(list(folder.glob("*.log")))
    while len(list(folder.glob("*.log"))) < before + segments:
        log.append(partition, batch([value], time_ms=now.ms), None)


def segments(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.log"))


def test_records_go_when_their_time_is_over(log: FolderLog, now: Now, tmp_path: Path) -> None:
    log.create_topic("orders", 1, {"retention.ms": "3600000"})
    fill(log, ORDERS, 3, now)
    now.ms += 3_000_000
    middle = log.offsets(ORDERS).latest
    fill(log, ORDERS, 3, now)
    clean(log, now)
    assert log.offsets(ORDERS).earliest == 0
    now.ms += 700_000
    clean(log, now)
    earliest = log.offsets(ORDERS).earliest
    # Whole segments go, but for the last one.
    assert 0 < middle - earliest < 20
    assert len(segments(tmp_path / "log")) == 4
    now.ms += 3_600_000
    clean(log, now)
    assert len(segments(tmp_path / "log")) == 1
    offsets = log.offsets(ORDERS)
    found = records(log.fetch(ORDERS, offsets.earliest, MIB, committed=True))
    assert [offset for offset, _ in found] == list(range(offsets.earliest, offsets.latest))
    log.close()
    log = FolderLog(tmp_path / "log", segment_bytes=SEGMENT_BYTES)
    assert log.offsets(ORDERS) == offsets
    log.close()


def test_a_topic_keeps_its_newest_bytes(log: FolderLog, now: Now) -> None:
    log.create_topic("orders", 1, {"retention.bytes": "20000"})
    log.create_topic("items", 1, {"retention.ms": "-1"})
    fill(log, ORDERS, 6, now)
    fill(log, ("items", 0), 2, now)
    clean(log, now)
    offsets = log.offsets(ORDERS)
    found = records(log.fetch(ORDERS, offsets.earliest, MIB, committed=True))
    assert 20_000 <= len(found) * 600 <= 35_000
    assert log.offsets(("items", 0)).earliest == 0


def test_an_open_transaction_is_kept(log: FolderLog, now: Now) -> None:
    log.create_topic("orders", 1, {"retention.ms": "1000"})
    producer = log.init_producer("one", 10**9, None)
    log.append(ORDERS, batch([b"before"], time_ms=now.ms), None)
    log.add_to_transaction("one", *producer, [ORDERS])
    data = batch([b"open"], producer, 0, transactional=True, time_ms=now.ms)
    log.append(ORDERS, data, "one")
    fill(log, ORDERS, 3, now)
    now.ms += 10_000
    clean(log, now)
    assert log.offsets(ORDERS).earliest == 1
    log.end_transaction("one", *producer, commit=True)
    assert committed(log.fetch(ORDERS, 1, MIB, committed=True))[0] == b"open"


def test_the_place_of_a_deleted_topic_is_given_back(
    log: FolderLog, now: Now, tmp_path: Path
) -> None:
    log.create_topic("orders", 1, {})
    log.create_topic("items", 1, {"retention.ms": "-1"})
    log.append(("items", 0), batch([b"first"]), None)
    fill(log, ORDERS, 5, now)
    log.append(("items", 0), batch([b"second"]), None)
    log.delete_topic("orders")
    before = sum(path.stat().st_size for path in (tmp_path / "log").glob("*.log"))
    clean(log, now)
    after = sum(path.stat().st_size for path in (tmp_path / "log").glob("*.log"))
    assert after < before / 4
    # The first segment has only a record of another topic now.
    assert len(segments(tmp_path / "log")) == 2
    for _ in range(2):
        found = records(log.fetch(("items", 0), 0, MIB, committed=True))
        assert found == [(0, b"first"), (1, b"second")]
        log.close()
        log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
    log.close()


def newest(log: FolderLog) -> dict[bytes | None, tuple[int, bytes | None]]:
    """Return what a reader of the compacted topic has at the end: offset and value of each key."""
    found = {}
    fetched = log.fetch(PROGRESS, 0, 100 * MIB, committed=True)
    aborted = list(fetched.aborted)
    dead = set()
    for each in batches_of(fetched.records):
        header = header_of(each)
        while aborted and aborted[0][1] <= header.last_offset:
            dead.add(aborted.pop(0)[0])
        if header.is_control:
            dead.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dead):
            for record in DefaultRecordBatch(each):
                found[record.key] = record.offset, record.value
    return found


@pytest.mark.parametrize(("seed", "keys_max"), [(0, 100), (1, 100), (2, 7), (3, 1)])
def test_a_compacted_topic_keeps_the_newest_record_of_each_key(
    log: FolderLog,
    now: Now,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    keys_max: int,
) -> None:
    # With fewer keys than there are, the segments are gone over several times.
    monkeypatch.setattr(cleaning, "_KEYS_MAX", keys_max)
    choose = random.Random(seed)
    log.create_topic("progress", 1, {"cleanup.policy": "compact"})
    log.create_topic("orders", 1, {"retention.ms": "-1"})
    producer = log.init_producer("one", 10**9, None)
    sequences = {PROGRESS: 0, ORDERS: 0}
    orders = []
    for round_ in range(3):
        for number in range(150):
            commit = choose.random() < 0.8
            for partition, count in ((ORDERS, 1), (PROGRESS, choose.randint(0, 3))):
                values = [b"%d %d" % (number, at) * choose.randint(1, 20) for at in range(count)]
                if not values:
                    continue
                log.add_to_transaction("one", *producer, [partition])
                keys = [b"%d" % choose.randrange(30) for _ in values]
                data = batch(
                    values,
                    producer,
                    sequences[partition],
                    transactional=True,
                    keys=keys,
                    codec=choose.choice([0, 3]),
                )
                log.append(partition, data, "one")
                sequences[partition] += count
                if partition == ORDERS and commit:
                    orders += values
            log.end_transaction("one", *producer, commit=commit)
        expected, offsets = newest(log), log.offsets(PROGRESS)
        size = len(log.fetch(PROGRESS, 0, 100 * MIB, committed=True).records)
        clean(log, now)
        fetched = log.fetch(PROGRESS, 0, 100 * MIB, committed=True)
        assert newest(log) == expected
        assert log.offsets(PROGRESS) == offsets
        assert committed(log.fetch(ORDERS, 0, 100 * MIB, committed=True)) == orders
        # A reader reaches the end.
        assert header_of(batches_of(fetched.records)[-1]).last_offset == offsets.latest - 1
        if round_ == 0:
            assert len(fetched.records) < size / 2
        log.close()
        log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
        assert newest(log) == expected
        assert log.offsets(PROGRESS) == offsets
        # A fetch from each offset has what follows it, though records are missing.
        for offset in range(0, offsets.latest, 7):
            first = batches_of(log.fetch(PROGRESS, offset, 1, committed=True).records)[0]
            assert header_of(first).last_offset >= offset
    log.close()


def test_compaction_holds_a_limited_number_of_keys(
    log: FolderLog, now: Now, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "_KEYS_MAX", 20)
    topics = ["progress", "more"]
    for name in topics:
        log.create_topic(name, 1, {"cleanup.policy": "compact"})
    for number in range(200):
        for name in topics:
            log.append((name, 0), batch([b"x" * 100], keys=[b"%d" % (number % 60)]), None)
    held: list[int] = []
    rewritten = compaction.rewritten

    def counted(path: Path, segment: int, bounds: Any, rules: Mapping[Any, Rules]) -> Any:
        held.append(sum(own.keys for own in rules.values()))
        return rewritten(path, segment, bounds, rules)

    monkeypatch.setattr(compaction, "rewritten", counted)
    expected = newest(log)
    clean(log, now)
    assert 0 < max(held) <= 20
    assert newest(log) == expected
    for name in topics:
        # The newest record of each key, and what is in the last segment.
        assert len(records(log.fetch((name, 0), 0, MIB, committed=True))) < 130
    log.close()
    held.clear()
    # The next opening does not begin once more.
    log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
    clean(log, now)
    assert not any(held)
    assert newest(log) == expected
    log.close()


def test_a_pass_writes_no_segment_for_a_few_bytes(
    now: Now, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "_KEYS_MAX", 20)
    log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=10 * SEGMENT_BYTES)
    log.create_topic("progress", 1, {"cleanup.policy": "compact"})
    keys = [b"twice", b"a", b"b", b"twice", *(b"%d" % number for number in range(77))]
    for key in keys:
        log.append(PROGRESS, batch([b"" if key == b"twice" else b"x" * 5000], keys=[key]), None)
    *closed, _ = segments(tmp_path / "log")
    before = {name: (tmp_path / "log" / name).read_bytes() for name in closed}
    read: list[str] = []
    rewritten = compaction.rewritten

    def noted(path: Path, *arguments: Any) -> Any:
        read.append(path.name)
        return rewritten(path, *arguments)

    monkeypatch.setattr(compaction, "rewritten", noted)
    clean(log, now)
    assert read.count(closed[0]) == 4
    assert {name: (tmp_path / "log" / name).read_bytes() for name in closed} == before
    log.close()


def test_compaction_begins_again_after_its_topics_are_gone(
    log: FolderLog, now: Now, tmp_path: Path
) -> None:
    log.close()
    files.compacted_path(tmp_path / "log").write_bytes(b"10000000000")
    log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
    clean(log, now)
    log.close()
    # This is known to later openings, too, which first look when the topics have grown.
    log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
    log.create_topic("progress", 1, {"cleanup.policy": "compact"})
    for number in range(100):
        log.append(PROGRESS, batch([b"%d" % number + b"x" * 500], keys=[b"key"]), None)
    clean(log, now)
    assert len(records(log.fetch(PROGRESS, 0, MIB, committed=True))) < 20
    log.close()


def test_a_folder_opens_again_and_again_if_a_hint_cannot_be_read(tmp_path: Path, now: Now) -> None:
    files.compacted_path(tmp_path / "log").mkdir(parents=True)
    for number in range(2):
        log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
        name = f"progress{number}"
        log.create_topic(name, 1, {"cleanup.policy": "compact"})
        for _ in range(100):
            log.append((name, 0), batch([b"x" * 500], keys=[b"key"]), None)
        with capture_logs() as lines:
            clean(log, now)
        assert [line["event"] for line in lines] == ["a part of the log cannot be used"]
        assert len(records(log.fetch((name, 0), 0, MIB, committed=True))) < 20
        log.close()


def test_a_transaction_ends_while_a_compaction_runs(
    log: FolderLog, now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_server, "_UPKEEP_SECONDS", 0.01)
    log.create_topic("progress", 1, {"cleanup.policy": "compact"})
    fill(log, PROGRESS, 3, now)
    producer = log.init_producer("one", 60_000, None)
    log.add_to_transaction("one", *producer, [PROGRESS])
    is_running, may_end = Event(), Event()
    rewritten = compaction.rewritten

    def slow(*arguments: Any) -> Any:
        is_running.set()
        assert may_end.wait(10)
        return rewritten(*arguments)

    monkeypatch.setattr(compaction, "rewritten", slow)
    server = FolderServer(log, socket.create_server(("127.0.0.1", 0)))
    try:
        assert is_running.wait(10)
        assert len(log.transactions()) == 1
        now.ms += 60_001
        deadline = time.monotonic() + 5
        while log.transactions() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert log.transactions() == []
    finally:
        may_end.set()
        server.close()


def test_a_segment_is_compacted_while_others_are_read(
    log: FolderLog, now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.create_topic("progress", 1, {"cleanup.policy": "compact"})
    log.create_topic("orders", 1, {"retention.ms": "-1"})
    log.append(PROGRESS, batch([b"old" * 1000], keys=[b"key"]), None)
    fill(log, ORDERS, 12, now)
    log.append(PROGRESS, batch([b"new" * 7000], keys=[b"key"]), None)
    fill(log, ORDERS, 1, now)
    write_new = files.write_new

    def beside_a_reader(path: Path, content: bytes) -> Path:
        if path.suffix == ".log":
            # It needs the indexes of many other segments, so that the one of this segment goes.
            log.fetch(ORDERS, 20, 100 * MIB, committed=True)
        return write_new(path, content)

    monkeypatch.setattr(files, "write_new", beside_a_reader)
    clean(log, now)
    assert newest(log) == {b"key": (1, b"new" * 7000)}
    assert len(log._core.index.spans[log._core.partition(PROGRESS)[0]].segments) == 1


def test_damage_of_a_closed_segment_takes_nothing_else_from_anybody(
    log: FolderLog, now: Now, tmp_path: Path
) -> None:
    log.create_topic("progress", 1, {"cleanup.policy": "compact"})
    log.create_topic("more", 1, {"cleanup.policy": "compact"})
    log.create_topic("orders", 1, {"retention.ms": "-1"})
    for number in range(200):
        log.append(PROGRESS, batch([b"%d" % number + b"x" * 200], keys=[b"key"]), None)
        log.append(("more", 0), batch([b"%d" % number], keys=[b"key"]), None)
    log.append(ORDERS, batch([b"order"]), None)
    fill(log, PROGRESS, 1, now)
    path = min((tmp_path / "log").glob("*.log"))
    data = bytearray(path.read_bytes())
    data[5_000] ^= 1
    path.write_bytes(data)
    with capture_logs() as lines:
        for _ in range(2):
            log._cleaner = Cleaner(log._core)
            clean(log, now)
            with pytest.raises(errors.CorruptRecordError):
                log.fetch(PROGRESS, 0, MIB, committed=True)
    assert path.read_bytes() == data
    # Once for the batch, and once for the segment that is not written again.
    told = [line["event"] for line in lines if line.get("code") == folder_errors.DAMAGED.code]
    assert len(told) == len(set(told)) == 2
    assert committed(log.fetch(ORDERS, 0, MIB, committed=True)) == [b"order"]
    # What is in other segments is compacted.
    assert len(records(log.fetch(("more", 0), 0, MIB, committed=True))) < 100
    log.append(PROGRESS, batch([b"after"]), None)


def test_a_server_names_the_disk_that_has_ended_it(
    log: FolderLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        error = OSError(28, "No space left on device")
        raise errors.KafkaStorageError(str(error)) from error

    monkeypatch.setattr(folder_server, "_UPKEEP_SECONDS", 0.01)
    monkeypatch.setattr(log, "end_late_transactions", full)
    with capture_logs() as lines:
        server = FolderServer(log, socket.create_server(("127.0.0.1", 0)))
        deadline = time.monotonic() + 5
        while not server.is_closed and time.monotonic() < deadline:
            time.sleep(0.01)
    (line,) = lines
    facts = {"folder": tmp_path / "log", "why": "No space left on device"}
    assert line["error"] == Message(folder_errors.UNUSABLE, facts).text
    assert line["code"] == folder_errors.UNUSABLE.code


def test_a_full_disk_ends_no_log_that_is_cleaned(
    log: FolderLog, now: Now, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.create_topic("orders", 1, {})
    log.create_topic("items", 1, {"retention.ms": "-1"})
    log.append(("items", 0), batch([b"first"]), None)
    fill(log, ORDERS, 1, now)
    log.delete_topic("orders")
    pwrite = os.pwrite

    def full(descriptor: int, data: memoryview, position: int) -> int:
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".new":
            raise OSError(28, "No space left on device")
        return pwrite(descriptor, data, position)

    first = min((tmp_path / "log").glob("*.log"))
    size = first.stat().st_size
    monkeypatch.setattr(os, "pwrite", full)
    clean(log, now)
    log.append(("items", 0), batch([b"second"]), None)
    assert first.stat().st_size == size
    monkeypatch.undo()
    # Somebody has made room.
    clean(log, now)
    assert first.stat().st_size < size
    assert committed(log.fetch(("items", 0), 0, MIB, committed=True)) == [b"first", b"second"]


def test_a_log_that_is_closed_while_it_is_cleaned_leaves_the_folder_alone(
    log: FolderLog, now: Now, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.create_topic("orders", 1, {})
    log.create_topic("items", 1, {"retention.ms": "-1"})
    log.append(("items", 0), batch([b"first"]), None)
    fill(log, ORDERS, 1, now)
    log.delete_topic("orders")
    rewritten = compaction.rewritten
    successors: list[FolderLog] = []

    def closed_meanwhile(*arguments: Any) -> Any:
        log.close()
        successors.append(FolderLog(tmp_path / "log", segment_bytes=SEGMENT_BYTES))
        return rewritten(*arguments)

    monkeypatch.setattr(compaction, "rewritten", closed_meanwhile)
    written = []
    monkeypatch.setattr(files, "write_new", lambda path, _: written.append(path))
    with pytest.raises(errors.KafkaStorageError):
        clean(log, now)
    assert not written
    (successor,) = successors
    successor.close()


def test_a_folder_is_given_back_when_no_file_is_written_any_more(
    log: FolderLog, now: Now, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.create_topic("orders", 1, {})
    log.create_topic("items", 1, {"retention.ms": "-1"})
    log.append(("items", 0), batch([b"first"]), None)
    fill(log, ORDERS, 1, now)
    log.delete_topic("orders")
    write_new = files.write_new
    closing = Thread(target=log.close)

    def closed_meanwhile(path: Path, content: bytes) -> Path:
        if path.suffix == ".log":
            closing.start()
            while log._core.journal.failure is None:
                time.sleep(0.01)
            with pytest.raises(FolderInUse):
                files.lock(tmp_path / "log")
        return write_new(path, content)

    monkeypatch.setattr(files, "write_new", closed_meanwhile)
    with pytest.raises(errors.KafkaStorageError):
        clean(log, now)
    closing.join(10)
    monkeypatch.undo()
    log = FolderLog(tmp_path / "log", segment_bytes=SEGMENT_BYTES)
    assert committed(log.fetch(("items", 0), 0, MIB, committed=True)) == [b"first"]
    log.close()


def test_the_end_below_an_open_transaction_is_reached(log: FolderLog, now: Now) -> None:
    log.create_topic("progress", 1, {"cleanup.policy": "compact"})
    log.create_topic("orders", 1, {"retention.ms": "-1"})
    one, two = (log.init_producer(name, 10**9, None) for name in ("one", "two"))
    for number in range(2):
        log.add_to_transaction("one", *one, [PROGRESS])
        data = batch([b"x" * 9000], one, number, transactional=True, keys=[b"key"])
        log.append(PROGRESS, data, "one")
        log.end_transaction("one", *one, commit=True)
    stable = log.offsets(PROGRESS).latest
    log.add_to_transaction("two", *two, [PROGRESS])
    log.append(PROGRESS, batch([b"open"], two, 0, transactional=True, keys=[b"key"]), "two")
    fill(log, ORDERS, 2, now)
    clean(log, now)
    (*_, last) = batches_of(log.fetch(PROGRESS, 0, 100 * MIB, committed=True).records)
    assert header_of(last).last_offset == stable - 1


def test_a_producer_that_is_idle_is_forgotten(log: FolderLog, now: Now) -> None:
    log.create_topic("orders", 1, {})
    idle = log.init_producer(None, 0, None)
    log.init_producer("one", 60_000, None)
    now.ms += 25 * 3_600_000
    fill(log, ORDERS, 1, now)
    state = log._core.state
    assert idle[0] not in state.producers
    assert list(state.transactional) == ["one"]


def test_offsets_of_groups_are_kept_for_a_week_also_after_their_segment_is_gone(
    log: FolderLog, now: Now, tmp_path: Path
) -> None:
    log.create_topic("orders", 2, {"retention.ms": "60000"})
    other = "orders", 1
    log.groups.commit("mirror", {ORDERS: 5, other: 7})
    log.groups.commit("stopped", {ORDERS: 1})
    now.ms += 6 * 24 * 3_600_000
    log.groups.commit("mirror", {ORDERS: 6})
    fill(log, ORDERS, 3, now)
    clean(log, now)
    log.close()
    log = FolderLog(tmp_path / "log", now_ms=now, segment_bytes=SEGMENT_BYTES)
    assert log.groups.of("mirror") == {ORDERS: 6, other: 7}
    now.ms += 24 * 3_600_000 + 1
    assert log.groups.of("mirror") == {ORDERS: 6}
    assert log.groups.names() == ["mirror"]
    fill(log, ORDERS, 1, now)
    assert log._core.state.groups.keys() == {"mirror"}
    log.close()
