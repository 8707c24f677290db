"""Iceberg's sink appends changes to tables; the last of each key are the rows of the source.

Version 1.11 only appends: it has no equality deletes, so an update is one row more, and a query
takes the last row of each key. Its order is in the rows: the offset, or the position in the log.

https://iceberg.apache.org/docs/latest/kafka-connect/
"""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka.admin import KafkaAdminClient, NewTopic

from tests.debezium.clients import rows, workload
from tests.debezium.clients.servers import LOOK_SECONDS, PATIENCE_SECONDS, WITH_SCHEMA
from tests.debezium.clients.sink import Sink, converters
from tests.debezium.clients.values import in_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.debezium.clients.servers import Servers

_HERE = Path(__file__).parent
_PRECISE: dict[str, object] = {**WITH_SCHEMA, "unsigned_bigints": "precise"}
_ADDED = ("op", "source.file", "source.pos", "source.row", "source.table")
FORMATS: dict[str, dict[str, object]] = {
    "iceberg-envelope": _PRECISE,
    "iceberg-flat": {
        **_PRECISE,
        "shape": "flat",
        "flat_deletes": "rewrite",
        "flat_fields": list(_ADDED),
    },
}


@dataclass(frozen=True)
class _Way:
    """How rows find their tables, and how the last row of a key is found."""

    settings: dict[str, str]
    order: Callable[[rows.Row], Any]
    is_deleted: Callable[[rows.Row], bool]


_TRANSFORMED = _Way(
    {
        "transforms": "cdc",
        "transforms.cdc.type": "org.apache.iceberg.connect.transforms.DebeziumTransform",
        "transforms.cdc.cdc.target.pattern": "iceberg-envelope.{table}",
        "iceberg.tables.dynamic-enabled": "true",
        "iceberg.tables.route-field": "_cdc.target",
    },
    lambda row: row["_cdc"]["offset"],
    lambda row: bool(row["_cdc"]["op"] == "D"),
)
_FLAT = _Way(
    {
        "iceberg.tables": ",".join(f"iceberg-flat.{table}" for table in workload.TABLES),
        "iceberg.tables.route-field": "__source_table",
        **{f"iceberg.table.iceberg-flat.{each}.route-regex": each for each in workload.TABLES},
    },
    lambda row: (row["__source_file"], row["__source_pos"], row["__source_row"]),
    lambda row: bool(row["__deleted"] == "true"),
)
_WAYS = {"iceberg-envelope": _TRANSFORMED, "iceberg-flat": _FLAT}


def prove(servers: Servers) -> Iterator[tuple[str, list[str]]]:
    """Yield what was shown for each shape, and what differs."""
    class_path = servers.builds.class_path("client-iceberg", _HERE / "class_paths/iceberg")
    python = servers.builds.environment("client-iceberg-python", _HERE / "requirements-iceberg.txt")
    warehouse = servers.folder / "warehouse"
    for prefix, way in _WAYS.items():
        topics = servers.topics(prefix)
        records = {
            table: sum(each.value is not None for each in servers.records(topic))
            for table, topic in zip(workload.TABLES, topics, strict=True)
        }
        settings = {**_settings(servers, prefix, topics, warehouse), **way.settings}
        with Sink(servers, prefix, class_path, settings) as sink:
            _wait_for(warehouse / prefix, records, sink)
        tables = [f"{prefix}/{table}" for table in workload.TABLES]
        reader = str(_HERE / "programs/iceberg_reader.py")
        run = subprocess.run(
            [str(python), reader, str(warehouse), *tables],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        count, found = 0, []
        for table, line in zip(workload.TABLES, run.stdout.splitlines(), strict=True):
            appended = json.loads(line)
            left = _last(table, appended, way)
            wanted = [in_records(table, row) for row in rows.source_rows(servers.source, table)]
            count += len(left)
            if len(appended) != records[table]:
                found.append(f"{table}: {records[table]} records became {len(appended)} rows")
            found += rows.differences(table, wanted, left)
        total = sum(records.values())
        yield (
            f"{prefix}: {total} records were appended, the last of each key are {count} rows",
            found,
        )


def _settings(servers: Servers, prefix: str, topics: list[str], warehouse: Path) -> dict[str, str]:
    control = f"control-{prefix}"
    admin = KafkaAdminClient(bootstrap_servers=servers.broker.bootstrap)
    admin.create_topics([NewTopic(control, 1, 1)])
    admin.close()
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": ",".join(topics),
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": str(warehouse),
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": "2000",
        "iceberg.kafka.bootstrap.servers": servers.broker.bootstrap,
        **converters(servers, avro=False),
    }


def _wait_for(folder: Path, records: dict[str, int], sink: Sink) -> None:
    """Wait until the tables have as many rows as there are records with a value."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(_rows_of(folder / table) < count for table, count in records.items()):
        sink.check()
        if time.monotonic() > deadline:
            message = f"of {records}, there are {[_rows_of(folder / each) for each in records]}"
            raise TimeoutError(message)
        time.sleep(LOOK_SECONDS)


def _rows_of(table: Path) -> int:
    """Return how many rows the newest snapshot of a table has; it may not be there yet."""
    hint = table / "metadata/version-hint.text"
    if not hint.exists():
        return 0
    metadata = json.loads((hint.parent / f"v{hint.read_text().strip()}.metadata.json").read_text())
    counts = {
        each["snapshot-id"]: each["summary"]["total-records"] for each in metadata["snapshots"]
    }
    return int(counts.get(metadata.get("current-snapshot-id"), 0))


def _last(table: str, appended: list[rows.Row], way: _Way) -> list[rows.Row]:
    """Return what a query for the last row of each key finds."""
    keys = workload.TABLES[table][0]
    newest: dict[tuple[Any, ...], rows.Row] = {}
    for row in sorted(appended, key=way.order):
        newest[tuple(row[name] for name in keys)] = row
    return [row for row in newest.values() if not way.is_deleted(row)]
