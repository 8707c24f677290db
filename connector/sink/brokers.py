"""How many brokers a cluster has: a topic cannot have more replicas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connector.errors import SinkRefused, SinkUnavailable, kafka_limits

if TYPE_CHECKING:
    from connector.settings.sections import KafkaSettings


@dataclass(frozen=True, slots=True)
class Brokers:
    """The brokers of a cluster, by their ids."""

    up: frozenset[int]
    known: frozenset[int]  # with those that are down just now

    @classmethod
    def asked(cls, admin: Any) -> Brokers:
        """Ask the cluster; raises KafkaError.

        A cluster before Kafka 4.0 does not name brokers that are down. Their replicas do.
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
        """Return why a topic may not get `replication_factor` replicas; None if it must.

        A broker that is down may come back, so this refuses only what all of them cannot do. KRaft
        gives replicas to brokers that are down, too; ZooKeeper did not.
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
