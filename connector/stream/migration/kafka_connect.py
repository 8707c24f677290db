"""Kafka Connect: the JSON of a connector, the properties of a worker, and the connector's offset.

The JSON has the form of files or of the REST interface. A connector has the properties of its
worker unless it says otherwise.

https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html
https://kafka.apache.org/documentation/#connect_running
"""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.foundation.errors import ConfigError
from connector.foundation.record_formats import read_document
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.migration import migration_errors
from connector.stream.migration.client_position import ClientPosition
from connector.stream.sink import connection
from connector.stream.sink.connection import KAFKA_CLIENTS, connector_error, consumer_settings
from connector.stream.sink.recovery import TopicLog, last_offsets

MYSQL: Final = "io.debezium.connector.mysql.MySqlConnector"
MARIADB: Final = "io.debezium.connector.mariadb.MariaDbConnector"
# A value that a configuration provider of Connect looks up: ${provider:path:key}.
REFERENCE: Final = re.compile(r"\$\{([A-Za-z0-9_-]+):(?:([^:}]*):)?([^}]*)\}")


@dataclass(frozen=True, slots=True)
class ConnectorFile:
    """The properties of one connector."""

    path: Path
    name: str  # that Connect knows it by
    properties: dict[str, str]

    @property
    def is_mariadb(self) -> bool:
        return self.properties.get("connector.class") == MARIADB

    @property
    def prefix(self) -> str:
        """The prefix of its topics, which also names its offsets."""
        return self.properties.get("topic.prefix", self.properties.get("database.server.name", ""))


def read_connector(path: Path) -> ConnectorFile:
    """Read a map of properties, or an object with `name` and `config`.

    Raises ConfigError if it is neither, or not Debezium's connector for MySQL or MariaDB.
    """
    try:
        document = read_document(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(migration_errors.UNREADABLE, path=path, said=error.strerror) from error
    except ValueError as error:
        raise _no_connector(path, error) from error
    config = document
    if isinstance(document, dict) and isinstance(document.get("config"), dict):
        config = document["config"]
    if not isinstance(config, dict):
        raise _no_connector(path, "it is not an object")
    for name, value in config.items():
        if isinstance(value, dict | list):
            raise _no_connector(path, f"{name} is not a single value")
    properties = {name: _text(value) for name, value in config.items() if value is not None}
    try:
        "".join((*properties, *properties.values(), str(document.get("name")))).encode()
    except UnicodeEncodeError as error:
        raise _no_connector(path, "half a character") from error
    connector = properties.get("connector.class", "")
    if connector.rpartition(".")[2] in ("MySqlConnector", "MariaDbConnector"):
        properties["connector.class"] = MARIADB if "Maria" in connector else MYSQL
    else:
        raise ConfigError(
            migration_errors.OTHER_CONNECTOR, path=path, found=connector or "without a value"
        )
    name = document.get("name") or properties.get("name") or ""
    file = ConnectorFile(path, str(name), properties)
    if not file.prefix:
        advice = "add it to the file"
        raise ConfigError(
            migration_errors.NO_PROPERTY, path=path, name="topic.prefix", advice=advice
        )
    return file if name else ConnectorFile(path, file.prefix, properties)


def _no_connector(path: Path, why: object) -> ConfigError:
    return ConfigError(migration_errors.NOT_A_CONNECTOR, path=path, why=why)


def _text(value: Any) -> str:
    """Return a value as Connect reads it."""
    return value.strip() if isinstance(value, str) else json.dumps(value)


_LINE: Final = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:\s]?\s*(.*)")
# A backslash at the end of a line, which is not escaped itself.
_GOES_ON: Final = re.compile(r"(?<!\\)(?:\\\\)*\\$")
# Of the properties of the worker's producers, those that a pipeline has, too.
_PRODUCER: Final = re.compile(r"producer\.(security\.protocol|sasl\..*|ssl\..*|compression\.type)")


def read_worker(path: Path) -> dict[str, str]:
    """Return the properties of a file such as connect-distributed.properties.

    Raises ConfigError if it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(migration_errors.UNREADABLE, path=path, said=error.strerror) from error
    except UnicodeDecodeError as error:
        raise ConfigError(migration_errors.UNREADABLE, path=path, said=error.reason) from error
    properties = {}
    whole = ""
    # A line that goes on at the end of the file goes on with nothing.
    for line in (*text.splitlines(), ""):
        part = line.lstrip()
        if not whole and part[:1] in ("#", "!"):
            continue
        if _GOES_ON.search(part):
            whole += part[:-1]
            continue
        if match := _LINE.match(whole + part):
            properties[_plain(match[1])] = _plain(match[2]).strip()
        whole = ""
    return properties


def with_worker(connector: ConnectorFile, worker: dict[str, str]) -> ConnectorFile:
    """Add the brokers, the converters and the login that the connector has from its worker."""
    added = {name: value for name, value in worker.items() if name == "bootstrap.servers"}
    for side in ("key", "value"):
        # Options of the worker belong to the converter of the worker.
        if f"{side}.converter" not in connector.properties:
            added |= {name: worker[name] for name in worker if name.startswith(f"{side}.converter")}
    for name, value in worker.items():
        if match := _PRODUCER.fullmatch(name):
            added[f"producer.override.{match[1]}"] = value
    return replace(connector, properties=added | connector.properties)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


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
        raise connector_error(settings, connection.reading(topic), error) from error
    value = None if newest is None else _parsed(topic, newest)
    return read_position(topic, connector, value)
