"""Creates topics when they are first needed, with settings that fit their records.

A topic cannot have more replicas than there are brokers; `Brokers` knows how many there are.
"""

import math
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

from kafka import TopicPartition, errors
from kafka.admin import OffsetSpec

from connector.foundation import contract
from connector.foundation.errors import SinkRefused, SinkUnavailable
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink import connection, kafka_errors
from connector.stream.sink.control_layout import require_layout
from connector.stream.sink.topic_limits import limit_for

# Topics that every run reads before it begins.
_TOPICS_AT_START = (
    contract.PROGRESS_TOPIC_SUFFIX,
    contract.SCHEMA_TOPIC_SUFFIX,
    contract.SNAPSHOT_TOPIC_SUFFIX,
    contract.FENCES_TOPIC_SUFFIX,
    contract.COMMANDS_TOPIC_SUFFIX,
)
# Those that are read from their first partition, and that the sink writes to all their partitions.
_READ_AS_ONE = (
    contract.PROGRESS_TOPIC_SUFFIX,
    contract.SCHEMA_TOPIC_SUFFIX,
    contract.SNAPSHOT_TOPIC_SUFFIX,
    contract.FENCES_TOPIC_SUFFIX,
    contract.QUARANTINE_TOPIC_SUFFIX,
)


@dataclass(frozen=True, slots=True)
class Brokers:
    """The ids of a cluster's brokers."""

    up: frozenset[int]
    known: frozenset[int]  # including those that are down

    @classmethod
    def asked(cls, admin: Any, enough: float = math.inf) -> Self:
        """Ask the cluster; raises KafkaError.

        A cluster before Kafka 4.0 does not list brokers that are down, but its replicas name them.
        If `enough` are up, they are not asked for: a cluster may have thousands of topics.
        """
        described = admin.describe_cluster()["brokers"]
        up = {broker["broker_id"] for broker in described if not broker.get("is_fenced")}
        replicas = {
            replica
            for topic in (admin.describe_topics() if len(up) < enough else ())
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
        servers, factor = connection.servers_of(settings), settings.replication_factor
        if factor > len(self.known):
            return SinkRefused(
                kafka_errors.REPLICAS, servers=servers, factor=factor, brokers=len(self.known)
            )
        if factor > len(self.up):
            return SinkUnavailable(
                kafka_errors.BROKERS_DOWN,
                servers=servers,
                up=len(self.up),
                brokers=len(self.known),
                factor=factor,
            )
        return None


_HOUR_MS = 3_600_000
_LEADER_PAUSE_SECONDS = 0.02
# These are read from the start: Kafka keeps the last record of each key for ever, and compacts
# soon.
_COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": str(24 * _HOUR_MS),
}
_KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1"}
_KEPT_A_WEEK = {"cleanup.policy": "delete", "retention.ms": str(7 * 24 * _HOUR_MS)}
# Topics with one partition, because all their records have one order.
_CONTROL_TOPICS = {
    contract.SCHEMA_TOPIC_SUFFIX: _COMPACTED,
    contract.PROGRESS_TOPIC_SUFFIX: _COMPACTED,
    contract.SNAPSHOT_TOPIC_SUFFIX: _COMPACTED,
    contract.FENCES_TOPIC_SUFFIX: _COMPACTED,
    contract.QUARANTINE_TOPIC_SUFFIX: _KEPT_FOR_EVER,
    contract.COMMANDS_TOPIC_SUFFIX: _KEPT_A_WEEK,
    contract.TRANSACTION_TOPIC_SUFFIX: _KEPT_A_WEEK,
    contract.HEARTBEAT_TOPIC_SUFFIX: _KEPT_A_WEEK,
}


class TopicCreator:
    """Creates missing topics; asks the cluster only about topics that it has not seen yet."""

    def __init__(
        self,
        settings: KafkaSettings,
        clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
        notifications: str | None = None,
    ) -> None:
        """Create topics in the cluster of `settings`; `notifications` is the topic of these."""
        self._settings = settings
        self._clients = clients
        self._known: set[str] = set()
        # Those that the pipeline uses.
        self._used: set[str] = set()
        prefix = settings.topic_prefix
        self._control = {
            contract.control_topic(prefix, suffix): config
            for suffix, config in _CONTROL_TOPICS.items()
        } | {prefix: _KEPT_FOR_EVER}
        if notifications is not None:
            self._control[notifications] = _KEPT_A_WEEK

    def ensure(self, *topics: str) -> None:
        """Create the missing ones of `topics`; raises SinkRefused or SinkUnavailable."""
        unknown = [topic for topic in topics if topic not in self._known]
        if unknown:
            self._create(unknown, validate_only=False)
            self._known.update(unknown)
        self._used.update(topics)

    def is_known(self, topic: str) -> bool:
        """Return whether a topic exists, as far as is known without a question."""
        return topic in self._known

    def note(self, topics: Iterable[str]) -> None:
        """Note topics of `create_many`: from now on they are known, and used."""
        self._known.update(topics)
        self._used.update(topics)

    def create_many(self, topics: Iterable[str]) -> list[str]:
        """Create the missing ones of many topics by one request; return those that exist now.

        Those that Kafka refuses are left to `ensure`. Any thread may call it. Raises SinkRefused or
        SinkUnavailable.
        """
        unknown = [topic for topic in topics if topic not in self._known]
        try:
            with closing(self._open_admin()) as admin:
                existing = set(self._existing(admin, unknown))
                missing = {
                    topic: self._description(topic) for topic in unknown if topic not in existing
                }
                made = self._create_accepted(admin, missing) if missing else []
        except (errors.KafkaError, OSError) as error:
            raise connection.connector_error(
                self._settings, connection.creating(*unknown), error
            ) from error
        return [topic for topic in unknown if topic in existing or topic in made]

    def _create_accepted(self, admin: Any, missing: dict[str, dict[str, Any]]) -> Collection[str]:
        """Create those of `missing` topics that Kafka accepts; raises KafkaError."""
        answer = admin.create_topics(missing, raise_errors=False)
        made = {
            topic["name"]: missing[topic["name"]]
            for topic in answer["topics"]
            if not topic["error_code"]
        }
        if made:
            admin.wait_for_topics(list(made))
            _await_leaders(admin, made, self._settings.request_timeout_seconds)
        return made

    def require_layout(self) -> None:
        """Check the control topics that were there at the first `ensure` or `missing`.

        Raises SinkRefused for one that cannot hold its records, or SinkUnavailable.
        """
        prefix = self._settings.topic_prefix
        topics = [contract.control_topic(prefix, suffix) for suffix in _READ_AS_ONE]
        topics = [topic for topic in topics if topic in self._known]
        compacted = [topic for topic in topics if self._control[topic] is _COMPACTED]
        try:
            with closing(self._open_admin()) as admin:
                require_layout(admin, self._settings, topics, compacted)
        except (errors.KafkaError, OSError) as error:
            raise connection.connector_error(
                self._settings, connection.looking_at_limits(), error
            ) from error

    @property
    def used(self) -> list[str]:
        """The topics that were asked for and exist; any thread may ask."""
        return list(self._used)

    def has(self, topic: str) -> bool:
        """Return whether a topic exists that was not created by this process.

        It is looked for among the topics that there were at the first `ensure`; from now on, it
        counts as `used`.
        """
        if topic not in self._known:
            return False
        self._used.add(topic)
        return True

    def missing(self, *topics: str) -> list[str]:
        """Return the missing ones of `topics` without creating them.

        Raises the errors of `ensure` if they cannot be created.
        """
        return self._create(topics, validate_only=True)

    def require_tables(self, admin: Any) -> None:
        """Check whether topics of tables can be created and described, without creating any.

        Raises SinkRefused or SinkUnavailable. TopicAuthorizationFailedError and
        InvalidReplicationFactorError do not matter for topics that exist.
        """
        topic = contract.row_topic(self._settings.topic_prefix, "database", "table")
        try:
            admin.create_topics({topic: self._description(topic)}, validate_only=True)
            _require_describable(admin, [topic])
        except errors.TopicAlreadyExistsError:
            pass
        except (
            errors.InvalidReplicationFactorError,
            errors.TopicAuthorizationFailedError,
            errors.UnsupportedVersionError,
        ):
            raise
        except errors.KafkaError as error:
            raise connection.connector_error(
                self._settings, connection.creating_tables(), error
            ) from error

    def _create(self, topics: Sequence[str], *, validate_only: bool) -> list[str]:
        """Create the missing topics, or check whether that is possible; return their names."""
        missing = list(topics)
        try:
            admin = self._open_admin()
            try:
                self._known.update(self._existing(admin, topics))
                missing = [topic for topic in topics if topic not in self._known]
                wanted = {topic: self._description(topic) for topic in missing}
                if wanted and validate_only:
                    admin.create_topics(wanted, validate_only=True)
                    _require_describable(admin, missing)
                elif wanted:
                    admin.create_topics(wanted, wait_for_metadata=True)
                    _await_leaders(admin, wanted, self._settings.request_timeout_seconds)
            except errors.InvalidReplicationFactorError as error:
                lack = Brokers.asked(admin).lack(self._settings)
                if lack is None:
                    # A broker has come back meanwhile.
                    raise
                raise lack from error
            finally:
                admin.close()
        except errors.TopicAlreadyExistsError:
            # Another process has created it.
            pass
        except (errors.KafkaError, OSError) as error:
            raise connection.connector_error(
                self._settings, connection.creating(*topics), error
            ) from error
        return missing

    def _open_admin(self) -> Any:
        return self._clients.open_admin(**connection.client_settings(self._settings))

    def _existing(self, admin: Any, topics: Sequence[str]) -> Iterable[str]:
        """Return which of `topics` exist, and at first which others do.

        After a restart, most topics that will be needed exist. A cluster may have thousands, so
        this is asked once.
        """
        if not self._known:
            names: list[str] = admin.list_topics()
            return names
        descriptions = admin.describe_topics([*topics])
        return [topic["name"] for topic in descriptions if not topic["error_code"]]

    def _description(self, topic: str) -> dict[str, Any]:
        settings = self._settings
        size = {"max.message.bytes": str(limit_for(settings.record_bytes_max))}
        if topic in self._control:
            return {
                "num_partitions": 1,
                "replication_factor": settings.replication_factor,
                "configs": self._control[topic] | size,
            }
        retention = -1 if settings.retention_hours < 0 else settings.retention_hours * _HOUR_MS
        return {
            "num_partitions": settings.partitions,
            "replication_factor": settings.replication_factor,
            "configs": {"cleanup.policy": "delete", "retention.ms": str(retention)} | size,
        }


def topics_at_start(settings: KafkaSettings) -> list[str]:
    """Return the topics that every run creates if they are missing."""
    return [contract.control_topic(settings.topic_prefix, suffix) for suffix in _TOPICS_AT_START]


def _await_leaders(admin: Any, created: dict[str, dict[str, Any]], timeout_seconds: float) -> None:
    """Wait until the leaders of new topics know that they lead, a moment after all others do.

    Until then they refuse what is written, and the first transaction would take longer. A broker
    that is asked before it has heard of a topic answers that there is no such topic.
    """
    deadline = time.monotonic() + timeout_seconds
    latest = {
        TopicPartition(topic, partition): OffsetSpec.LATEST
        for topic, description in created.items()
        for partition in range(description["num_partitions"])
    }
    while True:
        try:
            admin.list_partition_offsets(latest)
        except (errors.UnknownTopicOrPartitionError, errors.LeaderNotAvailableError):
            if time.monotonic() > deadline:
                raise
            time.sleep(_LEADER_PAUSE_SECONDS)
        else:
            return


def _require_describable(admin: Any, topics: Sequence[str]) -> None:
    """Raise TopicAuthorizationFailedError if the user may not describe one of `topics`.

    The right to create a topic does not include this one, and writing needs it. The broker looks at
    the right before it looks for the topic.
    """
    for description in admin.describe_topics([*topics]):
        if description["error_code"] == errors.TopicAuthorizationFailedError.errno:
            raise errors.TopicAuthorizationFailedError(description["name"])
