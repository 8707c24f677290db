"""What the log of a folder has after a crash: all that was acknowledged, and nothing of the rest.

A power failure leaves anything in the place of bytes that were not on the disk.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import errors

from connector.foundation.errors.kinds import SinkRefused
from connector.kafka.folder import folder_errors, frames
from connector.kafka.folder.folder_errors import LogDamaged
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.frames import Kind
from connector.kafka.folder.request_fields import outcome
from tests.foundation.errors.texts import text_of
from tests.kafka.folder.record_batches import batch, committed
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.kafka.folder.results import PartitionId

MIB = 1 << 20
SEEDS = length(short=6, full=60)
PARTITIONS = [("orders", 0), ("orders", 1), ("items", 0)]


class Crash(BaseException):
    """The machine has no power any more."""


class Disk:
    """Knows how much of each segment is on the disk, and may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept: dict[str, int] = {}
        self.left = -1  # how often it works yet
        self.error: BaseException = Crash()
        self._fdatasync = os.fdatasync
        monkeypatch.setattr(os, "fdatasync", self.fdatasync)

    def fdatasync(self, descriptor: int) -> None:
        if self.left == 0:
            raise self.error
        self.left -= 1
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        size = os.fstat(descriptor).st_size
        self._fdatasync(descriptor)
        self.kept[path.name] = size


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


class Session:
    """Random transactions of two producers and records of none, with what was acknowledged."""

    def __init__(self, log: FolderLog, choose: random.Random) -> None:
        self.log = log
        self._choose = choose
        # What readers must find, in the order of each partition; of the call that runs, too.
        self.acknowledged: dict[PartitionId, list[bytes]] = {each: [] for each in PARTITIONS}
        self.pending: dict[PartitionId, list[bytes]] = {}
        self._open: dict[str, dict[PartitionId, list[bytes]]] = {"one": {}, "two": {}}
        self._sequences: dict[tuple[str, PartitionId], int] = {}
        self._producers = {name: log.init_producer(name, 60_000, None) for name in self._open}
        self._count = 0

    def step(self) -> None:
        """Do something."""
        name = self._choose.choice(list(self._open))
        partition = self._choose.choice(PARTITIONS)
        values = [self._value() for _ in range(self._choose.randint(1, 4))]
        what = self._choose.random()
        # Before an open transaction, a record would have another place in the order.
        if what < 0.1 and not any(self._open.values()):
            self.pending = {partition: values}
            self.log.append(partition, batch(values), None)
            self._acknowledge()
        elif what < 0.7 and (self._open[name] or not any(self._open.values())):
            self._append(name, partition, values)
        elif self._open[name]:
            commit = self._choose.random() < 0.7
            self.pending = self._open[name] if commit else {}
            self._open[name] = {}
            self.log.end_transaction(name, *self._producers[name], commit=commit)
            self._acknowledge()

    def _append(self, name: str, partition: PartitionId, values: list[bytes]) -> None:
        producer = self._producers[name]
        sequence = self._sequences.get((name, partition), 0)
        self._sequences[name, partition] = sequence + len(values)
        self.log.add_to_transaction(name, *producer, [partition])
        data = batch(values, producer, sequence, transactional=True)
        self.log.append(partition, data, name)
        self._open[name].setdefault(partition, []).extend(values)

    def _acknowledge(self) -> None:
        for partition, values in self.pending.items():
            self.acknowledged[partition] += values
        self.pending = {}

    def _value(self) -> bytes:
        self._count += 1
        return b"%06d" % self._count * self._choose.randint(1, 20)

    def check(self, log: FolderLog) -> None:
        """Compare a log with what was acknowledged; the call that crashed is all or nothing."""
        found = read_all(log)
        with_pending = {
            partition: values + self.pending.get(partition, [])
            for partition, values in self.acknowledged.items()
        }
        assert found in (self.acknowledged, with_pending)


def read_all(log: FolderLog) -> dict[PartitionId, list[bytes]]:
    return {partition: read(log, partition) for partition in PARTITIONS}


def read(log: FolderLog, partition: PartitionId) -> list[bytes]:
    """Return the committed values of a partition."""
    return committed(log.fetch(partition, 0, 100 * MIB, committed=True))


def new_log(folder: Path, segment_bytes: int = 20_000) -> FolderLog:
    log = FolderLog(folder, segment_bytes=segment_bytes)
    log.create_topic("orders", 2, {})
    log.create_topic("items", 1, {})
    return log


def last_segment(folder: Path) -> Path:
    return max(folder.glob("*.log"))


def mangle(path: Path, kept: int, choose: random.Random) -> None:
    """Replace each part of what is not on the disk by what was there, zeros or anything."""
    data = bytearray(path.read_bytes())
    assert kept <= len(data)
    part = choose.choice([1, 16, 512])
    for start in range(kept, len(data), part):
        end = min(start + part, len(data))
        what = choose.random()
        if what < 0.3:
            data[start:end] = bytes(end - start)
        elif what < 0.5:
            data[start:end] = choose.randbytes(end - start)
    if choose.random() < 0.5:
        del data[choose.randint(kept, len(data)) :]
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_all_that_was_acknowledged_survives_a_power_failure(
    tmp_path: Path, disk: Disk, seed: int
) -> None:
    choose = random.Random(seed)
    log = new_log(tmp_path / "log")
    session = Session(log, choose)
    disk.left = choose.randint(0, 60)
    try:
        for _ in range(choose.randint(1, 200)):
            session.step()
    except Crash:
        pass
    disk.left = -1
    kept = dict(disk.kept)
    for number in range(10):
        copy = tmp_path / f"copy {number}"
        shutil.copytree(tmp_path / "log", copy)
        path = last_segment(copy)
        # Only the last segment may have more than is on the disk; a new one is there as a whole.
        whole = frames.decode(int(path.stem), path.read_bytes(), 0)
        assert whole is not None
        mangle(path, kept.get(path.name, whole.size), choose)
        again = FolderLog(copy, segment_bytes=20_000)
        session.check(again)
        for name in ("one", "two"):
            again.init_producer(name, 60_000, None)
        session.check(again)
        again.close()
    log.close()


def test_the_log_may_end_at_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Thousands of openings need no disk.
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _: None)
    log = new_log(tmp_path / "log", MIB)
    session = Session(log, random.Random(1))
    acknowledged = {}
    path = last_segment(tmp_path / "log")
    start = path.stat().st_size
    while path.stat().st_size < start + length(short=300, full=3_000):
        session.step()
        acknowledged[path.stat().st_size] = {
            partition: list(values) for partition, values in session.acknowledged.items()
        }
    data = path.read_bytes()
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "log", copy)
    for size in range(start, len(data)):
        for rest in (b"", bytes(len(data) - size)):
            last_segment(copy).write_bytes(data[:size] + rest)
            again = FolderLog(copy, segment_bytes=MIB)
            before = max((each for each in acknowledged if each <= size), default=None)
            expected = acknowledged[before] if before else {each: [] for each in PARTITIONS}
            assert read_all(again) == expected
            again.close()
    log.close()


def test_a_log_goes_on_after_its_tail_was_cut_off(tmp_path: Path) -> None:
    log = new_log(tmp_path / "log")
    producer = log.init_producer("one", 60_000, None)
    log.add_to_transaction("one", *producer, [("orders", 0)])
    log.append(("orders", 0), batch([b"a"], producer, 0, transactional=True), "one")
    log.close()
    path = last_segment(tmp_path / "log")
    with path.open("ab") as file:
        file.write(b"half a frame")
    log = FolderLog(tmp_path / "log")
    # Something of the transaction may be lost.
    assert log.transactions() == []
    with pytest.raises(errors.ProducerFencedError):
        log.end_transaction("one", *producer, commit=True)
    assert log.append(("orders", 0), batch([b"b"]), None) == 2
    log.close()
    log = FolderLog(tmp_path / "log")
    assert read(log, ("orders", 0)) == [b"b"]
    log.close()


@pytest.fixture
def closed_log(tmp_path: Path) -> Path:
    """A log of several segments that was closed."""
    log = new_log(tmp_path / "log")
    session = Session(log, random.Random(2))
    while len(list((tmp_path / "log").glob("*.log"))) < 3:
        session.step()
    for _ in range(30):
        session.step()
    log.close()
    return tmp_path / "log"


def frames_of(path: Path) -> Iterator[frames.Frame]:
    return frames.frames(int(path.stem), path.read_bytes())


def test_each_flipped_bit_of_the_last_segment_is_found(closed_log: Path) -> None:
    path = last_segment(closed_log)
    data = path.read_bytes()
    *found, last = list(frames_of(path))
    # Nothing says that the last frame was on the disk: it says so of all others.
    assert last.kind is Kind.OPENING
    choose = random.Random(3)
    for frame in found:
        for _ in range(2):
            at = choose.randrange(frame.position, frame.position + frame.size)
            changed = bytearray(data)
            changed[at] ^= 1 << choose.randrange(8)
            path.write_bytes(changed)
            with pytest.raises(LogDamaged) as caught:
                FolderLog(closed_log)
            assert caught.value.text.startswith(
                f"the log is damaged: {path} at byte {frame.position}: "
            )
    path.write_bytes(data)
    FolderLog(closed_log).close()


def test_damage_is_told_with_what_was_kept_after_it(closed_log: Path) -> None:
    path = last_segment(closed_log)
    *_, damaged, last = list(frames_of(path))
    data = bytearray(path.read_bytes())
    data[damaged.position] ^= 1
    path.write_bytes(data)
    with pytest.raises(LogDamaged) as caught:
        FolderLog(closed_log)
    assert caught.value.text == (
        f"the log is damaged: {path} at byte {damaged.position}: no valid frame begins here, but "
        f"one was kept at {last.position}; restore the folder from a backup, or remove it, and "
        "let the connector copy the tables again"
    )


def test_damage_of_a_closed_segment_is_found_when_it_is_read(closed_log: Path) -> None:
    path = min(closed_log.glob("*.log"))
    damaged = next(
        frame for frame in frames_of(path) if frame.kind is Kind.APPEND and frame.position > 5_000
    )
    data = bytearray(path.read_bytes())
    data[damaged.position + damaged.size - 1] ^= 1
    path.write_bytes(data)
    log = FolderLog(closed_log)
    with pytest.raises(errors.CorruptRecordError, match=r"00001\.log at byte"):
        read_all(log)
    log.close()
    # Without the index, the segment is read at the opening.
    path.with_suffix(".index").unlink()
    with pytest.raises(LogDamaged, match=rf"at byte {damaged.position}: no valid frame"):
        FolderLog(closed_log)


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        ("open", OSError(24, "Too many open files"), errors.KafkaStorageError.errno),
        ("pread", OSError(5, "Input/output error"), errors.CorruptRecordError.errno),
    ],
)
def test_what_cannot_be_read_fails_one_request_alone(
    closed_log: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: OSError, code: int
) -> None:
    log = FolderLog(closed_log)

    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(os, call, fail)
    partition = PARTITIONS[0]
    fetched = outcome(log.fetch, partition, 0, MIB, committed=True)
    assert (fetched.code, fetched.result) == (code, None)
    monkeypatch.undo()
    # The server would have ended, and all others with it.
    assert log.fetch(partition, 0, MIB, committed=True).records
    log.append(partition, batch([b"after"]), None)
    log.close()


def test_a_segment_that_is_missing_is_noticed(closed_log: Path) -> None:
    path = min(closed_log.glob("*.log"))
    path.unlink()
    with pytest.raises(LogDamaged, match=r"00001\.log at byte 0: the file is missing"):
        FolderLog(closed_log)


def test_a_last_segment_without_its_state_is_refused(closed_log: Path) -> None:
    path = last_segment(closed_log)
    path.write_bytes(b"")
    with pytest.raises(LogDamaged, match="at byte 0: the first frame is not valid"):
        FolderLog(closed_log)


def test_a_log_of_a_newer_version_is_left_as_it_is(closed_log: Path) -> None:
    path = last_segment(closed_log)
    whole = path.read_bytes()
    segment = int(path.stem)
    state = frames.decode(segment, whole, 0)
    assert state is not None
    newer: Any = 99
    later = json.loads(state.body) | {"format": 2}
    for data, facts in (
        # After it, other frames that one fdatasync has acknowledged.
        (
            whole
            + (unknown := frames.encode(segment, len(whole), newer, b"{}", 0))
            + frames.encode(segment, len(whole) + len(unknown), Kind.OPENING, b"[1]", 0),
            {"what": "a frame of kind", "number": 99},
        ),
        (
            frames.encode(segment, 0, Kind.STATE, frames.json_of(later), 0),
            {"what": "a state of format", "number": 2},
        ),
    ):
        path.write_bytes(data)
        with pytest.raises(SinkRefused) as caught:
            FolderLog(closed_log)
        assert caught.value.text == text_of(folder_errors.NEWER, **facts)
        assert path.read_bytes() == data
    path.write_bytes(whole)
    FolderLog(closed_log).close()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [cut, flip, empty, os.unlink])
def test_an_index_that_is_wrong_is_made_again(
    closed_log: Path, harm: Callable[[Path], None]
) -> None:
    log = FolderLog(closed_log)
    expected = read_all(log)
    offsets = {partition: log.offsets(partition) for partition in PARTITIONS}
    log.close()
    path = min(closed_log.glob("*.index"))
    content = path.read_bytes()
    harm(path)
    log = FolderLog(closed_log)
    assert read_all(log) == expected
    assert {partition: log.offsets(partition) for partition in PARTITIONS} == offsets
    log.close()
    assert path.read_bytes() == content


def test_a_disk_that_fails_ends_the_log_until_the_next_opening(tmp_path: Path, disk: Disk) -> None:
    log = new_log(tmp_path / "log")
    log.append(("orders", 0), batch([b"a"]), None)
    disk.left, disk.error = 0, OSError(5, "Input/output error")
    with pytest.raises(errors.KafkaStorageError, match="Input/output error"):
        log.append(("orders", 0), batch([b"b"]), None)
    disk.left = -1
    # It was never seen, and a second attempt cannot tell whether the first bytes are kept.
    for attempt in (
        lambda: log.append(("orders", 0), batch([b"c"]), None),
        lambda: log.create_topic("more", 1, {}),
        lambda: log.fetch(("orders", 0), 0, MIB, committed=False),
        log.sync,
        log.end_late_transactions,
        log.clean,
    ):
        with pytest.raises(errors.KafkaStorageError):
            attempt()
    log.close()
    FolderLog(tmp_path / "log").close()


def test_what_a_failed_disk_may_have_dropped_is_written_again(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path / "log")
    log.append(("orders", 0), batch([b"a"]), None)
    path = last_segment(tmp_path / "log")
    kept = disk.kept[path.name]
    disk.left, disk.error = 0, OSError(5, "Input/output error")
    with pytest.raises(errors.KafkaStorageError):
        log.append(("orders", 0), batch([b"b"]), None)
    disk.left = -1
    log.close()
    content = path.read_bytes()
    assert len(content) > kept
    written = bytearray(content[:kept].ljust(len(content), b"\0"))
    pwrite = os.pwrite

    def noted(descriptor: int, data: memoryview, position: int) -> int:
        if Path(f"/proc/self/fd/{descriptor}").readlink() == path:
            written[position : position + len(data)] = data
        return pwrite(descriptor, data, position)

    monkeypatch.setattr(os, "pwrite", noted)
    log = FolderLog(tmp_path / "log")
    assert read(log, ("orders", 0)) == [b"a", b"b"]
    # A cache that holds the page as written would not write it again by a sync.
    assert written[: len(content)] == content
    log.close()


def test_a_disk_that_is_full_at_the_opening_refuses_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "log"
    new_log(folder).close()
    before = set(Path("/proc/self/fd").iterdir())

    def full(descriptor: int, data: memoryview, position: int) -> int:
        del descriptor, data, position
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    for _ in range(3):
        with pytest.raises(SinkRefused, match=r"\[K603\].*: No space left on device;"):
            FolderLog(folder)
    assert set(Path("/proc/self/fd").iterdir()) == before
    monkeypatch.undo()
    FolderLog(folder).close()


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES, errno.EPERM, errno.EROFS]
)
def test_only_a_file_system_that_is_read_only_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder = tmp_path / "log"
    new_log(folder).close()
    why = os.strerror(number)

    def refused(descriptor: int, data: memoryview, position: int) -> int:
        del descriptor, data, position
        raise OSError(number, why)

    monkeypatch.setattr(os, "pwrite", refused)
    with pytest.raises(SinkRefused) as caught:
        FolderLog(folder)
    if number == errno.EROFS:
        assert caught.value.text == text_of(folder_errors.READ_ONLY, folder=folder)
    else:
        assert caught.value.text == text_of(folder_errors.UNUSABLE, folder=folder, why=why)
    assert caught.value.may_pass is (number != errno.EROFS)


def test_a_full_disk_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path / "log")
    log.append(("orders", 0), batch([b"a"]), None)
    size = last_segment(tmp_path / "log").stat().st_size
    pwrite = os.pwrite

    def half(descriptor: int, data: memoryview, position: int) -> int:
        if len(data) < 50:
            raise OSError(28, "No space left on device")
        return pwrite(descriptor, data[: len(data) // 2], position)

    monkeypatch.setattr(os, "pwrite", half)
    with pytest.raises(errors.KafkaStorageError, match="No space left on device"):
        log.append(("orders", 0), batch([b"b" * 100]), None)
    assert last_segment(tmp_path / "log").stat().st_size == size
    monkeypatch.undo()
    assert log.append(("orders", 0), batch([b"c"]), None) == 1
    log.close()


def test_a_folder_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkRefused) as caught:
        FolderLog(tmp_path / "file" / "log")
    assert str(caught.value) == (
        f"[K603] the log in {tmp_path}/file/log cannot be opened, or written: Not a directory; "
        "let the user of this process read and write the folder, and keep room on its disk"
    )

    with pytest.raises(SinkRefused) as caught:
        FolderLog(tmp_path / "moved" / "log")
    assert caught.value.text == text_of(
        folder_errors.UNUSABLE, folder=tmp_path / "moved" / "log", why="No such file or directory"
    )
    assert not (tmp_path / "moved").exists()

    def no_locks(descriptor: int, operation: int) -> None:
        del descriptor, operation
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(SinkRefused) as caught:
        FolderLog(tmp_path / "log")
    assert str(caught.value) == (
        f"[K601] the log in {tmp_path}/log cannot be used: its file system has no locks: No locks "
        "available; move the folder to a local disk, and name it in kafka.bootstrap_servers"
    )
