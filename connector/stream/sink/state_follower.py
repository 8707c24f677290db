"""The state that a running pipeline has committed, kept up to date with few reads.

`recovery.recover` reads the compacted topics from their beginning. Here each look reads only what
came since the last one, over connections that stay open. One thread at a time may look.
"""

from contextlib import ExitStack
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.foundation.contract import SNAPSHOT_TOPIC_SUFFIX, control_topic
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.envelope.schemas.table_schema import schema_topic
from connector.stream.progress.progress_record import Progress, progress_topic
from connector.stream.sink import connection, recovery


class StateFollower:
    """The progress of one pipeline, and its compacted topics."""

    def __init__(
        self,
        settings: KafkaSettings,
        name: str,
        clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
    ) -> None:
        """Follow pipeline `name`; the first look connects."""
        self._settings = settings
        self._name = name
        self._clients = clients
        prefix = settings.topic_prefix
        self._progress_topic = progress_topic(prefix)
        self._schema_topic = schema_topic(prefix)
        self._snapshot_topic = control_topic(prefix, SNAPSHOT_TOPIC_SUFFIX)
        self._partitions = [
            TopicPartition(topic, 0)
            for topic in (self._progress_topic, self._schema_topic, self._snapshot_topic)
        ]
        self._opened = ExitStack()
        self._forget()

    def look(self) -> None:
        """Read what is committed now, after the end of transactions that are open.

        Raises SinkUnavailable or SinkRefused, and DecodeError for progress of another version; the
        next look then begins again.
        """
        try:
            self._look()
        except BaseException as error:
            self.close()
            if isinstance(error, KafkaError | OSError):
                topics = [partition.topic for partition in self._partitions]
                doing = connection.reading(*topics)
                raise connection.connector_error(self._settings, doing, error) from error
            raise

    def close(self) -> None:
        """Close the connections, and forget what was read."""
        self._opened.close()
        self._forget()

    def _forget(self) -> None:
        self._consumer: Any = None
        self._uncommitted: Any = None
        self._positions: dict[TopicPartition, int] = {}
        # None before the first look, and if the pipeline has none.
        self.progress: Progress | None = None
        # The last value of each key: of `database.table`, by schema_id, the oldest first.
        self.schemas: dict[str, dict[str, bytes]] = {}
        self.snapshots: dict[str, bytes] = {}  # by `database.table`

    def _look(self) -> None:
        if self._consumer is None:
            settings = recovery.committed_settings(self._settings)
            opened = self._opened
            self._consumer = opened.enter_context(self._clients.open_consumer(**settings))
            settings["isolation_level"] = "read_uncommitted"
            self._uncommitted = opened.enter_context(self._clients.open_consumer(**settings))
            self._positions = self._consumer.beginning_offsets(self._partitions)
        # The last offsets: reading up to them waits for the end of open transactions.
        ends: dict[TopicPartition, int] = self._uncommitted.end_offsets(self._partitions)
        if any(ends[partition] < self._positions[partition] for partition in self._partitions):
            # Somebody has made a topic again.
            self.close()
            self._look()
            return
        for partition in self._partitions:
            begin, end = self._positions[partition], ends[partition]
            log = recovery.TopicLog(self._consumer, partition, begin, end)
            if partition.topic == self._progress_topic:
                self._read_progress(log)
            else:
                self._read_values(log)
            self._positions[partition] = end

    def _read_progress(self, log: recovery.TopicLog) -> None:
        if self.progress is None:
            self.progress = recovery.last_progress(log, self._name)[0]
            return
        own = [record for record in log.read(log.begin, log.end) if record.key == self._key]
        if own:
            # A record without a value removes the progress.
            self.progress = (
                None if own[-1].value is None else recovery.decoded_progress(log, own[-1])
            )

    @property
    def _key(self) -> bytes:
        return self._name.encode()

    def _read_values(self, log: recovery.TopicLog) -> None:
        own = f"{self._name}/"
        for record in log.read(log.begin, log.end):
            key = record.key.decode()
            if log.partition.topic == self._schema_topic:
                table, _, schema_id = key.rpartition("/")
                values = self.schemas.setdefault(table, {})
            elif key.startswith(own):
                schema_id, values = key.removeprefix(own), self.snapshots
            else:
                continue
            # The last one goes to the end.
            values.pop(schema_id, None)
            if record.value is not None:
                values[schema_id] = record.value
