"""Files of Kafka Connect: the JSON of a connector, and the properties of a worker.

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

from connector.foundation.errors import ConfigError
from connector.foundation.record_formats import read_document
from connector.stream.migration import migration_errors

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
