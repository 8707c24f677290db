"""The two ends of `verify --topics`, and why a range cannot be proven."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError, DefiniteError, SourceRefused, TransientError
from connector.foundation.settings.configuration import load_settings
from connector.stream.sink.recovery import read_progress
from local_stack import MariadbServer, connect
from tests.foundation.errors.texts import shown
from tests.integration.database_stream import new_stream
from tests.integration.ended_topics import end_topics
from tests.integration.harness import write_config
from tests.integration.proof.delivered import proven, verify
from tests.integration.proof.kept_topics import delete_before, produce, records_of
from tests.length import full_only
from verification import verify_errors

if TYPE_CHECKING:
    from pathlib import Path

    from connector.stream.progress.progress_record import Progress
    from local_stack import KafkaBroker
    from tests.integration.proof.delivered import Delivered

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]


def progress_of(delivered: Delivered) -> Progress:
    """Return the newest progress of the pipeline."""
    settings = load_settings(delivered.config)
    progress = read_progress(settings.kafka, settings.name)
    assert progress is not None
    return progress


def forged(delivered: Delivered, directory: Path, name: str, **changed: object) -> Path:
    """Write a progress record of a pipeline that has never run; return its configuration."""
    stream = delivered.stream
    topic = f"{stream.prefix}.progress"
    records = records_of(stream.broker, topic)[0]
    record = [each for each in records if each.key == stream.prefix.encode()][-1]
    value = json.dumps(json.loads(record.value) | changed).encode()
    again = record._replace(key=name.encode(), value=value)
    produce(stream.broker, topic, {0: [again]})
    return write_config(
        directory, stream.source, stream.broker, stream.prefix, stream.database, name=name
    )


@pytest.mark.parametrize("form", [0, 1], ids=["position", "gtids"])
def test_a_range_has_only_the_transactions_between_its_ends(
    delivered: Delivered, form: int
) -> None:
    topic = f"{delivered.stream.prefix}.{delivered.stream.database}.halves"
    first, until = delivered.marks[1][form], delivered.marks[3][form]
    outcome = proven(delivered.config, first, until)
    assert dict(outcome.differences) == {}, outcome.examples
    assert outcome.transactions == 2
    assert {name: counts.expected for name, counts in outcome.topics.items()} == {
        topic: 12,
        f"{delivered.stream.prefix}.transaction": 4,
    }
    (epoch,) = outcome.epochs
    assert epoch.end is not None
    assert (epoch.end.file, epoch.end.position) == (
        delivered.marks[3][0].rpartition(":")[0],
        int(delivered.marks[3][0].rpartition(":")[2]),
    )


def test_a_range_whose_records_are_deleted_is_not_proven(delivered: Delivered) -> None:
    stream, config = delivered.stream, delivered.config
    topic = f"{stream.prefix}.{stream.database}.halves"
    delete_before(stream.broker, topic, 0, records_of(stream.broker, topic)[0][-1].offset + 1)
    code, output = verify(config, "--from", delivered.marks[1][0])
    assert code == 3, output
    assert f"{topic}[0] has lost older records: nothing is left to prove" in output.splitlines()
    assert "equal, but a part of the range is not proven" in output.splitlines()
    code, output = verify(config)
    assert code == 0, output


def test_a_range_that_is_not_delivered_yet_is_not_finished(delivered: Delivered) -> None:
    progress = progress_of(delivered)
    wanted = f"{progress.file}:{progress.position + 1000}"
    with pytest.raises(TransientError) as error:
        proven(delivered.config, until=wanted)
    assert str(error.value) == shown(
        verify_errors.NOT_DELIVERED, file=progress.file, position=progress.position, wanted=wanted
    )


def test_an_end_that_is_no_position_is_a_wrong_argument(delivered: Delivered) -> None:
    with pytest.raises(ConfigError) as error:
        proven(delivered.config, until="yesterday")
    assert error.value.code is verify_errors.GTIDS
    code, output = verify(delivered.config, "--to", "yesterday")
    assert code == 2
    assert "--to: yesterday is neither FILE:POSITION nor a GTID set" in output


def test_a_pipeline_that_has_delivered_nothing_is_told_to_start(
    delivered: Delivered, tmp_path: Path
) -> None:
    stream = delivered.stream
    config = write_config(
        tmp_path, stream.source, stream.broker, stream.prefix, stream.database, name="never"
    )
    with pytest.raises(TransientError) as error:
        proven(config)
    assert str(error.value) == shown(
        verify_errors.NOTHING_DELIVERED, pipeline="never", prefix=stream.prefix
    )


def test_topics_of_another_server_cannot_be_proven(delivered: Delivered, tmp_path: Path) -> None:
    other = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    config = forged(delivered, tmp_path, "moved", server_uuid=other, source="db9:3306")
    with pytest.raises(SourceRefused) as error:
        proven(config)
    endpoint = delivered.stream.source
    assert str(error.value) == shown(
        verify_errors.TOPICS_OTHER_SERVER,
        server_uuid=other,
        source="db9:3306",
        servers=[f"{endpoint.host}:{endpoint.port}"],
    )


def test_a_log_that_ends_before_the_progress_proves_nothing(
    delivered: Delivered, tmp_path: Path
) -> None:
    progress = progress_of(delivered)
    beyond = progress.position + 10_000_000
    config = forged(delivered, tmp_path, "ahead", position=beyond)
    with pytest.raises(DefiniteError) as error:
        proven(config)
    endpoint = delivered.stream.source
    assert str(error.value) == shown(
        verify_errors.LOG_ENDS,
        source=f"{endpoint.host}:{endpoint.port}",
        found=f"{progress.file}:{progress.position}",
        file=progress.file,
        position=beyond,
    )


def test_a_log_that_begins_after_the_progress_proves_nothing(
    delivered: Delivered, tmp_path: Path
) -> None:
    base, _, _ = progress_of(delivered).file.rpartition(".")
    config = forged(delivered, tmp_path, "purged", file=f"{base}.000000", position=4)
    with connect(delivered.stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        first, *_ = cursor.fetchall()[0]
    with pytest.raises(SourceRefused) as error:
        proven(config)
    endpoint = delivered.stream.source
    assert str(error.value) == shown(
        verify_errors.LOG_GONE,
        source=f"{endpoint.host}:{endpoint.port}",
        first=first,
        file=f"{base}.000000",
    )
    code, _ = verify(config)
    assert code == 3


@full_only
def test_numbers_of_two_servers_in_a_domain_of_mariadb_do_not_end_a_range(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    loose = {"gtid_strict_mode": "OFF"}
    with MariadbServer(tmp_path / "mariadb", settings=loose) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        # As if two other servers had written them.
        stream.execute("SET server_id = 91, gtid_seq_no = 1001", "INSERT INTO t VALUES (1)")
        stream.execute("SET server_id = 92, gtid_seq_no = 991", "INSERT INTO t VALUES (2)")
        with stream.connector() as connector:
            stream.wait_for_changes(2, connector)
            assert connector.terminate() == 0
        config = stream.config()
        ends = [proven(config, None, until).epochs[0].end for until in ("0-91-1001", "0-92-991")]
        with pytest.raises(TransientError) as raised:
            proven(config, None, "0-92-992")
    assert [None if end is None else end.gtid_set for end in ends] == ["0-91-1001", "0-92-991"]
    assert raised.value.code is verify_errors.NOT_DELIVERED
    end_topics(stream.broker, stream.prefix)
