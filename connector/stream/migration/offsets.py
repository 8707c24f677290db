"""The offset of a connector: in the topic of Kafka Connect, or as its REST interface prints it.

::

    key    ["shop-connector", {"server": "shop"}]
    value  {"ts_sec": …, "file": "binlog.000042", "pos": 1187, "gtids": "3e11fa47-…:1-77",
            "event": 3, "row": 2, "server_id": 1}        null after the offsets were deleted

    GET /connectors/shop-connector/offsets
           {"offsets": [{"partition": {"server": "shop"}, "offset": {…}}]}

`pos` and `gtids` are where the next run of the connector would begin: before the open
transaction, of which `event` and `row` were published.
"""

from pathlib import Path
from typing import Any, Final

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.foundation.errors import ConfigError
from connector.foundation.record_formats import read_document
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.migration import migration_errors
from connector.stream.migration.client_position import ClientPosition
from connector.stream.migration.connect_files import ConnectorFile
from connector.stream.sink import attempts
from connector.stream.sink.clients import KAFKA_CLIENTS
from connector.stream.sink.connection import connector_error, consumer_settings
from connector.stream.sink.recovery import TopicLog, last_offsets

# Values of `snapshot` after the last row of a copy; older versions have booleans.
_FINISHED: Final = ("false", "")


def file_offset(path: Path, connector: ConnectorFile) -> ClientPosition:
    """Return the offset in a file: an answer of the REST interface, or lines KEY, tab, VALUE.

    Of several lines of the connector, the last one counts. Raises ConfigError if there is no offset
    of this connector, and for an unfinished snapshot.
    """
    offsets = str(path)
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(migration_errors.UNREADABLE, path=path, said=error.strerror) from error
    except UnicodeDecodeError as error:
        # A standalone worker keeps a serialized object of Java.
        raise _wrong(offsets, "it is not text; ask the REST interface of the worker") from error
    offset: Any = None
    if text.startswith("{"):
        entries = _parsed(offsets, text).get("offsets")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("partition") == {"server": connector.prefix}:
                offset = entry.get("offset")
    else:
        for line in text.splitlines():
            key, tab, value = line.partition("\t")
            if not tab:
                raise _wrong(offsets, "a line is KEY, tab, VALUE")
            if is_key_of(connector, key):
                offset = _parsed(offsets, value)
    return read_position(offsets, connector, offset)


def is_key_of(connector: ConnectorFile, key: str | bytes | None) -> bool:
    """Return whether a record of the offsets topic is about the connector."""
    try:
        return bool(read_document(key or "null") == [connector.name, {"server": connector.prefix}])
    except ValueError:
        return False


def read_position(offsets: str, connector: ConnectorFile, value: Any) -> ClientPosition:
    """Return an offset; None stands for a deleted one. `offsets` names where it comes from.

    Raises ConfigError if there is none, if it has another form, or for an unfinished snapshot.
    """
    if value is None:
        raise ConfigError(
            migration_errors.NO_OFFSET,
            offsets=offsets,
            name=connector.name,
            prefix=connector.prefix,
        )
    if not isinstance(value, dict) or not isinstance(value.get("file"), str):
        raise _wrong(offsets, "file is missing")
    snapshot = str(value.get("snapshot", "")).lower()
    if snapshot not in _FINISHED:
        raise ConfigError(
            migration_errors.UNFINISHED_SNAPSHOT,
            offsets=offsets,
            name=connector.name,
            snapshot=snapshot,
        )
    gtids = value.get("gtids")
    return ClientPosition(
        value["file"],
        _number(offsets, value, "pos"),
        "".join(gtids.split()) if isinstance(gtids, str) and gtids.strip() else None,
        _number(offsets, value, "event"),
        _number(offsets, value, "row"),
        annotated=connector.properties.get("include.query", "").lower() == "true",
    )


def _number(offsets: str, value: dict[str, Any], name: str) -> int:
    try:
        return int(value.get(name) or 0)
    except (TypeError, ValueError) as error:
        raise _wrong(offsets, f"{name} is not a number") from error


def _parsed(offsets: str, text: str | bytes) -> Any:
    try:
        return read_document(text)
    except ValueError as error:
        raise _wrong(offsets, error) from error


def _wrong(offsets: str, why: object) -> ConfigError:
    return ConfigError(migration_errors.NOT_OFFSETS, offsets=offsets, why=why)


def topic_offset(settings: KafkaSettings, topic: str, connector: ConnectorFile) -> ClientPosition:
    """Return the newest committed offset of the connector; waits for the end of transactions.

    A worker that was killed may have left one open, until Kafka aborts it. Raises SinkUnavailable,
    SinkRefused or, without an offset, ConfigError.
    """
    newest: bytes | None = None
    try:
        consumer = KAFKA_CLIENTS.open_consumer(**consumer_settings(settings))
        try:
            # Asking for one topic could create it.
            known = topic in consumer.topics()
            numbers = sorted(consumer.partitions_for_topic(topic) or ()) if known else []
            partitions = [TopicPartition(topic, number) for number in numbers]
            begins = consumer.beginning_offsets(partitions)
            ends = last_offsets(settings, partitions, KAFKA_CLIENTS) if partitions else {}
            for partition in partitions:
                begin, end = begins[partition], ends[partition]
                # All records of a key are in one partition.
                for record in TopicLog(consumer, partition, begin, end).read(begin, end):
                    if is_key_of(connector, record.key):
                        newest = record.value
        finally:
            consumer.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, attempts.reading(topic), error) from error
    value = None if newest is None else _parsed(topic, newest)
    return read_position(topic, connector, value)
