"""The processes of a machine share a folder: one serves it, another takes over when it ends."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.kafka import connection_errors, kafka_python
from connector.kafka.failures import BrokersUnreachable
from connector.kafka.folder import door, folder_errors
from tests.kafka.folder.folder_clients import (
    PARTITIONS,
    TOPIC,
    admin_of,
    batch_of,
    commit,
    create,
    producer_of,
    read,
    settings_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.kafka.producer import TransactionalProducer

PROJECT = Path(__file__).parents[3]
# Commits numbers one by one, and says each; the last one is left open.
WRITER = """
import sys, time
from pathlib import Path
import structlog
from tests.kafka.folder.folder_clients import batch_of, commit, producer_of

folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
partition = int(sys.argv[4])
# Another thread may log in the middle of a line.
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
producer = producer_of(folder, name)
for number in range(count):
    commit(producer, batch_of([b"%s %d" % (name.encode(), number)], partition=partition))
    print(number, flush=True)
producer.deliver(batch_of([b"open"], partition=partition), 1 << 30)
producer.wake()
print("open", flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder, which this process may serve."""
    yield tmp_path
    door.close()


@contextmanager
def writer(
    folder: Path, name: str, count: int, partition: int = 0
) -> Iterator[subprocess.Popen[str]]:
    """Start a process that commits, and kill it at the end."""
    command = [sys.executable, "-c", WRITER, str(folder), name, str(count), str(partition)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str], line: str) -> None:
    """Wait until a writer has said a line."""
    assert process.stdout is not None
    while (found := process.stdout.readline().strip()) != line:
        assert found, f"{line} was not said"


def test_processes_that_write_at_the_same_time_lose_nothing(folder: Path) -> None:
    create(folder)
    count = 40
    with (
        writer(folder, "a", count, 0) as first,
        writer(folder, "b", count, 1) as second,
        closing_now(folder, "c") as third,
    ):
        commit(third, *(batch_of([b"c"], partition=number) for number in range(PARTITIONS)))
        for process in (first, second):
            said(process, "open")
        found = [[value for value in values if value != b"c"] for values in read(folder)]
    assert found == [
        [b"%s %d" % (name, number) for number in range(count)] for name in (b"a", b"b")
    ]


def test_when_the_serving_process_is_killed_in_a_transaction_another_one_goes_on(
    folder: Path,
) -> None:
    create(folder)
    # The first process that comes now serves.
    door.close()
    with writer(folder, "killed", 3) as process:
        said(process, "open")
        producer = producer_of(folder, "other")
        producer.deliver(batch_of([b"kept"], partition=1), 1 << 30)
        producer.wake()
        wait_until(lambda: not producer.in_flight_bytes)
        process.send_signal(signal.SIGKILL)
        process.wait()
        # The same producer, with what it has written before.
        producer.start_commit()
        producer.finish_commit()
        producer.close_now()
        commit(next_one := producer_of(folder, "killed"), batch_of([b"after"]))
        next_one.close_now()
    assert read(folder) == [
        [b"killed 0", b"killed 1", b"killed 2", b"after"],
        [b"kept"],
    ]


def test_a_copy_of_a_serving_process_does_not_serve(folder: Path) -> None:
    create(folder)
    child = os.fork()
    if not child:
        status = 1
        try:
            with closing(admin_of(folder)) as admin:
                status = 0 if admin.list_topics() == [TOPIC] else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0

    sleeper = os.fork()
    if not sleeper:
        time.sleep(30)
        os._exit(0)
    try:
        # It has no part in the lock: this process can give it back, and another take it.
        door.close()
        with writer(folder, "a", 1) as process:
            said(process, "open")
    finally:
        os.kill(sleeper, signal.SIGKILL)
        os.waitpid(sleeper, 0)


def test_a_path_that_is_too_long_for_a_socket_works(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    create(folder)
    with closing(admin_of(folder)) as admin:
        assert admin.list_topics() == [TOPIC]
    door.close()


def test_why_a_folder_cannot_be_used_is_said(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(BrokersUnreachable) as refused:
        door.connect(file)
    assert refused.value.message.code is folder_errors.UNUSABLE
    assert "Not a directory" in refused.value.message.text
    with pytest.raises(BrokersUnreachable, match="Not a directory") as refused:
        admin_of(file)
    assert refused.value.definite

    folder = tmp_path / "folder"
    with closing(admin_of(folder)):
        pass
    door.close()
    (folder / "socket").unlink(missing_ok=True)
    with (folder / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BrokersUnreachable) as refused:
            door.connect(folder, 0.1)
    assert refused.value.message.code is connection_errors.FOLDER_IN_USE


def test_a_producer_does_not_wait_for_a_disk_that_is_read_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(folder)
    with closing_now(folder, "a") as producer:
        commit(producer, batch_of([b"before"]))
        opened = os.open

        def refused_open(path: str, flags: int, *others: int, **more: int) -> int:
            if folder in Path(path).parents and flags & os.O_RDWR:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return opened(path, flags, *others, **more)

        def refused_write(descriptor: int, data: memoryview, position: int) -> int:
            del descriptor, data, position
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        monkeypatch.setattr(os, "open", refused_open)
        monkeypatch.setattr(os, "pwrite", refused_write)
        began = time.monotonic()
        # A commit is repeated for as long as the transaction may take: a minute.
        with pytest.raises(BrokersUnreachable) as refused:
            commit(producer, batch_of([b"lost"]))
        # Nor can an abort be written.
        with pytest.raises(BrokersUnreachable):
            producer.abort_transaction()
        assert time.monotonic() - began < 20
        assert refused.value.message.code is folder_errors.READ_ONLY
    monkeypatch.undo()
    assert read(folder) == [[b"before"], []]


@contextmanager
def standing_still(folder: Path) -> Iterator[socket.socket]:
    """Have the lock, and a socket where the system alone accepts connections."""
    with (folder / "lock").open("w") as lock, socket.socket(socket.AF_UNIX) as listener:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listener.bind(str(folder / "socket"))
        listener.listen(1)
        yield listener


def test_a_process_that_stands_still_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_python, "_CONNECT_SECONDS_MAX", 0.3)
    monkeypatch.setattr(kafka_python, "_PATIENCE_SECONDS", 0.3)
    with standing_still(folder), pytest.raises(BrokersUnreachable) as refused:
        kafka_python.find_brokers(settings_of(folder), 5)
    assert refused.value.message.code is connection_errors.FOLDER_IN_USE
    assert str(folder) in refused.value.message.text


def test_a_process_for_which_many_wait_is_told(folder: Path) -> None:
    with standing_still(folder) as listener, ExitStack() as waiting:
        with suppress(BlockingIOError):
            for _ in range(10):
                one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                one.connect(listener.getsockname())
        with pytest.raises(BrokersUnreachable) as refused:
            door.connect(folder, 0.1)
    assert refused.value.message.code is connection_errors.FOLDER_IN_USE


def test_a_socket_that_was_removed_is_made_again_and_a_folder_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    create(folder)
    with closing(admin_of(folder)):
        (folder / "socket").unlink()
        with closing(admin_of(folder)) as admin:
            assert admin.list_topics() == [TOPIC]
        shutil.rmtree(folder)
        with pytest.raises(BrokersUnreachable, match="No such file or directory"):
            door.connect(folder)
    assert not folder.exists()
    door.close()


def test_a_client_does_not_make_a_folder_again_either(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    create(folder)
    # The first process that comes now serves.
    door.close()
    with writer(folder, "a", 1) as process:
        said(process, "open")
        door.connect(folder).close()
    shutil.rmtree(folder)
    with pytest.raises(BrokersUnreachable, match="No such file or directory"):
        door.connect(folder)
    assert not folder.exists()
    door.close()


def test_a_process_with_too_many_files_serves_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    create(folder)
    accept = socket.socket.accept
    left = [OSError(24, "Too many open files")]

    def refused(listener: socket.socket) -> tuple[socket.socket, object]:
        if left:
            raise left.pop()
        return accept(listener)

    door.close()
    monkeypatch.setattr(socket.socket, "accept", refused)
    with closing(admin_of(folder)) as admin:
        assert admin.list_topics() == [TOPIC]
    assert not left
    door.close()


@contextmanager
def closing_now(folder: Path, name: str) -> Iterator[TransactionalProducer]:
    producer = producer_of(folder, name)
    try:
        yield producer
    finally:
        producer.close_now()


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
