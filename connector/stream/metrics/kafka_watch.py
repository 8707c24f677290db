"""Watches Kafka alongside the stream, in a separate thread and over a separate connection.

An idle stream has nothing to commit, and a busy one waits for a commit as long as Kafka may take.
Neither notices soon that no broker answers. Each second, the watch asks the leader of the progress
topic for the topic's end: a small request to the broker that also takes commits.

Nor do they notice a deleted topic: clients wait for a topic that they do not find, as it may be a
new one, and write into one that somebody has created again. So the watch also asks which topics
there are, by their ids.
"""

import time
from contextlib import ExitStack
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, UnknownTopicOrPartitionError

from connector.foundation.contract import (
    FENCES_TOPIC_SUFFIX,
    QUARANTINE_TOPIC_SUFFIX,
    control_topic,
)
from connector.foundation.errors import ConfigError, ConnectorError, SinkRefused, SinkUnavailable
from connector.foundation.operating_system import Background
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.progress.progress_record import progress_topic
from connector.stream.sink import connection, kafka_errors

_PAUSE_SECONDS = 1.0
# With the pause before it, a loss is known within 5 seconds.
_ANSWER_MS = 2500
_FETCH_WAIT_MS = 500
# Between two looks at the topics, and more if there are many of them.
_TOPICS_SECONDS = 2.0
_TOPICS_PER_SECOND = 100
_QUARANTINE_TOPICS = (QUARANTINE_TOPIC_SUFFIX, FENCES_TOPIC_SUFFIX)


class KafkaWatch(Background):
    """Updates `metrics.kafka` until it is closed."""

    def __init__(self, settings: KafkaSettings, metrics: PipelineMetrics) -> None:
        """Ask the brokers of `settings`; the progress topic must exist."""
        super().__init__("kafka-watch")
        self._settings = settings
        self._metrics = metrics
        self._place = TopicPartition(progress_topic(settings.topic_prefix), 0)
        # The id of each topic, and those that were missing at the last look: brokers hear of a new
        # topic one after the other.
        self._ids: dict[str, object] = {}
        self._missing: set[str] = set()
        self._look_at = 0.0
        self.start()

    def close(self) -> None:
        """Stop the thread; it may wait for a response, so it is not joined."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with ExitStack() as opened:
                    consumer = self._open(KafkaConsumer, self._consumer_settings())
                    opened.callback(consumer.close, timeout_ms=0)
                    admin = self._open(KafkaAdminClient, connection.client_settings(self._settings))
                    opened.callback(admin.close)
                    while not self._closed.is_set():
                        self._look_at_topics(admin)
                        consumer.end_offsets([self._place], timeout_ms=_ANSWER_MS)
                        self._metrics.kafka.answer()
                        self._closed.wait(_PAUSE_SECONDS)
            except (KafkaError, OSError, ConfigError) as error:
                self._take(error)
                self._closed.wait(_PAUSE_SECONDS)

    def _consumer_settings(self) -> dict[str, Any]:
        waits_ms = min(_FETCH_WAIT_MS, self._answer_ms // 2)
        return connection.consumer_settings(self._settings) | {
            "fetch_max_wait_ms": waits_ms,
            "metrics_enabled": False,
        }

    @property
    def _answer_ms(self) -> int:
        return min(_ANSWER_MS, int(self._settings.request_timeout_seconds * 1000))

    def _open(self, kind: Any, settings: dict[str, Any]) -> Any:
        answer_ms = self._answer_ms
        return kind(
            **settings | {"request_timeout_ms": answer_ms, "bootstrap_timeout_ms": answer_ms}
        )

    def _look_at_topics(self, admin: Any) -> None:
        """Look whether each topic in use is the one that it was."""
        if time.monotonic() < self._look_at:
            return
        names = self._metrics.control.topics()
        self._look_at = time.monotonic() + max(_TOPICS_SECONDS, len(names) / _TOPICS_PER_SECOND)
        missing = set()
        for description in admin.describe_topics([*names]) if names else ():
            name = description["name"]
            if description["error_code"] == UnknownTopicOrPartitionError.errno:
                missing.add(name)
                is_lost = name in self._missing
            elif description["error_code"]:
                continue
            else:
                topic_id = description.get("topic_id")
                is_lost = self._ids.setdefault(name, topic_id) != topic_id
            if is_lost:
                self._ids.pop(name, None)
                self._metrics.control.lose_topic(name, self._lost(name))
        if missing - self._missing:
            # Look once more before the usual time.
            self._look_at = 0.0
        self._missing = missing

    def _lost(self, topic: str) -> ConnectorError:
        """Return what the loss of a topic means for the stream."""
        prefix, servers = self._settings.topic_prefix, connection.servers_of(self._settings)
        committed = self._metrics.position
        if topic == self._place.topic and committed is not None:
            # Without it, nobody knows where the stream goes on.
            progress = committed.progress
            position = f"{progress.file}:{progress.position}"
            if progress.gtid_set is not None:
                position = f"{position}, GTIDs {progress.gtid_set}"
            return SinkRefused(
                kafka_errors.POSITION_DELETED, servers=servers, topic=topic, position=position
            )
        topics = [control_topic(prefix, suffix) for suffix in _QUARANTINE_TOPICS]
        if topic in topics and self._metrics.fences():
            return SinkRefused(kafka_errors.KEPT_BACK_DELETED, servers=servers, topic=topic)
        return SinkUnavailable(kafka_errors.TOPIC_DELETED, servers=servers, topic=topic)

    def _take(self, error: KafkaError | OSError | ConfigError) -> None:
        if self._closed.is_set():
            return
        lost: ConnectorError
        if isinstance(error, ConfigError):
            lost = error
        else:
            lost = connection.connector_error(
                self._settings, connection.reading(self._place.topic), error
            )
            if isinstance(lost, SinkUnavailable) and not lost.answered:
                servers = connection.servers_of(self._settings)
                lost = SinkUnavailable(kafka_errors.NO_ANSWER, answered=False, servers=servers)
        self._metrics.lose(self._metrics.kafka, lost)
