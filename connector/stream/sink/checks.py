"""Checks of Kafka before a run writes: committed state, rights, limits of brokers, newest keys.

Nothing here creates, writes or fences.

If a request is too large for a broker, the broker closes the connection silently, and the client
would retry for ever. So the settings are compared with the limits before. A record that is too
large for its topic is refused by name when it comes. The newest keys of topics show in which form
earlier runs wrote them.
"""

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import structlog
from kafka import TopicPartition, errors
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.admin import DescribeTransactionsRequest

from connector.foundation.errors import SinkRefused, line
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka import kafka_python
from connector.stream.sink import connection, kafka_errors, topic_limits
from connector.stream.sink.connection import KAFKA_CLIENTS, KafkaClients
from connector.stream.sink.kafka_sink import transactional_id
from connector.stream.sink.recovery import RecoveredState, TopicLog, recover
from connector.stream.sink.topics import Brokers, TopicCreator, topics_at_start

_WRITE = "WRITE"


def inspect(
    settings: KafkaSettings, name: str, clients: KafkaClients = KAFKA_CLIENTS
) -> RecoveredState:
    """Return the state that pipeline `name` would continue from.

    The pipeline may be running: its transactions are neither waited for nor aborted. Raises the
    errors of opening a KafkaSink, and DecodeError for progress of another version.
    """
    topics = topics_at_start(settings)
    creator = TopicCreator(settings, clients)
    missing = creator.missing(*topics)
    creator.require_layout()
    _check_rights(settings, name, [topic for topic in topics if topic not in missing], clients)
    return recover(settings, name, clients, missing=missing, to_the_last=False)


def _check_rights(
    settings: KafkaSettings, name: str, topics: list[str], clients: KafkaClients
) -> None:
    """Check the rights to write `topics` and to use the transactional id."""
    own_id = transactional_id(settings, name)
    doing = connection.taking_over(own_id)
    try:
        with closing(clients.open_admin(**connection.client_settings(settings))) as admin:
            if not _may_use(admin, own_id):
                raise errors.TransactionalIdAuthorizationFailedError
            for topic in admin.describe_topics(topics) if topics else ():
                doing = connection.writing(topic["name"])
                # A broker that does not report rights lists none; before 2.3, none does.
                rights = topic.get("authorized_operations")
                if rights and _WRITE not in rights:
                    raise errors.TopicAuthorizationFailedError
    except (errors.KafkaError, OSError) as error:
        raise connection.connector_error(settings, doing, error) from error


def _may_use(admin: Any, own_id: str) -> bool:
    """Return whether a transactional id may be used, as far as the cluster reports it.

    The client's own function looks for the coordinator. In a cluster without transactions, that
    creates the internal topic of transactions.
    """
    request = DescribeTransactionsRequest(transactional_ids=[own_id])
    try:
        answer = kafka_python.ask(admin, request)
    except errors.IncompatibleBrokerVersion:
        # Kafka before 3.0 does not report it.
        return True
    refusal = errors.TransactionalIdAuthorizationFailedError.errno
    return all(state.error_code != refusal for state in answer.transaction_states)


_BROKER_LIMIT = "socket.request.max.bytes"
_TRANSACTION_LIMIT = "transaction.max.timeout.ms"
_MS = 1000
# A request holds more than the bytes of a record: names of topics, headers.
_REQUEST_OVERHEAD_BYTES = 64 * 1024
_TOPICS_SHOWN_MAX = 5


def check_limits(settings: KafkaSettings, clients: KafkaClients = KAFKA_CLIENTS) -> None:
    """Raise SinkRefused if topics, records or transactions of the settings exceed the limits.

    A log line reports what may stop the stream later, and limits that cannot be read. Raises
    SinkUnavailable.
    """
    try:
        with closing(clients.open_admin(**connection.client_settings(settings))) as admin:
            up = _check_topics(admin, settings)
            _check_sizes(admin, settings, up)
    except topic_limits.NOT_ALLOWED as error:
        structlog.get_logger().info(**line(kafka_errors.NO_LIMITS), error=str(error))
    except (errors.KafkaError, OSError) as error:
        raise connection.connector_error(settings, connection.looking_at_limits(), error) from error


def _check_topics(admin: Any, settings: KafkaSettings) -> list[str]:
    """Check whether topics of new tables can be created; return the ids of running brokers."""
    brokers = Brokers.asked(admin, settings.replication_factor)
    up = sorted(map(str, brokers.up))
    lack = brokers.lack(settings)
    if isinstance(lack, SinkRefused):
        raise lack
    try:
        TopicCreator(settings).require_tables(admin)
    except errors.InvalidReplicationFactorError:
        # Existing topics work; the stream stops only when it needs a new one.
        brokers = Brokers.asked(admin)
        structlog.get_logger().warning(
            **line(kafka_errors.NO_TOPICS_NOW),
            brokers_up=len(brokers.up),
            brokers=len(brokers.known),
            replication_factor=settings.replication_factor,
        )
    except errors.TopicAuthorizationFailedError:
        structlog.get_logger().warning(**line(kafka_errors.NO_RIGHT_TO_CREATE))
    return up


def _check_sizes(admin: Any, settings: KafkaSettings, brokers: list[str]) -> None:
    """Compare sizes and timeouts."""
    requests_max = _smallest(admin, brokers, _BROKER_LIMIT)
    transactions_max = _smallest(admin, brokers, _TRANSACTION_LIMIT)
    small = _smaller_topics(admin, settings)
    servers = connection.servers_of(settings)
    if requests_max < settings.record_bytes_max + _REQUEST_OVERHEAD_BYTES:
        raise SinkRefused(
            kafka_errors.REQUEST_SIZE,
            servers=servers,
            record=settings.record_bytes_max,
            request=requests_max,
            overhead=_REQUEST_OVERHEAD_BYTES,
        )
    if transactions_max < settings.transaction_timeout_seconds * _MS:
        raise SinkRefused(
            kafka_errors.TIMEOUT_LIMIT,
            servers=servers,
            timeout=settings.transaction_timeout_seconds,
            limit=transactions_max,
        )
    if small:
        structlog.get_logger().warning(
            **line(kafka_errors.SMALL_TOPICS),
            topics=", ".join(small[:_TOPICS_SHOWN_MAX]),
            count=len(small),
        )


def _smaller_topics(admin: Any, settings: KafkaSettings) -> list[str]:
    """Return the prefix's topics that take smaller records, with their limit in bytes."""
    topics = topic_limits.topics_of_prefix(admin, settings.topic_prefix)
    limits = topic_limits.topic_limits(admin, topics)
    if len(limits) < len(topics):
        message = "the user may not see the limits of topics"
        raise errors.ClusterAuthorizationFailedError(message)
    return topic_limits.smaller_topics(limits, settings.record_bytes_max)


def _smallest(admin: Any, brokers: list[str], setting: str) -> int:
    """Return the smallest value of a setting of brokers."""
    asked = [ConfigResource(ConfigResourceType.BROKER, name, {setting: None}) for name in brokers]
    (configs,) = admin.describe_configs(asked, config_filter="all").values()
    if any(setting not in configs[name] for name in brokers):
        # The client drops the error of a broker, which then has no settings at all.
        message = f"the user may not see {setting}"
        raise errors.ClusterAuthorizationFailedError(message)
    return min(int(configs[name][setting]["value"]) for name in brokers)


# After the last record of a partition come the marks of transactions, mostly one.
_TAIL_OFFSETS = 10


@dataclass(frozen=True, slots=True)
class NewestKey:
    """The key of the newest record of a topic that has one."""

    topic: str
    record: str  # topic[partition]@offset
    key: bytes


def newest_keys(
    settings: KafkaSettings,
    topics: Collection[str],
    topics_max: int,
    clients: KafkaClients = KAFKA_CLIENTS,
) -> list[NewestKey]:
    """Return the newest key of each of `topics` that exists; of `topics_max` of them at most.

    A topic without a key among the last records of its partitions has none here. Open transactions
    are not waited for. Raises SinkUnavailable or SinkRefused.
    """
    newest: list[NewestKey] = []
    doing = connection.reading(*topics)
    try:
        with closing(clients.open_consumer(**connection.consumer_settings(settings))) as consumer:
            for topic in sorted(consumer.topics().intersection(topics))[:topics_max]:
                doing = connection.reading(topic)
                newest += _newest(consumer, topic)
    except (errors.KafkaError, OSError) as error:
        raise connection.connector_error(settings, doing, error) from error
    return newest


def _newest(consumer: Any, topic: str) -> Iterator[NewestKey]:
    """Yield the newest key of a topic, if there is one."""
    partitions = [
        TopicPartition(topic, partition) for partition in consumer.partitions_for_topic(topic) or ()
    ]
    begins, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    keyed = [
        record
        for partition in partitions
        for record in TopicLog(consumer, partition, begins[partition], ends[partition]).read(
            max(begins[partition], ends[partition] - _TAIL_OFFSETS), ends[partition]
        )
        if record.key is not None
    ]
    if keyed:
        last = max(keyed, key=lambda record: (record.timestamp, record.offset))
        yield NewestKey(topic, f"{topic}[{last.partition}]@{last.offset}", last.key)
