"""Limits of Kafka that repeating cannot get past are named, with the setting."""

from __future__ import annotations

import json
import random
import re
import time
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from connector.kafka.kafka_python import network_client
from connector.stream.sink import kafka_errors
from local_stack import KafkaBroker
from tests import forked_command
from tests.foundation.errors.texts import text_of
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, run_to_end, wait_until_settled
from tests.integration.packet_proxy import CHECKSUM_LENGTH, PacketProxy
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import MysqlServer
    from tests.integration.database_stream import Stream
    from tests.integration.harness import Seen

pytestmark = [pytest.mark.server, pytest.mark.kafka]

# More than the second that Kafka waits.
LATE_SECONDS = 2.5
LATE = b"\x04\x00\x00late"


@pytest.fixture(scope="module")
def strict_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that aborts late transactions at once, and lets none last for long."""
    settings = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
        "transaction.max.timeout.ms": "60000",
        "socket.request.max.bytes": str(8 * 1024 * 1024),
    }
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), settings=settings) as broker:
        yield broker


SMALL = {"kafka__transaction_timeout_seconds": 1, "kafka__record_bytes_max": 1024 * 1024}
SMALL_BYTES = 20_000
ROOMY = {"kafka__record_bytes_max": 1024 * 1024}


def last_error(config: Path) -> str:
    code, output = run_to_end(config)
    assert code == 3, output
    return re.sub(r"127\.0\.0\.1:\d+", "BROKER", failure_of(output))


def late(packet: bytes) -> bytes:
    """Hold back the last row of the transaction."""
    if packet.endswith(LATE, 0, -CHECKSUM_LENGTH):
        time.sleep(LATE_SECONDS)
    return packet


def test_a_transaction_that_takes_longer_than_kafka_waits_is_named(
    mysql_server: MysqlServer, strict_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(mysql_server.endpoint, strict_broker.endpoint, tmp_path)
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v MEDIUMTEXT)", "INSERT INTO t VALUES (0, '')"
    )
    large = [f"INSERT INTO t VALUES ({number}, REPEAT('x', 500000))" for number in range(1, 4)]
    stream.transaction(*large, "INSERT INTO t VALUES (9, 'late')")
    with PacketProxy(stream.source, late) as proxy:
        plain = {"kafka__compression": "none", "source.tls__mode": "disabled"}
        config = stream.config(**SMALL, **plain, source__port=proxy.port)
        text = re.sub(r"[0-9a-f-]{36}:\d+", "GTID", last_error(config))
    assert re.sub(r"in \d+ seconds", "in N seconds", text) == (
        "kafka BROKER: source transaction GTID was not delivered in N seconds, nor the time "
        "before, and Kafka aborts what takes longer than kafka.transaction_timeout_seconds (1); "
        "raise it, and transaction.max.timeout.ms of the brokers if that is lower"
    )
    # What came before it is there.
    wait_until_settled(stream.broker, stream.prefix)
    assert [change.key["id"] for change in stream.changes()] == [0]


def test_records_that_no_request_could_hold_are_refused_at_the_start(
    mysql_server: MysqlServer, strict_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(mysql_server.endpoint, strict_broker.endpoint, tmp_path)
    assert last_error(stream.config(kafka__record_bytes_max=8 * 1024 * 1024 - 65535)) == (
        "kafka BROKER: kafka.record_bytes_max (8323073) is too close to the brokers' "
        "socket.request.max.bytes (8388608); set it at least 65536 bytes below the limit of "
        "the brokers, or raise that limit"
    )


def small_topic(stream: Stream, **settings: str) -> None:
    """Create the topic of a table `small`, as somebody who knows nothing of the pipeline does."""
    described = {
        "num_partitions": 1,
        "replication_factor": 1,
        "configs": {"max.message.bytes": str(SMALL_BYTES)} | settings,
    }
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    topic = f"{stream.prefix}.{stream.database}.small"
    admin.create_topics({topic: described}, wait_for_metadata=True)
    admin.close()


def alter_topic(stream: Stream, name: str, size: int) -> None:
    """Change how large the records of a topic of the prefix may be."""
    changed = {"max.message.bytes": str(size)}
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    topic = f"{stream.prefix}.{name}"
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, changed)])
    admin.close()


def insertion(table: str, number: int, size: int) -> str:
    """Return the INSERT of a row that no compression makes smaller than `size` bytes."""
    text = random.Random(number).randbytes(size // 2 + 1).hex()[:size]
    return f"INSERT INTO {table} VALUES ({number}, '{text}')"


def ids_of(changes: list[Seen], table: str) -> list[int]:
    return [change.key["id"] for change in changes if change.topic.endswith(f".{table}")]


def fences_of(stream: Stream) -> list[tuple[str, str]]:
    """Return table and code of each fence."""
    done = forked_command.run("quarantine", "list", str(stream.config(**ROOMY)), "--json")
    assert done.returncode == 0, done.stderr
    fences = [json.loads(line) for line in done.stdout.splitlines()]
    return [(fence["table"], fence["reason"][1:5]) for fence in fences]


@pytest.fixture
def two_tables(either_stream: Stream) -> Stream:
    """Follow a table `small` and another, once on each kind of server."""
    for name in ("small", "other"):
        either_stream.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, v MEDIUMTEXT)")
    return either_stream


def test_a_topic_that_takes_smaller_records_sets_its_table_alone_aside(two_tables: Stream) -> None:
    stream = two_tables
    small_topic(stream)
    topic = f"{stream.prefix}.{stream.database}.small"
    stream.execute("INSERT INTO small VALUES (1, REPEAT('x', 100000))")
    with stream.connector(**ROOMY) as connector:
        # One that compression makes small, and many that are too large only together.
        stream.wait_for_changes(1, connector)
        connector.wait_for(text_of(kafka_errors.SMALL_TOPICS))
        assert f'"cdc.topics": "{topic} ({SMALL_BYTES})"' in connector.output()
        stream.transaction(*(insertion("small", number, 500) for number in range(2, 202)))
        stream.transaction(insertion("small", 202, 15_000), insertion("small", 203, 15_000))
        stream.wait_for_changes(203, connector)
        stream.transaction(insertion("small", 204, 30_000), insertion("other", 1, 30_000))
        found = stream.wait_for_changes(204, connector)
        assert connector.terminate() == 0
        assert '"message": "interrupted"' not in connector.output()
    assert ids_of(found, "small") == list(range(1, 204))
    assert fences_of(stream) == [("small", "K120")]
    with stream.connector(**ROOMY) as connector:
        stream.execute(insertion("small", 205, 10), insertion("other", 2, 10))
        found = stream.wait_for_changes(205, connector)
        assert ids_of(found, "other") == [1, 2]
        # Once the topic takes it, a replay writes it; nothing has to be started again.
        alter_topic(stream, f"{stream.database}.small", 100_000)
        asked = "replay", str(connector.config), f"{stream.database}.small"
        done = forked_command.run("quarantine", *asked)
        assert done.returncode == 0, done.stdout + done.stderr
        found = stream.wait_for_changes(207, connector)
        assert connector.terminate() == 0
    assert ids_of(found, "small") == list(range(1, 206))


def test_a_limit_that_is_lowered_while_the_stream_goes_on_sets_its_table_alone_aside(
    two_tables: Stream,
) -> None:
    stream = two_tables
    with stream.connector(**ROOMY) as connector:
        stream.execute(insertion("small", 1, 30_000))
        stream.wait_for_changes(1, connector)
        alter_topic(stream, f"{stream.database}.small", SMALL_BYTES)
        stream.transaction(insertion("small", 2, 30_000), insertion("other", 1, 30_000))
        stream.wait_for_changes(2, connector)
        stream.execute(insertion("other", 2, 10))
        found = stream.wait_for_changes(3, connector)
        assert connector.terminate() == 0
        interrupted = text_of(
            kafka_errors.CHANGED_LIMITS,
            servers=stream.broker.bootstrap,
            topics=[f"{stream.prefix}.{stream.database}.small ({SMALL_BYTES})"],
        )
        assert interrupted in connector.output()
    assert (ids_of(found, "small"), ids_of(found, "other")) == ([1], [1, 2])
    assert fences_of(stream) == [("small", "K120")]


@pytest.mark.parametrize("compression", ["uncompressed", pytest.param("gzip", marks=full_only)])
def test_a_topic_with_a_compression_of_its_own_counts_the_bytes_before_it(
    stream: Stream, compression: str
) -> None:
    stream.execute("CREATE TABLE small (id INT PRIMARY KEY, v MEDIUMTEXT)")
    stream.execute("CREATE TABLE other (id INT PRIMARY KEY)")
    small_topic(stream, **{"compression.type": compression})
    fitting, large = "REPEAT('x', 10000)", "REPEAT('x', 30000)"
    with stream.connector(**ROOMY) as connector:
        rows = f"(1, {fitting}), (2, {fitting}), (3, {fitting}), (4, {large})"
        stream.execute(f"INSERT INTO small VALUES {rows}", "INSERT INTO other VALUES (1)")
        found = stream.wait_for_changes(4, connector)
        assert connector.terminate() == 0
        assert '"message": "interrupted"' not in connector.output()
    assert (ids_of(found, "small"), ids_of(found, "other")) == ([1, 2, 3], [1])
    assert fences_of(stream) == [("small", "K120")]


def test_a_timeout_beyond_that_of_the_brokers_is_refused_at_the_start(
    mysql_server: MysqlServer, strict_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(mysql_server.endpoint, strict_broker.endpoint, tmp_path)
    wanted = SMALL | {"kafka__transaction_timeout_seconds": 61}
    assert last_error(stream.config(**wanted)) == (
        "kafka BROKER: kafka.transaction_timeout_seconds (61) is above the brokers' "
        "transaction.max.timeout.ms (60000); lower the one or raise the other"
    )
