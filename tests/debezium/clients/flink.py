"""Flink reads topics with its format debezium-json; its changelog leaves the rows of the source.

https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/table/formats/debezium/
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from local_stack.java import java_runtime
from tests.debezium.clients import rows, workload
from tests.debezium.clients.values import in_records, unsigned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.debezium.clients.servers import Servers

_HERE = Path(__file__).parent
_PREFIX = "flink-json"
# Flink reads decimals as text, not as the bytes of `precise`.
FORMATS: dict[str, dict[str, object]] = {
    _PREFIX: {"decimals": "string", "unsigned_bigints": "long"}
}
# The types of Flink that are not VARCHAR, by those of MySQL without their lengths.
_TYPES = {
    "TINYINT": "SMALLINT",
    "BOOLEAN": "SMALLINT",
    "SMALLINT UNSIGNED": "INT",
    "MEDIUMINT": "INT",
    "INT": "INT",
    "INT UNSIGNED": "BIGINT",
    "BIGINT": "BIGINT",
    "BIGINT UNSIGNED": "BIGINT",
    "DOUBLE": "DOUBLE",
    "FLOAT": "FLOAT",
    "YEAR": "INT",
    "DATE": "INT",
    "BIT(1)": "BOOLEAN",
    "BIT(20)": "BYTES",
    "BINARY(4)": "BYTES",
    "VARBINARY(300)": "BYTES",
    "BLOB": "BYTES",
    "DATETIME": "BIGINT",
    "DATETIME(3)": "BIGINT",
    "DATETIME(6)": "BIGINT",
    "POINT": "ROW<x DOUBLE, y DOUBLE, wkb BYTES>",
    "GEOMETRY": "ROW<wkb BYTES>",
    "VECTOR(3)": "ARRAY<FLOAT>",
    "TIME": "BIGINT",
    "TIME(6)": "BIGINT",
}


def prove(servers: Servers) -> Iterator[tuple[str, list[str]]]:
    """Yield what was shown, and what differs."""
    python = servers.builds.environment("client-flink-python", _HERE / "requirements-flink.txt")
    jars = servers.builds.class_path("client-flink", _HERE / "class_paths/flink")
    (jar,) = Path(jars).parent.glob("flink-sql-connector-kafka-*.jar")
    tables = dict(zip(servers.topics(_PREFIX), workload.TABLES, strict=True))
    definitions = {topic: _definitions(table) for topic, table in tables.items()}
    command = [str(python), str(_HERE / "programs/flink_reader.py"), servers.broker.bootstrap]
    run = subprocess.run(
        [*command, str(jar), json.dumps(definitions)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={"JAVA_HOME": str(java_runtime(servers.home.cache).parents[1])},
    )
    changes, count, found = 0, 0, []
    for read in map(json.loads, run.stdout.splitlines()):
        table = tables[read["topic"]]
        left = [unsigned(row) for row in read["rows"]]
        changes += read["changes"]
        count += len(left)
        source = rows.source_rows(servers.source, table)
        wanted = [_of_flink(in_records(table, row)) for row in source]
        found += rows.differences(table, wanted, left)
    yield f"{_PREFIX}: a changelog of {changes} rows left {count}", found


def _definitions(table: str) -> list[str]:
    return [
        f"`{name}` {kind if kind.startswith('DECIMAL') else _TYPES.get(kind, 'STRING')}"
        for name, kind in workload.columns(table).items()
    ]


def _of_flink(row: rows.Row) -> rows.Row:
    """Return a row with geometries as lists, without their reference systems.

    PyFlink fails at a NULL in a ROW.
    """
    return {
        name: [each for part, each in value.items() if part != "srid"]
        if isinstance(value, dict)
        else value
        for name, value in row.items()
    }
