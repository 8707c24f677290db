"""The largest record batch that each topic accepts.

Kafka compares `max.message.bytes` of a topic with a whole batch, as the producer has compressed it.
If the topic has a `compression.type` of its own, the broker compresses the batch again, and
compares the result as well; so what counts then is what certainly fits after any compression.

https://kafka.apache.org/documentation/#topicconfigs_max.message.bytes
"""

import time
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from kafka import errors
from kafka.admin import ConfigResource, ConfigResourceType

from connector.foundation.record_batch import HEADER_BYTES, RecordBatch
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.encoded_batch import CODECS, EncodedBatch
from connector.stream.sink import connection
from connector.stream.sink.connection import KafkaClients, client_settings, connector_error

# What a user without the right to see limits gets.
NOT_ALLOWED = (
    errors.ClusterAuthorizationFailedError,
    errors.TopicAuthorizationFailedError,
    errors.UnsupportedVersionError,
)
_SIZE = "max.message.bytes"
_COMPRESSION = "compression.type"
_SIZE_MAX = 2**31 - 1
# Compression may add to a record that it cannot make smaller: one part in so many, and more.
_COMPRESSION_PART = 256
_COMPRESSION_BYTES = 1024
# Before a record is refused, its topic is asked again, but not for each one of many.
_LOOK_SECONDS = 1.0


class TopicLimit(NamedTuple):
    """What the settings of a topic say."""

    size: int  # max.message.bytes
    compression: str  # producer, uncompressed, or the name of a codec

    def uncompressed(self, codec: str) -> int:
        """Return how many bytes of a batch fit before compression with `codec`, in any case."""
        if self.compression in ("producer", "uncompressed", codec):
            return self.size
        return (self.size - _COMPRESSION_BYTES) * _COMPRESSION_PART // (_COMPRESSION_PART + 1)


_NO_LIMIT = TopicLimit(_SIZE_MAX, "producer")


class TopicLimits:
    """The limits of the topics of a prefix, and of others that are asked for.

    A topic without a known limit takes everything: the connector has just created it with a limit
    that fits, or the user may not see its settings.
    """

    def __init__(self, settings: KafkaSettings, clients: KafkaClients) -> None:
        """Read the limits of the topics that there are; raises SinkRefused or SinkUnavailable."""
        self._settings = settings
        self._clients = clients
        self._codec = settings.compression
        self._limits: dict[str, TopicLimit] = {}
        self._looked_at = -_LOOK_SECONDS
        self._read()

    def uncompressed(self, topic: str) -> int:
        """Return how many bytes a batch may have before compression, to fit in any case.

        Raises SinkRefused or SinkUnavailable.
        """
        if topic not in self._limits and not _is_of(topic, self._settings.topic_prefix):
            self._limits[topic] = _NO_LIMIT
            self._read()
        return self._limit(topic).uncompressed(self._codec)

    def take(self, batch: RecordBatch) -> bool:
        """Return whether the topic of a batch takes it after compression.

        Raises SinkRefused or SinkUnavailable.
        """
        sizes = len(batch.data), _compressed_bytes(batch, self._codec)
        if not self._fits(batch.topic, *sizes):
            # Somebody may have raised the limit, as the error asks for.
            now = time.monotonic()
            if now < self._looked_at + _LOOK_SECONDS:
                return False
            self._looked_at = now
            self._read()
        return self._fits(batch.topic, *sizes)

    def changed(self) -> list[str]:
        """Read the limits again; return new ones that are below those of records, by their topics.

        Raises SinkRefused or SinkUnavailable.
        """
        before = dict(self._limits)
        self._read()
        changed = {
            topic: limit for topic, limit in self._limits.items() if limit != before.get(topic)
        }
        return smaller_topics(changed, self._settings.record_bytes_max)

    def _limit(self, topic: str) -> TopicLimit:
        return self._limits.get(topic, _NO_LIMIT)

    def _fits(self, topic: str, size: int, compressed: int) -> bool:
        limit = self._limit(topic)
        counts_compressed = limit.compression in ("producer", self._codec)
        return (compressed if counts_compressed else size) <= limit.uncompressed(self._codec)

    def _read(self) -> None:
        settings = self._settings
        try:
            with closing(self._clients.open_admin(**client_settings(settings))) as admin:
                topics = topics_of_prefix(admin, settings.topic_prefix)
                topics += sorted(self._limits.keys() - set(topics))
                self._limits |= topic_limits(admin, topics)
        except NOT_ALLOWED:
            # A start has said so. Then a record that is too large ends the stream.
            pass
        except (errors.KafkaError, OSError) as error:
            raise connector_error(settings, connection.looking_at_limits(), error) from error


def topic_limits(admin: Any, topics: list[str]) -> dict[str, TopicLimit]:
    """Return the limit of each topic whose settings the user may see."""
    return {
        topic: TopicLimit(int(values[_SIZE]), values[_COMPRESSION])
        for topic, values in topic_configs(admin, topics, (_SIZE, _COMPRESSION)).items()
    }


def topic_configs(
    admin: Any, topics: Collection[str], names: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return the settings `names` of each topic whose settings the user may see.

    Raises KafkaError.
    """
    if not topics:
        return {}
    wanted = dict.fromkeys(names)
    asked = [ConfigResource(ConfigResourceType.TOPIC, topic, wanted) for topic in topics]
    return {
        topic: {name: values[name]["value"] for name in names}
        for configs in admin.describe_configs(asked, config_filter="all").values()
        for topic, values in configs.items()
        # The client drops the error of a topic, which then has no settings at all.
        if values.keys() >= wanted.keys()
    }


def smaller_topics(limits: Mapping[str, TopicLimit], record_bytes_max: int) -> list[str]:
    """Return the topics that do not take all records, each with its limit in bytes."""
    return [
        f"{topic} ({limit.size})"
        for topic, limit in limits.items()
        if limit.size < record_bytes_max
    ]


def topics_of_prefix(admin: Any, prefix: str) -> list[str]:
    """Return the existing topics of a prefix, in the order of their names."""
    return sorted(topic for topic in admin.list_topics() if _is_of(topic, prefix))


def limit_for(record_bytes: int) -> int:
    """Return `max.message.bytes` of a topic that takes records of so many bytes in any case."""
    size_max = record_bytes + record_bytes // _COMPRESSION_PART + _COMPRESSION_BYTES
    return min(size_max, _SIZE_MAX)


def _is_of(topic: str, prefix: str) -> bool:
    return f"{topic}.".startswith(f"{prefix}.")


def _compressed_bytes(batch: RecordBatch, codec: str) -> int:
    return HEADER_BYTES + len(EncodedBatch(batch, CODECS[codec]).compress())
