"""What the brokers take at most is compared with the settings, before anything is written.

A request that is larger than a broker takes ends its connection without a word, so it would be
repeated for ever; a record that is larger than its topic takes is refused by name when it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)

from connector.errors import SinkRefused
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import client_settings, connector_error

if TYPE_CHECKING:
    from connector.config import KafkaSettings

_BROKER_LIMIT = "socket.request.max.bytes"
_TOPIC_LIMIT = "max.message.bytes"
# A request has more than one record's bytes in it: the names of topics, headers.
_REQUEST_OVERHEAD_BYTES = 64 * 1024
_TOPICS_SHOWN_MAX = 5
_NOT_ALLOWED = (
    ClusterAuthorizationFailedError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)


def check_limits(settings: KafkaSettings, clients: KafkaClients = KAFKA_CLIENTS) -> None:
    """Raise SinkRefused where a record of `record_bytes_max` could never be sent.

    Topics that take less are told in the log, and so is that limits cannot be looked at. Raises
    SinkUnavailable.
    """
    try:
        admin = clients.open_admin(**client_settings(settings))
        try:
            requests_max = _request_bytes_max(admin)
            small = _smaller_topics(admin, settings)
        finally:
            admin.close()
    except _NOT_ALLOWED as error:
        structlog.get_logger().info(
            "the limits of Kafka are not compared with kafka.record_bytes_max: the user may not "
            "DESCRIBE_CONFIGS",
            error=str(error),
        )
        return
    except (KafkaError, OSError) as error:
        raise connector_error(settings, "look at its limits", error) from error
    if requests_max < settings.record_bytes_max + _REQUEST_OVERHEAD_BYTES:
        reason = (
            f"kafka {','.join(settings.bootstrap_servers)}: kafka.record_bytes_max "
            f"({settings.record_bytes_max}) is too close to the brokers' {_BROKER_LIMIT} "
            f"({requests_max}): lower the one by {_REQUEST_OVERHEAD_BYTES} bytes below the other, "
            "or raise the other"
        )
        raise SinkRefused(reason)
    if small:
        structlog.get_logger().warning(
            "topics take smaller records than kafka.record_bytes_max: one that is larger will stop "
            "the stream; raise their max.message.bytes",
            topics=", ".join(small[:_TOPICS_SHOWN_MAX]),
            count=len(small),
        )


def _request_bytes_max(admin: Any) -> int:
    """Return how large a request every broker takes."""
    brokers = [str(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"]]
    return min(_values(admin, ConfigResourceType.BROKER, brokers, _BROKER_LIMIT).values())


def _smaller_topics(admin: Any, settings: KafkaSettings) -> list[str]:
    """Return the topics of the prefix that take smaller records, with what they take."""
    prefix = settings.topic_prefix
    topics = sorted(name for name in admin.list_topics() if f"{name}.".startswith(f"{prefix}."))
    found = _values(admin, ConfigResourceType.TOPIC, topics, _TOPIC_LIMIT)
    return [f"{name} ({size})" for name, size in found.items() if size < settings.record_bytes_max]


def _values(admin: Any, kind: ConfigResourceType, names: list[str], setting: str) -> dict[str, int]:
    if not names:
        return {}
    asked = [ConfigResource(kind, name, {setting: None}) for name in names]
    (found,) = admin.describe_configs(asked, config_filter="all").values()
    return {name: int(found[name][setting]["value"]) for name in names}
