"""Watches Kafka beside the stream, in a thread and a connection of its own.

An idle stream has nothing to commit, and a busy one waits for a commit as long as Kafka may take.
Neither notices soon that no broker answers. Each second, the watch asks the leader of the progress
topic for the topic's end: a small request to the broker that also takes commits.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from connector.errors import ConfigError, SinkUnavailable, kafka
from connector.progress.progress_record import progress_topic
from connector.sink import attempts
from connector.sink.connection import connector_error, consumer_settings, servers_of

if TYPE_CHECKING:
    from connector.errors import ConnectorError
    from connector.metrics.figures import Figures
    from connector.settings.sections import KafkaSettings

_PAUSE_SECONDS = 1.0
# With the pause before it, a loss is known within 5 seconds.
_ANSWER_MS = 2500
_FETCH_WAIT_MS = 500


class KafkaWatch:
    """Updates `figures.kafka` until it is closed."""

    def __init__(self, settings: KafkaSettings, figures: Figures) -> None:
        """Ask the brokers of `settings`; the progress topic must exist."""
        self._settings = settings
        self._figures = figures
        self._place = TopicPartition(progress_topic(settings.topic_prefix), 0)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kafka-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; it may wait for a response, so it is not joined."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.is_set():
            try:
                consumer = self._open()
                try:
                    while not self._closed.is_set():
                        consumer.end_offsets([self._place], timeout_ms=_ANSWER_MS)
                        self._figures.kafka.answer()
                        self._closed.wait(_PAUSE_SECONDS)
                finally:
                    consumer.close(timeout_ms=0)
            except (KafkaError, OSError, ConfigError) as error:
                self._take(error)
                self._closed.wait(_PAUSE_SECONDS)

    def _open(self) -> Any:
        answer_ms = min(_ANSWER_MS, int(self._settings.request_timeout_seconds * 1000))
        return KafkaConsumer(
            **consumer_settings(self._settings)
            | {
                "request_timeout_ms": answer_ms,
                "bootstrap_timeout_ms": answer_ms,
                "fetch_max_wait_ms": min(_FETCH_WAIT_MS, answer_ms // 2),
                "metrics_enabled": False,
            }
        )

    def _take(self, error: KafkaError | OSError | ConfigError) -> None:
        if self._closed.is_set():
            return
        lost: ConnectorError
        if isinstance(error, ConfigError):
            lost = error
        else:
            lost = connector_error(self._settings, attempts.reading(self._place.topic), error)
            if isinstance(lost, SinkUnavailable) and not lost.answered:
                servers = servers_of(self._settings)
                lost = SinkUnavailable(kafka.NO_ANSWER, answered=False, servers=servers)
        self._figures.lose(self._figures.kafka, lost)
