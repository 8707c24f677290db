"""The deserializers of confluent-kafka read keys and values with the schemas of the registry.

https://docs.confluent.io/platform/current/clients/confluent-kafka-python/html/index.html
"""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.debezium.clients import rows, workload
from tests.debezium.clients.servers import AVRO
from tests.debezium.clients.values import in_records, unsigned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.debezium.clients.servers import Servers

_HERE = Path(__file__).parent
# JSON has no decimals, and no bytes: they are as the source prints them, and hexadecimal text.
_IN_JSON = {"decimals": "string", "binary": "hex", "unsigned_bigints": "long"}
FORMATS: dict[str, dict[str, object]] = {
    "confluent-avro": {**AVRO, "unsigned_bigints": "precise"},
    "confluent-json": {"key_format": "json_schema", "value_format": "json_schema", **_IN_JSON},
}


def prove(servers: Servers) -> Iterator[tuple[str, list[str]]]:
    """Yield what was shown for each format, and what differs."""
    requirements = _HERE / "requirements-confluent.txt"
    python = servers.builds.environment("client-confluent", requirements)
    for prefix, envelope in FORMATS.items():
        form = str(envelope["value_format"])
        records, count, found = 0, 0, []
        for table, topic in zip(workload.TABLES, servers.topics(prefix), strict=True):
            read = _read(servers, python, form, topic)
            table_rows = list(_last(table, read).values())
            if form == "json_schema":
                table_rows = [unsigned(_hexadecimal(row)) for row in table_rows]
            wanted = [in_records(table, row) for row in rows.source_rows(servers.source, table)]
            records += len(read)
            count += len(table_rows)
            found += rows.differences(table, wanted, table_rows)
            missing = len(servers.records(topic)) - len(read)
            found += [f"{topic}: {missing} records were not read"] if missing else []
        yield f"{prefix}: {records} records became {count} rows", found


def _read(servers: Servers, python: Path, form: str, topic: str) -> list[dict[str, Any]]:
    """Return the keys and values of a topic, by partition."""
    program = str(_HERE / "programs/confluent_reader.py")
    run = subprocess.run(
        [str(python), program, servers.broker.bootstrap, servers.registry.url, form, topic],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def _hexadecimal(row: rows.Row) -> rows.Row:
    """Return a row without base64, which bits and geometries have."""
    return {
        name: (
            {**value, "wkb": b64decode(value["wkb"]).hex()}
            if isinstance(value, dict)
            else b64decode(value).hex()
            if name == "flags" and value is not None
            else value
        )
        for name, value in row.items()
    }


def _last(table: str, records: list[dict[str, Any]]) -> dict[tuple[Any, ...], rows.Row]:
    """Return the rows that a table of keys has after all records."""
    keys = workload.TABLES[table][0]
    found: dict[tuple[Any, ...], rows.Row] = {}
    for record in records:
        assert list(record["key"]) == list(keys), record
        key = tuple(record["key"].values())
        value = record["value"]
        if value is None:
            assert key not in found, f"a tombstone before the delete of {table} {key}"
        elif value["op"] == "d":
            del found[key]
        else:
            found[key] = value["after"]
    return found
