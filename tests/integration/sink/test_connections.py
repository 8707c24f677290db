"""How often Kafka is asked, and over how many connections."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest

from connector.foundation.errors import SinkRefused
from connector.kafka.kafka_python import ConnectionManager
from connector.stream.sink.checks import check_limits
from connector.stream.sink.connection import KAFKA_CLIENTS

if TYPE_CHECKING:
    from connector.foundation.settings.sections import KafkaSettings
    from local_stack import KafkaBroker

pytestmark = pytest.mark.kafka


class CountingManager(ConnectionManager):
    """A manager that knows to which addresses it has connected."""

    def __init__(self, selector: NetworkSelector, **settings: Any) -> None:
        super().__init__(selector, **settings)
        self.addresses: list[str] = []

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        self.addresses.append(f"{node.host}:{node.port}")
        return await super()._build_transport(node, timeout_at)


def connected(address: str) -> list[str]:
    """Return which addresses are connected to for a bootstrap and a request to the broker."""
    with closing(NetworkSelector()) as selector:
        manager = CountingManager(selector, bootstrap_servers=[address])
        manager.bootstrap(20_000)
        (broker,) = manager.cluster.brokers()
        response = selector.run(manager.send, MetadataRequest(topics=[]), broker.node_id)
        assert [each.node_id for each in response.brokers] == [broker.node_id]
        addresses = manager.addresses
        # A connection that was kept is forgotten like any other.
        selector.run(manager.get_connection(broker.node_id).close)
        assert manager._conns == {}
        selector.run(manager.send, MetadataRequest(topics=[]), broker.node_id)
        assert manager.addresses.pop() == f"{broker.host}:{broker.port}"
        manager.close()
    return addresses


@pytest.mark.broker("a port")
def test_a_broker_whose_own_address_is_in_the_settings_is_connected_to_once(
    kafka_broker: KafkaBroker,
) -> None:
    port = kafka_broker.endpoint.port
    own = f"127.0.0.1:{port}"
    assert connected(own) == [own]
    # A name says nothing about who answers there: it may be a load balancer.
    assert connected(f"localhost:{port}") == [f"localhost:{port}", own]


def test_the_topics_of_the_cluster_are_looked_through_only_if_too_few_brokers_are_up(
    settings: KafkaSettings,
) -> None:
    asked = []

    class Admin(KafkaAdminClient):  # type: ignore[misc]  # the library has no types
        def describe_topics(self, topics: list[str] | None = None) -> Any:
            asked.append(topics)
            return super().describe_topics(topics)

    clients = replace(KAFKA_CLIENTS, open_admin=Admin)
    check_limits(settings, clients)
    assert asked
    assert None not in asked
    with pytest.raises(SinkRefused):
        check_limits(settings.model_copy(update={"replication_factor": 2}), clients)
    assert None in asked
