"""Watches Kafka alongside the stream, in a separate thread and over a separate connection.

An idle stream has nothing to commit, and a busy one waits for a commit as long as Kafka may take.
Neither notices soon that no broker answers. Each second, the watch asks the leader of the progress
topic for the topic's end: a small request to the broker that also takes commits.

Nor do they notice a deleted topic: clients wait for a topic that they do not find, as it may be a
new one, and write into one that somebody has created again. So the watch also asks which topics
there are, by their ids.
"""

import time
from contextlib import closing

from kafka import errors
from kafka.errors import KafkaError
from kafka.protocol.consumer import IsolationLevel

from connector.foundation import contract
from connector.foundation.errors import ConfigError, ConnectorError, SinkRefused, SinkUnavailable
from connector.foundation.operating_system import Background
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.cluster import Cluster, end_offsets
from connector.kafka.failures import Action, action_of
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.progress.progress_record import progress_topic
from connector.stream.sink import connection, kafka_errors

_PAUSE_SECONDS = 1.0
# With the pause before it, a loss is known within 5 seconds.
_ANSWER_MS = 2500
# So long another leader is looked for, before the last attempt.
_SEARCH_SECONDS = 1.0
_SEARCH_PAUSE_SECONDS = 0.25
# Between two looks at the topics, and more if there are many of them.
_TOPICS_SECONDS = 2.0
_TOPICS_PER_SECOND = 100
# After this time, other brokers have heard of a new topic, too.
_SECOND_LOOK_SECONDS = 0.9
_QUARANTINE_TOPICS = (contract.QUARANTINE_TOPIC_SUFFIX, contract.FENCES_TOPIC_SUFFIX)
_REPEATED = (Action.RETRY, Action.REFRESH)


class KafkaWatch(Background):
    """Updates `metrics.kafka` until it is closed."""

    def __init__(self, settings: KafkaSettings, metrics: PipelineMetrics) -> None:
        """Ask the brokers of `settings`; the progress topic must exist."""
        super().__init__("kafka-watch")
        self._settings = settings
        self._metrics = metrics
        self._topic = progress_topic(settings.topic_prefix)
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
                with closing(Cluster(self._client_settings())) as cluster:
                    self._watch(cluster)
            except (KafkaError, OSError, ConfigError) as error:
                self._take(error)
                self._closed.wait(_PAUSE_SECONDS)

    def _client_settings(self) -> dict[str, object]:
        answer_ms = min(_ANSWER_MS, int(self._settings.request_timeout_seconds * 1000))
        return connection.client_settings(self._settings) | {
            "request_timeout_ms": answer_ms,
            "bootstrap_timeout_ms": answer_ms,
        }

    def _watch(self, cluster: Cluster) -> None:
        """Ask the leader, and another one that takes its place; raises KafkaError or OSError."""
        answered_at = time.monotonic()
        while not self._closed.is_set():
            try:
                self._look_at_topics(cluster)
                cluster.refresh([self._topic])
                node = cluster.leader_of((self._topic, 0))
                with closing(cluster.connect(node)) as leader:
                    while not self._closed.is_set():
                        end_offsets(leader, [(self._topic, 0)], IsolationLevel.READ_COMMITTED)
                        self._metrics.kafka.answer()
                        self._look_at_topics(cluster)
                        answered_at = time.monotonic()
                        self._closed.wait(_PAUSE_SECONDS)
            except TimeoutError:
                raise
            except (KafkaError, OSError) as error:
                is_late = time.monotonic() - answered_at > _PAUSE_SECONDS + _SEARCH_SECONDS
                if is_late or action_of(error) not in _REPEATED:
                    raise
                self._closed.wait(_SEARCH_PAUSE_SECONDS)

    def _look_at_topics(self, cluster: Cluster) -> None:
        """Look whether each topic in use is the one that it was."""
        if time.monotonic() < self._look_at:
            return
        names = self._metrics.control.topics()
        self._look_at = time.monotonic() + max(_TOPICS_SECONDS, len(names) / _TOPICS_PER_SECOND)
        missing = set()
        for topic in cluster.described(names):
            if topic.error_code == errors.UnknownTopicOrPartitionError.errno:
                missing.add(topic.name)
                is_lost = topic.name in self._missing
            elif topic.error_code:
                continue
            else:
                is_lost = self._ids.setdefault(topic.name, topic.topic_id) != topic.topic_id
            if is_lost:
                self._ids.pop(topic.name, None)
                self._metrics.control.lose_topic(topic.name, self._lost(topic.name))
        if missing - self._missing:
            # Look once more before the usual time.
            self._look_at = time.monotonic() + _SECOND_LOOK_SECONDS
        self._missing = missing

    def _lost(self, topic: str) -> ConnectorError:
        """Return what the loss of a topic means for the stream."""
        prefix, servers = self._settings.topic_prefix, connection.servers_of(self._settings)
        committed = self._metrics.position
        if topic == self._topic and committed is not None:
            # Without it, nobody knows where the stream goes on.
            progress = committed.progress
            position = f"{progress.file}:{progress.position}"
            if progress.gtid_set is not None:
                position = f"{position}, GTIDs {progress.gtid_set}"
            return SinkRefused(
                kafka_errors.POSITION_DELETED, servers=servers, topic=topic, position=position
            )
        topics = [contract.control_topic(prefix, suffix) for suffix in _QUARANTINE_TOPICS]
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
                self._settings, connection.reading(self._topic), error
            )
            if isinstance(lost, SinkUnavailable) and not lost.answered:
                servers = connection.servers_of(self._settings)
                lost = SinkUnavailable(kafka_errors.NO_ANSWER, answered=False, servers=servers)
        self._metrics.lose(self._metrics.kafka, lost)
