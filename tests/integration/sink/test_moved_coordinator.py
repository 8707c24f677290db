"""A transaction goes on when its coordinator moves to another broker on the way."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink.broker_connection import ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE
from connector.stream.sink.kafka_sink import KafkaSink
from connector.stream.sink.transaction_client import TransactionStage
from local_stack import KafkaBroker
from tests.integration.harness import wait_until
from tests.integration.second_broker import SecondBroker
from tests.integration.sink.commits import commit
from tests.integration.sink.test_delivery import PROGRESS, publish
from tests.integration.sink.test_direct_commits import Cable, delivered, prefix, reached, warm
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.kafka

__all__ = ["prefix", "reached"]

STATES = TopicPartition("__transaction_state", 0)


@dataclass
class Cluster:
    """Two brokers; one of them coordinates all transactions."""

    first: KafkaBroker
    coordinator: int = 0

    def move(self) -> None:
        """Give the transactions to the other broker."""
        with closing(KafkaAdminClient(bootstrap_servers=self.first.endpoint.bootstrap)) as admin:
            # Kafka chooses the first one.
            (topic,) = admin.describe_topics([STATES.topic])
            self.coordinator = 3 - topic["partitions"][0]["leader_id"]
            admin.alter_partition_reassignments({STATES: [self.coordinator]})
            wait_until(lambda: self._has_moved(admin), lambda: "the coordinator does not move")

    def _has_moved(self, admin: Any) -> bool:
        try:
            (topic,) = admin.describe_topics([STATES.topic])
        except KafkaError:
            return False
        (partition,) = topic["partitions"]
        replicas = partition["leader_id"], *partition["replica_nodes"]
        return replicas == (self.coordinator, self.coordinator)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with KafkaBroker(folder / "first") as first, SecondBroker(folder / "second", first):
        yield Cluster(first)


@pytest.fixture
def sink(cluster: Cluster, prefix: str, reached: list[TransactionStage]) -> Iterator[KafkaSink]:
    settings = KafkaSettings.model_validate(
        {"bootstrap_servers": [cluster.first.endpoint.bootstrap], "topic_prefix": prefix}
    )
    sink = KafkaSink(settings, "pipe", "a", 1 << 20)
    warm(sink, prefix, reached)
    yield sink
    sink.close()


def before(kind: int, sink: KafkaSink, cluster: Cluster) -> None:
    """Move the coordinator before the next request of a kind."""
    producer: Any = sink._producer
    cables: list[Cable] = []

    def move() -> None:
        for cable in cables:
            cable.kind = -1
        cluster.move()

    for connection in producer._link._connections.values():
        connection._socket = cable = Cable(connection._socket)
        cable.kind, cable.before = kind, move
        cables.append(cable)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(ADD_PARTITIONS_TO_TXN, marks=full_only),
        pytest.param(PRODUCE, marks=full_only),
        END_TXN,
    ],
    ids=["add", "produce", "end"],
)
def test_a_coordinator_that_moves_on_the_way_loses_and_repeats_nothing(
    sink: KafkaSink, cluster: Cluster, prefix: str, reached: list[TransactionStage], kind: int
) -> None:
    publish(sink, prefix, range(3))
    commit(sink, PROGRESS)
    before(kind, sink, cluster)
    publish(sink, prefix, range(3, 6))
    commit(sink, PROGRESS)
    if kind == END_TXN:
        assert reached[-1] is TransactionStage.ACKNOWLEDGED
    publish(sink, prefix, range(6, 9))
    commit(sink, PROGRESS)
    assert delivered(cluster.first, prefix) == list(range(9))
    warm(sink, prefix, reached)


def test_a_coordinator_that_has_moved_is_found(
    sink: KafkaSink, cluster: Cluster, prefix: str, reached: list[TransactionStage]
) -> None:
    cluster.move()
    publish(sink, prefix, range(3))
    commit(sink, PROGRESS)
    warm(sink, prefix, reached)
    publish(sink, prefix, range(3, 6))
    commit(sink, PROGRESS)
    assert reached == [TransactionStage.ENDED]
    assert delivered(cluster.first, prefix) == list(range(6))
