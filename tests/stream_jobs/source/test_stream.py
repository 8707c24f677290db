"""The ends of batches, and errors that pass through Spark."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.foundation.settings import settings_errors
from connector.kafka import connection_errors
from connector.kafka.failures import BrokersUnreachable
from connector.kafka.folder import folder_errors
from stream_jobs.delta.storages import LocalStorage, storage_of
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.source import client
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.offset_stream import (
    SerializedError,
    deserialize_error,
    error_message,
    read_ranges_stream,
)
from stream_jobs.source.topic_filter import NO_SKIPPED_TABLES
from stream_jobs.source.topics import BrokerConfig, limit_offsets, row_topics
from stream_jobs.tables.topic_state import MirrorOffsets

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource

    from connector.foundation.errors.code import ErrorCode
    from stream_jobs.source.topics import Offsets

SECRET = "c" * 32
parts = st.dictionaries(st.sampled_from("01234"), st.integers(0, 500), min_size=1)


@given(st.dictionaries(st.sampled_from("ab"), parts, min_size=1), st.integers(1, 300))
def test_a_batch_has_about_the_limit_and_every_partition_gets_on(ends: Offsets, count: int) -> None:
    begun = {topic: dict.fromkeys(offsets, 0) for topic, offsets in ends.items()}
    batches = 0
    while begun != ends:
        end = limit_offsets(begun, ends, count)
        left = partitions = 0
        for topic, offsets in ends.items():
            for number, last in offsets.items():
                before, after = begun[topic][number], end[topic][number]
                assert after > before or before == last
                assert after <= last
                left += after - before
                partitions += 1
        assert left <= count + partitions
        begun = end
        batches += 1
    assert batches <= sum(sum(each.values()) for each in ends.values())


def test_a_partition_that_ends_before_what_was_read_is_seen_where_its_table_is_applied() -> None:
    for count in (1, 100):
        ends = limit_offsets({"p.a.b": {"0": 4711, "1": 5}}, {"p.a.b": {"0": 12, "1": 6}}, count)
        assert ends == {"p.a.b": {"0": 12, "1": 6}}
    assert limit_offsets({"gone": {"0": 5}}, {}, 100) == {"gone": {"0": 5}}


def test_a_python_process_that_is_late_has_a_code_of_its_own() -> None:
    text = (
        "[STREAM_FAILED] Query [id = a, runId = b] terminated with exception: Python worker failed "
        "to connect back. SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: [id = a]"
    )
    assert error_message(RuntimeError(text)).code is job_errors.WORKER_LATE
    assert error_message(RuntimeError("no space")).code is job_errors.SPARK_FAILED


def test_an_error_is_found_in_any_text_that_carries_it() -> None:
    error = MirrorError(job_errors.KAFKA_FAILED, servers=["a:1"], said="x")
    text = (
        f"Traceback (most recent call last):\n  {SerializedError(error, SECRET)}\n\tat org.apache"
    )
    carried = deserialize_error(text, SECRET)
    assert isinstance(carried, MirrorError)
    assert carried.text == error.text
    assert deserialize_error("no error", SECRET) is None
    # Somebody else's text is never unpacked.
    assert deserialize_error(text, "d" * 32) is None


def test_that_no_broker_accepts_a_connection_passes_through_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = Message(connection_errors.NO_CONNECTION, {"why": "refused"})

    def refused(_: object) -> None:
        raise BrokersUnreachable(reason, definite=True)

    monkeypatch.setattr(client, "Cluster", refused)
    with pytest.raises(MirrorError) as caught:
        KafkaClient(BrokerConfig(("a:1",), 0.0, ()))
    carried = deserialize_error(str(SerializedError(caught.value, SECRET)), SECRET)
    assert carried is not None
    assert (carried.code, carried.text) == (caught.value.code, caught.value.text)
    assert f"Kafka at a:1: {reason.text}; check" in carried.text


@pytest.mark.parametrize("is_stopping", [True, False])
def test_nobody_waits_for_a_log_that_does_not_come_back_or_for_a_job_that_is_to_stop(
    monkeypatch: pytest.MonkeyPatch, is_stopping: bool
) -> None:
    full = Message(folder_errors.UNUSABLE, {"folder": "/log", "why": "No space left on device"})
    read_only = Message(folder_errors.READ_ONLY, {"folder": "/log"})
    reason = full if is_stopping else read_only
    attempts: list[object] = []

    def refused(settings: object) -> None:
        attempts.append(settings)
        assert len(attempts) == 1
        raise BrokersUnreachable(reason, definite=True)

    monkeypatch.setattr(client, "Cluster", refused)
    with pytest.raises(MirrorError) as caught:
        KafkaClient(BrokerConfig(("file:///log",), 600.0, ()), lambda: is_stopping)
    assert caught.value.message.facts["said"] is reason


def test_topics_of_tables_are_those_with_two_more_parts() -> None:
    counts = {"s.a.b": 3, "s.schema": 1, "s": 1, "xs.a.b": 1, "s.a.b.c": 1, "s.a.b-c_D": 2}
    assert row_topics("s", counts) == {"s.a.b": 3, "s.a.b-c_D": 2}


def test_a_folder_is_a_path_or_a_file_uri() -> None:
    assert storage_of("/data/mirror") == LocalStorage("/data/mirror")
    assert storage_of("file:///data/a%20b") == LocalStorage("/data/a b")
    with pytest.raises(ConfigError) as caught:
        storage_of("oss://bucket/mirror")
    assert caught.value.text == (
        "mirror.path oss://bucket/mirror: the job writes to local disks, mounted file systems, S3, "
        "Azure Blob Storage, Google Cloud Storage and HDFS alone; give the path of a folder, "
        "s3://BUCKET/FOLDER, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER, "
        "az://CONTAINER/FOLDER, gs://BUCKET/FOLDER or webhdfs://NAMENODE:9870/FOLDER"
    )


def test_a_bucket_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stream_jobs.delta.object_storage", None)
    with pytest.raises(ConfigError) as caught:
        storage_of("s3a://bucket/mirror")
    assert caught.value.code is settings_errors.S3_EXTRA
    assert caught.value.text.endswith("; pip install 'binlog-connector[spark,s3]'")


@pytest.mark.parametrize(
    ("path", "code", "extra"),
    [
        ("gs://bucket/mirror", settings_errors.GCS_EXTRA, "gcs"),
        ("az://container/mirror", settings_errors.AZURE_EXTRA, "azure"),
        ("abfss://c@a.dfs.core.windows.net/mirror", settings_errors.AZURE_EXTRA, "azure"),
    ],
)
def test_a_container_needs_an_extra(
    monkeypatch: pytest.MonkeyPatch, path: str, code: ErrorCode, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, "stream_jobs.delta.object_storage", None)
    with pytest.raises(ConfigError) as caught:
        storage_of(path)
    assert caught.value.code is code
    assert caught.value.text.endswith(f"; pip install 'binlog-connector[spark,{extra}]'")


def test_a_folder_of_hdfs_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stream_jobs.delta.hdfs_storage", None)
    with pytest.raises(ConfigError) as caught:
        storage_of("webhdfs://namenode/mirror")
    assert caught.value.code is settings_errors.HDFS_EXTRA
    assert caught.value.text.endswith("; pip install 'binlog-connector[spark,hdfs]'")


class Recorder:
    """A session of Spark that keeps the data source it gets."""

    def __init__(self) -> None:
        self.dataSource = self.readStream = self  # Spark's names
        self.source: type[DataSource] | None = None

    def register(self, source: type[DataSource]) -> None:
        self.source = source

    def format(self, name: str) -> Recorder:
        assert self.source is not None
        assert name == self.source.name()
        return self

    def load(self) -> None:
        """Return nothing: there is no stream."""


# Spark starts a process for each of these steps, and the next one waits for it.
LOADED = """
import base64, sys
from pyspark import cloudpickle
source = cloudpickle.loads(base64.b64decode(sys.argv[1]))
reader = source({}).streamReader(None)
cloudpickle.loads(cloudpickle.dumps(reader))
heavy = ("pydantic", "kafka", "pyarrow", "stream_jobs.tables", "stream_jobs.delta")
print([name for name in heavy if name in sys.modules])
"""


def test_the_processes_of_the_stream_load_no_tables() -> None:
    session: Any = Recorder()
    options: Any = NO_SKIPPED_TABLES
    begin = MirrorOffsets(LocalStorage("/mirror"), "/mirror", "shop", options)
    facts = BrokerConfig(("a:1",), 1.0, ())
    read_ranges_stream(session, facts, "shop", 10, SECRET, NO_SKIPPED_TABLES, begin)
    dumps: Any = cloudpickle.dumps  # the library has no types
    data = base64.b64encode(dumps(session.source)).decode()
    run = subprocess.run(
        [sys.executable, "-c", LOADED, data], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"


def test_the_process_of_a_stream_ends_with_its_parent() -> None:
    program = (
        "import time; from stream_jobs.source.offset_stream import end_with_parent; "
        "end_with_parent(); print('watches', flush=True); time.sleep(60)"
    )
    # Their output ends with the last of both.
    start = f"import subprocess, sys; subprocess.call([sys.executable, '-c', {program!r}])"
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"watches\n"
        parent.kill()
        killed_at = time.monotonic()
        assert parent.stdout.read() == b""
    assert time.monotonic() - killed_at < 10
