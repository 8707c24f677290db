"""Compares the settings with the brokers' limits before anything is written.

If a request is too large for a broker, the broker closes the connection silently, and the client
would retry for ever. A record that is too large for its topic is refused by name when it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    ClusterAuthorizationFailedError,
    InvalidReplicationFactorError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from connector.errors import SinkRefused, kafka_limits, line
from connector.sink import attempts
from connector.sink.brokers import Brokers
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import client_settings, connector_error, servers_of
from connector.sink.topic_limits import (
    NOT_ALLOWED,
    smaller_topics,
    topic_limits,
    topics_of_prefix,
)
from connector.sink.topics import TopicCreator

if TYPE_CHECKING:
    from connector.settings.sections import KafkaSettings

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
        admin = clients.open_admin(**client_settings(settings))
        try:
            up = _check_topics(admin, settings)
            _check_sizes(admin, settings, up)
        finally:
            admin.close()
    except NOT_ALLOWED as error:
        structlog.get_logger().info(**line(kafka_limits.NO_LIMITS), error=str(error))
    except (KafkaError, OSError) as error:
        raise connector_error(settings, attempts.looking_at_limits(), error) from error


def _check_topics(admin: Any, settings: KafkaSettings) -> list[str]:
    """Check whether topics of new tables can be created; return the ids of running brokers."""
    brokers = Brokers.asked(admin)
    up = sorted(map(str, brokers.up))
    lack = brokers.lack(settings)
    if isinstance(lack, SinkRefused):
        raise lack
    try:
        TopicCreator(settings).require_tables(admin)
    except InvalidReplicationFactorError:
        # Existing topics work; the stream stops only when it needs a new one.
        structlog.get_logger().warning(
            **line(kafka_limits.NO_TOPICS_NOW),
            brokers_up=len(brokers.up),
            brokers=len(brokers.known),
            replication_factor=settings.replication_factor,
        )
    except TopicAuthorizationFailedError:
        structlog.get_logger().warning(**line(kafka_limits.NO_RIGHT_TO_CREATE))
    return up


def _check_sizes(admin: Any, settings: KafkaSettings, brokers: list[str]) -> None:
    """Compare sizes and timeouts."""
    requests_max = _smallest(admin, brokers, _BROKER_LIMIT)
    transactions_max = _smallest(admin, brokers, _TRANSACTION_LIMIT)
    small = _smaller_topics(admin, settings)
    servers = servers_of(settings)
    if requests_max < settings.record_bytes_max + _REQUEST_OVERHEAD_BYTES:
        raise SinkRefused(
            kafka_limits.REQUEST_SIZE,
            servers=servers,
            record=settings.record_bytes_max,
            request=requests_max,
            overhead=_REQUEST_OVERHEAD_BYTES,
        )
    if transactions_max < settings.transaction_timeout_seconds * _MS:
        raise SinkRefused(
            kafka_limits.TIMEOUT_LIMIT,
            servers=servers,
            timeout=settings.transaction_timeout_seconds,
            limit=transactions_max,
        )
    if small:
        structlog.get_logger().warning(
            **line(kafka_limits.SMALL_TOPICS),
            topics=", ".join(small[:_TOPICS_SHOWN_MAX]),
            count=len(small),
        )


def _smaller_topics(admin: Any, settings: KafkaSettings) -> list[str]:
    """Return the prefix's topics that take smaller records, with their limit in bytes."""
    topics = topics_of_prefix(admin, settings.topic_prefix)
    found = topic_limits(admin, topics)
    if len(found) < len(topics):
        message = "the user may not see the limits of topics"
        raise ClusterAuthorizationFailedError(message)
    return smaller_topics(found, settings.record_bytes_max)


def _smallest(admin: Any, brokers: list[str], setting: str) -> int:
    """Return the smallest value of a setting of brokers."""
    asked = [ConfigResource(ConfigResourceType.BROKER, name, {setting: None}) for name in brokers]
    (found,) = admin.describe_configs(asked, config_filter="all").values()
    if any(setting not in found[name] for name in brokers):
        # The client drops the error of a broker, which then has no settings at all.
        message = f"the user may not see {setting}"
        raise ClusterAuthorizationFailedError(message)
    return min(int(found[name][setting]["value"]) for name in brokers)
