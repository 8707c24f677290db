"""The brokers of a cluster: a topic cannot have more replicas than there are brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connector.errors import SinkRefused, SinkUnavailable, kafka_limits

if TYPE_CHECKING:
    from connector.settings.sections import KafkaSettings


@dataclass(frozen=True, slots=True)
class Brokers:
    """The ids of a cluster's brokers."""

    up: frozenset[int]
    known: frozenset[int]  # including those that are down

    @classmethod
    def asked(cls, admin: Any) -> Brokers:
        """Ask the cluster; raises KafkaError.

        A cluster before Kafka 4.0 does not list brokers that are down, but its replicas name them.
        """
        described = admin.describe_cluster()["brokers"]
        up = {broker["broker_id"] for broker in described if not broker.get("is_fenced")}
        replicas = {
            replica
            for topic in admin.describe_topics()
            for partition in topic["partitions"]
            for replica in partition["replica_nodes"]
        }
        known = up | replicas | {broker["broker_id"] for broker in described}
        return cls(frozenset(up), frozenset(known))

    def lack(self, settings: KafkaSettings) -> SinkRefused | SinkUnavailable | None:
        """Return the error if a topic cannot get `replication_factor` replicas, else None.

        Brokers that are down may come back, so the error is definite only if all brokers are too
        few. KRaft gives replicas to brokers that are down, too; ZooKeeper did not.
        """
        servers, factor = ",".join(settings.bootstrap_servers), settings.replication_factor
        if factor > len(self.known):
            return SinkRefused(
                kafka_limits.REPLICAS, servers=servers, factor=factor, brokers=len(self.known)
            )
        if factor > len(self.up):
            return SinkUnavailable(
                kafka_limits.BROKERS_DOWN,
                servers=servers,
                up=len(self.up),
                brokers=len(self.known),
                factor=factor,
            )
        return None
