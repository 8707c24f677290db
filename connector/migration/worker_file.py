"""The properties of a worker of Kafka Connect: what its connectors have unless they say otherwise.

https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html
https://kafka.apache.org/documentation/#connect_running
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from connector.errors import ConfigError
from connector.errors import migration as codes

if TYPE_CHECKING:
    from pathlib import Path

    from connector.migration.connector_file import ConnectorFile

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
        raise ConfigError(codes.UNREADABLE, path=path, said=error.strerror) from error
    except UnicodeDecodeError as error:
        raise ConfigError(codes.UNREADABLE, path=path, said=error.reason) from error
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
        if found := _LINE.match(whole + part):
            properties[_plain(found[1])] = _plain(found[2]).strip()
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
        if found := _PRODUCER.fullmatch(name):
            added[f"producer.override.{found[1]}"] = value
    return replace(connector, properties=added | connector.properties)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
