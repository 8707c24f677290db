from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from connector.binlog import argument_errors
from connector.binlog.header import EventType
from connector.binlog.log_errors import LogTruncated
from connector.foundation.errors import ConfigError
from connector.reader import open_binlog, open_binlogs
from tests.binlog.files.log_files import LogFile
from tests.binlog.log_bytes import event
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.reader import BinlogReader


class Follower:
    """A thread that follows a log, and the ids of the rows that it has read."""

    def __init__(self, reader: BinlogReader) -> None:
        self.reader = reader
        self.ids: list[object] = []
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            for change in self.reader.row_changes():
                assert change.after
                self.ids.append(change.after["id"])
        except Exception as error:  # noqa: BLE001 # the test looks at it
            self.error = error

    def wait_for(self, *ids: int) -> None:
        deadline = time.monotonic() + 10
        while self.ids != list(ids) and time.monotonic() < deadline and self._thread.is_alive():
            time.sleep(0.01)
        assert (self.ids, self.error) == (list(ids), None)

    def end(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()


@pytest.fixture
def log() -> LogFile:
    log = LogFile(in_use=True)
    log.transaction((1, "a"))
    return log


@pytest.fixture
def path(tmp_path: Path, log: LogFile) -> Path:
    path = tmp_path / "binlog.000009"
    path.write_bytes(log.data)
    return path


@pytest.fixture
def follower(path: Path) -> Iterator[Follower]:
    follower = Follower(open_binlog(path, follow=True))
    yield follower
    follower.reader.close()
    follower.end()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_an_open_log_ends_cleanly_after_its_last_event(path: Path) -> None:
    with open_binlog(path) as reader:
        assert len(list(reader.row_changes())) == 1
        assert list(reader) == []


def test_a_log_is_followed_while_it_is_written(
    path: Path, log: LogFile, follower: Follower
) -> None:
    follower.wait_for(1)
    end = len(log.data)
    log.transaction((2, "b"))
    # In two pieces, the first of which ends inside of an event.
    append(path, log.data[end:-10])
    time.sleep(0.3)
    append(path, log.data[-10:])
    follower.wait_for(1, 2)


def test_following_goes_on_in_the_file_that_the_last_event_names(
    path: Path, log: LogFile, follower: Follower
) -> None:
    end = len(log.data)
    # As after RESET or on a server whose base name was changed; of the path, the name alone counts.
    log.rotate("/var/lib/mysql/other.000001")
    append(path, log.data[end:])
    follower.wait_for(1)
    following = LogFile(in_use=True)
    following.transaction((2, "b"))
    (path.parent / "other.000001").write_bytes(following.data)
    follower.wait_for(1, 2)
    assert follower.reader.name == "other.000001"


def test_following_goes_on_in_the_next_number_after_a_crash(path: Path, follower: Follower) -> None:
    follower.wait_for(1)
    following = LogFile(in_use=True)
    following.transaction((2, "b"))
    next_path = path.with_name("binlog.000010")
    # The server has created the file, but not written its first event yet.
    next_path.write_bytes(following.data[:20])
    time.sleep(0.3)
    append(next_path, following.data[20:])
    follower.wait_for(1, 2)


@pytest.mark.parametrize("left", ["binlog.000011", "binlog.000009", ""])
def test_a_log_that_was_deleted_is_an_error_if_the_next_one_is_not_there(
    path: Path, log: LogFile, left: str
) -> None:
    with open_binlog(path, follow=True) as reader:
        first = next(reader.row_changes())
        assert first.after == {"id": 1, "name": "a"}
        end = len(log.data)
        log.rotate("binlog.000010")
        append(path, log.data[end:])
        # As PURGE and RESET leave the folder.
        path.unlink()
        if left:
            path.with_name(left).write_bytes(LogFile(in_use=True).data)
        with pytest.raises(ConfigError) as raised:
            list(reader)
    assert raised.value.text == text_of(argument_errors.LOG_DELETED, file="binlog.000009")


def test_a_deleted_log_is_followed_by_the_next_one(path: Path, follower: Follower) -> None:
    follower.wait_for(1)
    following = LogFile(in_use=True)
    following.transaction((2, "b"))
    path.with_name("binlog.000010").write_bytes(following.data)
    path.unlink()
    follower.wait_for(1, 2)


def test_a_log_that_is_cut_by_a_crash_is_an_error_once_another_follows(
    path: Path, log: LogFile
) -> None:
    log.transaction((2, "b"))
    path.write_bytes(log.data[:-3])
    following = LogFile(in_use=True)
    path.with_name("binlog.000010").write_bytes(following.data)
    with open_binlog(path, follow=True) as reader, pytest.raises(LogTruncated):
        list(reader)


def test_a_rotation_that_a_relay_log_has_from_its_source_does_not_end_it(
    path: Path, log: LogFile, follower: Follower
) -> None:
    end = len(log.data)
    log.add(EventType.ROTATE_EVENT, (4).to_bytes(8, "little") + b"binlog.000009", flags=0x20)
    append(path, log.data[end:])
    time.sleep(0.3)
    end = len(log.data)
    log.transaction((2, "b"))
    append(path, log.data[end:])
    follower.wait_for(1, 2)


def test_a_rotation_of_the_source_does_not_lead_from_its_relay_log_to_a_log_beside_it(
    path: Path, log: LogFile, follower: Follower
) -> None:
    # The replica's own log, which lies beside its relay logs, has names as the source's.
    beside = LogFile(in_use=True)
    beside.transaction((9, "x"))
    path.with_name("binlog.000124").write_bytes(beside.data)
    follower.wait_for(1)
    end = len(log.data)
    names_next = (4).to_bytes(8, "little") + b"binlog.000124"
    # It ended elsewhere in the source's log; the artificial one comes a moment later.
    log.data += event(EventType.ROTATE_EVENT, names_next, log_pos=987_654)
    append(path, log.data[end:])
    time.sleep(0.3)
    end = len(log.data)
    log.add(EventType.ROTATE_EVENT, names_next, flags=0x20)
    log.transaction((2, "b"))
    append(path, log.data[end:])
    follower.wait_for(1, 2)


def test_closing_ends_an_iteration_that_waits(path: Path, follower: Follower) -> None:
    del path
    follower.wait_for(1)
    follower.reader.close()
    follower.end()
    assert follower.error is None


def test_following_ends_when_nothing_comes_for_a_while(path: Path) -> None:
    started = time.monotonic()
    with open_binlog(path, follow=True, idle_timeout_seconds=0.3) as reader:
        assert len(list(reader.row_changes())) == 1
    assert 0.3 <= time.monotonic() - started < 5


def test_the_last_of_several_logs_is_followed(path: Path, tmp_path: Path) -> None:
    first = LogFile()
    first.transaction((0, "z"))
    (tmp_path / "binlog.000008").write_bytes(first.data)
    paths = [tmp_path / "binlog.000008", path]
    with open_binlogs(paths, follow=True, idle_timeout_seconds=0.1) as reader:
        assert [change.after["id"] for change in reader.row_changes() if change.after] == [0, 1]


def test_only_a_plain_file_can_be_followed(log: LogFile) -> None:
    with pytest.raises(ConfigError) as raised:
        open_binlog(log.data, follow=True)
    assert raised.value.text == (
        "stream: only a file that is not compressed can be followed; follow the log that the "
        "server writes"
    )
