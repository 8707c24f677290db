"""The JSON of a connector, as files and the REST interface of Kafka Connect have it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from connector.contract.documents import read_document
from connector.errors import ConfigError
from connector.errors import migration as codes

if TYPE_CHECKING:
    from pathlib import Path

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
        """Whether it is the connector for MariaDB."""
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
        raise ConfigError(codes.UNREADABLE, path=path, said=error.strerror) from error
    except ValueError as error:
        raise ConfigError(codes.NOT_A_CONNECTOR, path=path, why=error) from error
    config = document
    if isinstance(document, dict) and isinstance(document.get("config"), dict):
        config = document["config"]
    if not isinstance(config, dict):
        raise ConfigError(codes.NOT_A_CONNECTOR, path=path, why="it is not an object")
    for name, value in config.items():
        if isinstance(value, dict | list):
            raise ConfigError(codes.NOT_A_CONNECTOR, path=path, why=f"{name} is not a single value")
    properties = {name: _text(value) for name, value in config.items() if value is not None}
    try:
        "".join((*properties, *properties.values(), str(document.get("name")))).encode()
    except UnicodeEncodeError as error:
        raise ConfigError(codes.NOT_A_CONNECTOR, path=path, why="half a character") from error
    found = properties.get("connector.class", "")
    if found.rpartition(".")[2] in ("MySqlConnector", "MariaDbConnector"):
        properties["connector.class"] = MARIADB if "Maria" in found else MYSQL
    else:
        raise ConfigError(codes.OTHER_CONNECTOR, path=path, found=found or "without a value")
    name = document.get("name") or properties.get("name") or ""
    file = ConnectorFile(path, str(name), properties)
    if not file.prefix:
        raise _missing(path, "topic.prefix", "add it to the file")
    return file if name else ConnectorFile(path, file.prefix, properties)


def _text(value: Any) -> str:
    """Return a value as Connect reads it."""
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _missing(path: Path, name: str, advice: str) -> ConfigError:
    return ConfigError(codes.NO_PROPERTY, path=path, name=name, advice=advice)
