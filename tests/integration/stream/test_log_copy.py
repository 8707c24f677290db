"""`log copy`: a pipeline under load moves from a folder to Kafka and into another folder."""

from __future__ import annotations

import shutil
import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.configuration import load_settings
from connector.kafka.folder import door
from connector.lake.demo.stack import read_mirror
from connector.stream.sink.log_copy import copy_log
from local_stack import connect
from tests import forked_command
from tests.integration.database_stream import new_stream
from tests.integration.folder_broker import FolderEndpoint
from tests.integration.harness import changes, consumer_of, partitions_of, wait_until
from tests.length import FULL
from tests.stream_jobs import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import KafkaBroker, MysqlServer
    from tests.integration.database_stream import Stream

ROWS_MIN = 40
STOPS = 9


@pytest.fixture
def streams(
    mysql_server: MysqlServer, kafka_broker: KafkaBroker, tmp_path: Path
) -> Iterator[list[Stream]]:
    """One database, into a folder, into Kafka, and into another folder."""
    stream = new_stream(mysql_server.endpoint, FolderEndpoint(tmp_path / "log"), tmp_path)
    brokers = (stream.broker, kafka_broker.endpoint, FolderEndpoint(tmp_path / "second"))
    found = []
    for number, broker in enumerate(brokers):
        folder = tmp_path / str(number)
        folder.mkdir()
        found.append(replace(stream, broker=broker, directory=folder))
    yield found
    stream.execute(f"DROP DATABASE {stream.database}")
    door.close()


class Load(threading.Thread):
    """Writes transactions of some rows until it is told to stop."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._ended = threading.Event()
        self.rows = 0
        self.start()

    def run(self) -> None:
        with connect(self._stream.source, self._stream.database) as connection:
            cursor = connection.cursor()
            while not self._ended.wait(0.005):
                cursor.execute("BEGIN")
                for _ in range(1 + self.rows % 3):
                    cursor.execute(f"INSERT INTO t VALUES ({self.rows}, 0)")
                    self.rows += 1
                cursor.execute("COMMIT")
                cursor.execute(f"UPDATE t SET n = n + 1 WHERE id = {self.rows - 1}")

    def wait_for(self, rows: int) -> None:
        wait_until(lambda: self.rows > rows, lambda: "the load writes nothing")

    def end(self) -> int:
        self._ended.set()
        self.join()
        return self.rows


def records(stream: Stream) -> dict[str, Any]:
    """Return all that consumers see, with offsets, and the ends of partitions."""
    found: dict[str, Any] = {}
    with closing(consumer_of(stream.broker)) as consumer:
        topics = [
            topic for topic in consumer.topics() if f"{topic}.".startswith(f"{stream.prefix}.")
        ]
        for topic in topics:
            partitions = partitions_of(consumer, topic)
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            for partition in partitions:
                consumer.seek_to_beginning(partition)
            rows = []
            while any(consumer.position(each) < end for each, end in ends.items()):
                for batch in consumer.poll(timeout_ms=200).values():
                    rows += [
                        (r.partition, r.offset, r.timestamp, r.key, r.value, list(r.headers))
                        for r in batch
                    ]
            found[topic] = sorted(rows, key=lambda row: row[:2]), sorted(ends.items())
    return found


def copy(source: Stream, target: Stream) -> None:
    copied = forked_command.run("log", "copy", str(source.config()), str(target.config()))
    assert copied.returncode == 0, copied.stdout + copied.stderr
    assert records(source) == records(target)


class Interrupted(Exception):
    """Ends a copy."""


def interrupt(source: Stream, target: Stream, after: int) -> None:
    """Begin a copy, and end it when it has shown so many steps."""
    steps = 0

    def show(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps > after:
            raise Interrupted

    with pytest.raises(Interrupted):
        copy_log(load_settings(source.config()).kafka, load_settings(target.config()).kafka, show)


@pytest.mark.skipif(not FULL, reason="moves twice under load: make test-all")
@pytest.mark.server
@pytest.mark.kafka
def test_a_pipeline_under_load_moves_to_kafka_and_into_another_folder(
    streams: list[Stream],
) -> None:
    first = streams[0]
    first.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    load = Load(first)
    rows = 0
    for number, stream in enumerate(streams):
        with stream.connector() as connector:
            connector.wait_for("streaming")
            load.wait_for(load.rows + ROWS_MIN)
            if number == len(streams) - 1:
                rows = load.end()
                stream.execute("INSERT INTO t VALUES (-1, 0)")
                wait_until(
                    lambda: any(each.key["id"] == -1 for each in changes(streams[-1].changes())),
                    connector.output,
                    look_seconds=0.5,
                )
                proof = forked_command.run("verify", str(stream.config()), "--topics")
                assert proof.returncode == 0, proof.stdout + proof.stderr
            assert connector.terminate() == 0
        if number == 0:
            interrupt(stream, streams[1], STOPS)
            refused = forked_command.run("run", str(streams[1].config()))
            assert refused.returncode == 3
            assert "K611" in refused.stderr
        if number < len(streams) - 1:
            copy(stream, streams[number + 1])
            again = forked_command.run(
                "log", "copy", str(stream.config()), str(streams[number + 1].config())
            )
            assert again.returncode == 3
            assert "K612" in again.stderr
    found = streams[-1].changes()
    assert [each.key["id"] for each in found if each.op == "c"] == [*range(rows), -1]
    assert len({each.seq for each in found}) == len(found)


@pytest.mark.skipif(not FULL, reason="starts the Spark job three times: make test-all")
@pytest.mark.server
@pytest.mark.kafka
@pytest.mark.spark
def test_the_mirror_goes_on_with_its_tables(streams: list[Stream], tmp_path: Path) -> None:
    first = streams[0]
    first.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 1)")
    for number, stream in enumerate(streams):
        config = command.write_config(
            tmp_path, stream.broker.bootstrap, stream.prefix, "interval_seconds = 0.2"
        )
        with stream.connector() as connector, command.Command(config) as job:
            # Were a row copied or applied again, it would be counted here.
            if number:
                first.execute(f"INSERT INTO t VALUES ({number + 1}, {number})")
            assert job.applied(f"{first.database}.t")["upserts"] == 1
            job.stop()
            assert job.end() == 0
            assert connector.terminate() == 0
        if number < len(streams) - 1:
            copy(stream, streams[number + 1])
            if number == 0:
                # Spark's offsets are those of the log, so it does not matter whether they are lost.
                shutil.rmtree(tmp_path / "checkpoint", ignore_errors=True)
    mirror = read_mirror(tmp_path / "mirror" / first.database / "t")
    rows = dict(zip(*(mirror[name].to_pylist() for name in ("id", "n")), strict=True))
    assert rows == {1: 1, 2: 1, 3: 2}
