"""Reads `<prefix>.quarantine`, beginning when the oldest of some fences was set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.contract import QUARANTINE_TOPIC_SUFFIX, control_topic
from connector.quarantine.core.record import RecordParts
from connector.sink import attempts
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import connector_error, consumer_settings
from connector.sink.topics import TopicCreator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.contract import QuarantineRecord
    from connector.errors import ConnectorError
    from connector.settings.sections import KafkaSettings

_POLL_MS = 20


def read_all(
    settings: KafkaSettings, pipeline: str
) -> Iterator[tuple[int, QuarantineRecord, bytes]]:
    """Yield every record of a pipeline, with its offset and its event.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    TopicCreator(settings).ensure(control_topic(settings.topic_prefix, QUARANTINE_TOPIC_SUFFIX))
    log = QuarantineLog(settings, 0)
    try:
        while not log.at_end():
            for offset, key, record, event in log.read():
                if key.startswith(f"{pipeline}/".encode()):
                    yield offset, record, event
    finally:
        log.close()


class QuarantineLog:
    """The committed records of the topic, in order."""

    def __init__(
        self, settings: KafkaSettings, since_ms: int, clients: KafkaClients = KAFKA_CLIENTS
    ) -> None:
        """Begin with records that were written at `since_ms` or later.

        Raises SinkUnavailable or SinkRefused.
        """
        self._settings = settings
        self._partition = TopicPartition(
            control_topic(settings.topic_prefix, QUARANTINE_TOPIC_SUFFIX), 0
        )
        self._parts = RecordParts()
        # Read by the client, but not returned yet.
        self._fetched: list[Any] = []
        self._consumer: Any = None
        try:
            self._consumer = clients.open_consumer(**consumer_settings(settings))
            self._consumer.assign([self._partition])
            found = self._consumer.offsets_for_times({self._partition: since_ms})[self._partition]
            if found is None:
                self._consumer.seek_to_end(self._partition)
            else:
                self._consumer.seek(self._partition, found.offset)
        except (KafkaError, OSError) as error:
            self.close()
            raise self._failure(error) from error

    def read(self) -> Iterator[tuple[int, bytes, QuarantineRecord, bytes]]:
        """Yield offset of the last part, key, record and event of each record that was received.

        Records that the caller does not take come again. Raises SinkUnavailable or SinkRefused, and
        DecodeError for a record of another version.
        """
        try:
            if not self._fetched:
                polled = self._consumer.poll(timeout_ms=_POLL_MS)
                self._fetched = list(polled.get(self._partition, ()))
                self._fetched.reverse()
        except (KafkaError, OSError) as error:
            raise self._failure(error) from error
        while self._fetched:
            fetched = self._fetched.pop()
            whole = self._parts.take(fetched.key, fetched.value)
            if whole is not None:
                yield fetched.offset, fetched.key, *whole

    def at_end(self) -> bool:
        """Return whether everything that was committed has been read.

        Raises SinkUnavailable or SinkRefused.
        """
        try:
            end = self._consumer.end_offsets([self._partition])[self._partition]
            return not self._fetched and self._consumer.position(self._partition) >= end
        except (KafkaError, OSError) as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Close the connection."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _failure(self, error: KafkaError | OSError) -> ConnectorError:
        return connector_error(self._settings, attempts.reading(self._partition.topic), error)
