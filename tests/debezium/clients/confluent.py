"""The Avro deserializer of confluent-kafka reads keys and values with the schemas of the registry.

https://docs.confluent.io/platform/current/clients/confluent-kafka-python/html/index.html
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.debezium.clients import rows, workload
from tests.debezium.clients.servers import AVRO
from tests.debezium.clients.values import in_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.debezium.clients.servers import Servers

_HERE = Path(__file__).parent
_PREFIX = "confluent-avro"
FORMATS: dict[str, dict[str, object]] = {_PREFIX: {**AVRO, "unsigned_bigints": "precise"}}


def prove(servers: Servers) -> Iterator[tuple[str, list[str]]]:
    """Yield what was shown, and what differs."""
    requirements = _HERE / "requirements-confluent.txt"
    python = servers.builds.environment("client-confluent", requirements)
    records, count, found = 0, 0, []
    for table, topic in zip(workload.TABLES, servers.topics(_PREFIX), strict=True):
        read = _read(servers, python, topic)
        table_rows = list(_last(table, read).values())
        wanted = [in_records(table, row) for row in rows.source_rows(servers.source, table)]
        records += len(read)
        count += len(table_rows)
        found += rows.differences(table, wanted, table_rows)
        missing = len(servers.records(topic)) - len(read)
        found += [f"{topic}: {missing} records were not read"] if missing else []
    yield f"{_PREFIX}: {records} records became {count} rows", found


def _read(servers: Servers, python: Path, topic: str) -> list[dict[str, Any]]:
    """Return the keys and values of a topic, by partition."""
    program = str(_HERE / "programs/confluent_reader.py")
    run = subprocess.run(
        [str(python), program, servers.broker.bootstrap, servers.registry.url, topic],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


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
