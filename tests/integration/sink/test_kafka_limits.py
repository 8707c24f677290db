"""Limits of Kafka that repeating cannot get past are named, with the setting."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient

from connector.errors import kafka_limits
from local_stack import KafkaBroker
from tests.errors.texts import text_of
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, run_to_end, wait_until_settled
from tests.integration.packet_proxy import CHECKSUM_LENGTH, PacketProxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import MysqlServer

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


def test_topics_that_take_smaller_records_are_told_at_the_start(
    mysql_server: MysqlServer, strict_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(mysql_server.endpoint, strict_broker.endpoint, tmp_path)
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v MEDIUMTEXT)")
    topic = f"{stream.prefix}.{stream.database}.t"
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap)
    sizes = {"max.message.bytes": "20000"}
    described = {"num_partitions": 1, "replication_factor": 1, "configs": sizes}
    admin.create_topics({topic: described}, wait_for_metadata=True)
    admin.close()
    stream.execute("INSERT INTO t VALUES (1, REPEAT('x', 10000))")
    with stream.connector(**SMALL, kafka__compression="none") as connector:
        stream.wait_for_changes(1, connector)
        connector.wait_for(text_of(kafka_limits.SMALL_TOPICS))
        assert f'"cdc.topics": "{topic} (20000)"' in connector.output()
        stream.execute("INSERT INTO t VALUES (2, CONCAT(UUID(), REPEAT(RAND(), 5000)))")
        assert connector.wait() == 3
        said = failure_of(connector.output())
    assert re.sub(r"127\.0\.0\.1:\d+", "BROKER", said).endswith(
        "a record is larger than Kafka takes; raise kafka.record_bytes_max, and max.message.bytes "
        "of the topic if it existed before"
    )
    assert [change.key["id"] for change in stream.changes()] == [1]


def test_a_timeout_beyond_that_of_the_brokers_is_refused_at_the_start(
    mysql_server: MysqlServer, strict_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(mysql_server.endpoint, strict_broker.endpoint, tmp_path)
    wanted = SMALL | {"kafka__transaction_timeout_seconds": 61}
    assert last_error(stream.config(**wanted)) == (
        "kafka BROKER: kafka.transaction_timeout_seconds (61) is above the brokers' "
        "transaction.max.timeout.ms (60000); lower the one or raise the other"
    )
