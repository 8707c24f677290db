"""A transaction goes on when its coordinator moves to another broker on the way."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.transaction_requests import ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE
from connector.stream.sink.kafka_sink import KafkaSink
from local_stack import KafkaBroker
from tests.integration.harness import wait_until
from tests.integration.second_broker import SecondBroker
from tests.integration.sink.commits import PROGRESS, commit, publish
from tests.integration.sink.test_direct_commits import Cable, delivered, warm
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.kafka

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
def sink(cluster: Cluster, prefix: str) -> Iterator[KafkaSink]:
    settings = KafkaSettings.model_validate(
        {"bootstrap_servers": [cluster.first.endpoint.bootstrap], "topic_prefix": prefix}
    )
    sink = KafkaSink(settings, "pipe", "a", 1 << 20)
    warm(sink, prefix)
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

    for broker in producer._client._brokers.values():
        broker.connection._socket = cable = Cable(broker.connection._socket)
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
    sink: KafkaSink, cluster: Cluster, prefix: str, kind: int
) -> None:
    publish(sink, prefix, range(3))
    commit(sink, PROGRESS)
    before(kind, sink, cluster)
    publish(sink, prefix, range(3, 6))
    commit(sink, PROGRESS)
    publish(sink, prefix, range(6, 9))
    commit(sink, PROGRESS)
    assert delivered(cluster.first, prefix) == list(range(9))
    warm(sink, prefix)


def test_a_coordinator_that_has_moved_is_found(
    sink: KafkaSink, cluster: Cluster, prefix: str
) -> None:
    cluster.move()
    publish(sink, prefix, range(3))
    commit(sink, PROGRESS)
    warm(sink, prefix)
    publish(sink, prefix, range(3, 6))
    commit(sink, PROGRESS)
    assert delivered(cluster.first, prefix) == list(range(6))
