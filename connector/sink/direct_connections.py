"""Our own connections to the brokers that kafka-python knows, opened when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka.errors import NodeNotReadyError

from connector.sink.direct_connection import DirectConnection

if TYPE_CHECKING:
    from kafka import TopicPartition

_MS = 1000


class DirectConnections:
    """One connection to each broker; every method raises OSError or KafkaError."""

    def __init__(self, cluster: Any, settings: dict[str, Any]) -> None:
        """Connect by the `settings` of the client that `cluster` belongs to."""
        self._cluster = cluster
        self._settings = settings
        self._by_address: dict[tuple[str, int], DirectConnection] = {}
        # The time for one response.
        self.seconds = settings["request_timeout_ms"] / _MS
        _ = cluster.broker_metadata, cluster.leader_for_partition

    def to(self, node_id: object) -> DirectConnection:
        """Return the connection to a broker."""
        node = self._cluster.broker_metadata(node_id)
        if node is None:
            raise NodeNotReadyError(node_id)
        address = node.host, node.port
        connection = self._by_address.get(address)
        if connection is None:
            connection = DirectConnection.open(self._settings, *address, self.seconds)
            self._by_address[address] = connection
        return connection

    def to_leader(self, partition: TopicPartition) -> DirectConnection:
        """Return the connection to the leader of a partition."""
        return self.to(self._cluster.leader_for_partition(partition))

    def close(self) -> None:
        """Close all; the next use opens them again."""
        for connection in self._by_address.values():
            connection.close()
        self._by_address.clear()
