"""The quarantine in its topics: stored changes, committed fences, and the request to replay.

Kept changes are read from the time at which the oldest of some fences was set. Fences are read,
and replays requested, by other processes than the pipeline.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.foundation import contract, control_records
from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import KafkaSettings, Settings
from connector.stream.commands.requests import write_command
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.fences import ALL_TABLES, Fence
from connector.stream.quarantine.records import RecordParts
from connector.stream.sink import connection
from connector.stream.sink.recovery import last_offsets, read_latest
from connector.stream.sink.topics import TopicCreator

_POLL_MS = 20


def read_all(
    settings: KafkaSettings, pipeline: str
) -> Iterator[tuple[int, control_records.QuarantineRecord, bytes]]:
    """Yield every record of a pipeline, with its offset and its event.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    TopicCreator(settings).ensure(
        contract.control_topic(settings.topic_prefix, contract.QUARANTINE_TOPIC_SUFFIX)
    )
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
        self,
        settings: KafkaSettings,
        since_ms: int,
        clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
    ) -> None:
        """Begin with records that were written at `since_ms` or later.

        Raises SinkUnavailable or SinkRefused.
        """
        self._settings = settings
        self._clients = clients
        self._partition = TopicPartition(
            contract.control_topic(settings.topic_prefix, contract.QUARANTINE_TOPIC_SUFFIX), 0
        )
        self._parts = RecordParts()
        # Read by the client, but not returned yet.
        self._fetched: list[Any] = []
        self._consumer: Any = None
        try:
            self._consumer = clients.open_consumer(**connection.consumer_settings(settings))
            self._consumer.assign([self._partition])
            offset = self._consumer.offsets_for_times({self._partition: since_ms})[self._partition]
            if offset is None:
                self._consumer.seek_to_end(self._partition)
            else:
                self._consumer.seek(self._partition, offset.offset)
        except (KafkaError, OSError) as error:
            self.close()
            raise self._failure(error) from error

    def read(self) -> Iterator[tuple[int, bytes, control_records.QuarantineRecord, bytes]]:
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
        except (KafkaError, OSError) as error:
            raise self._failure(error) from error
        return self.has_read_to(end)

    def end(self) -> int:
        """Return the end of the topic, including what is not committed.

        Raises SinkUnavailable or SinkRefused.
        """
        try:
            return last_offsets(self._settings, [self._partition], self._clients)[self._partition]
        except (KafkaError, OSError) as error:
            raise self._failure(error) from error

    def has_read_to(self, end: int) -> bool:
        """Return whether everything before an end was read.

        Raises SinkUnavailable or SinkRefused.
        """
        try:
            return not self._fetched and self._consumer.position(self._partition) >= end
        except (KafkaError, OSError) as error:
            raise self._failure(error) from error

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _failure(self, error: KafkaError | OSError) -> ConnectorError:
        return connection.connector_error(
            self._settings, connection.reading(self._partition.topic), error
        )


def read_fences(settings: KafkaSettings, pipeline: str) -> list[Fence]:
    """Return the fences of a pipeline, the oldest first.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    values = read_latest(settings, contract.FENCES_TOPIC_SUFFIX, pipeline)
    fences = [Fence.decode(value, f"{pipeline}/{name}") for name, value in values.items()]
    return sorted(fences, key=lambda fence: fence.since_seq)


class ReplayRequest(NamedTuple):
    """A request that was sent."""

    offset: int
    fences: list[Fence]  # what was held when it was sent


def request_replay(settings: Settings, name: str, key: str | None = None) -> ReplayRequest:
    """Ask the pipeline to write what is held of a table, or of one key of it.

    `name` is DATABASE.TABLE. Raises ConfigError if nothing is held, SinkUnavailable or SinkRefused.
    """
    database, _, table = name.partition(".")
    fences = read_fences(settings.kafka, settings.name)
    wanted = [fence for fence in fences if fence.name == name and key in (None, fence.key)]
    if not wanted:
        raise _not_held(fences, name, key)
    arguments = {"database": database, "table": table, "key": key}
    offset = write_command(settings.kafka, settings.name, "replay", **arguments)
    return ReplayRequest(offset, wanted)


def _not_held(fences: list[Fence], name: str, key: str | None) -> ConfigError:
    fence = database_fence(fences, name)
    if fence is not None:
        return ConfigError(
            quarantine_errors.DATABASE_FENCED,
            table=name,
            database=fence.database,
            since=fence.since,
        )
    if key is not None:
        return ConfigError(quarantine_errors.KEY_NOT_KEPT_BACK, table=name, key=key)
    return ConfigError(quarantine_errors.NOT_KEPT_BACK, table=name)


def database_fence(fences: list[Fence], name: str) -> Fence | None:
    """Return the fence of the whole database of a table, where it holds for the table."""
    database, _, table = name.partition(".")
    for fence in fences:
        if (fence.database, fence.table) == (database, ALL_TABLES) and table not in fence.exempt:
            return fence
    return None
