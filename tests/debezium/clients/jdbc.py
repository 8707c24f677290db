"""Debezium's JDBC sink makes a copy of the source in another MySQL server.

https://debezium.io/documentation/reference/stable/connectors/jdbc.html
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.stack import PASSWORD, USER
from local_stack import MysqlServer
from tests.debezium.clients import rows, workload
from tests.debezium.clients.servers import AVRO, WITH_SCHEMA, play
from tests.debezium.clients.sink import Sink, converters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint
    from tests.debezium.clients.servers import Servers

_POM = Path(__file__).with_name("class_paths") / "jdbc"
_DATABASE = "copy"
# BIGINT UNSIGNED as the number that it is.
_PRECISE: dict[str, object] = {"unsigned_bigints": "precise"}
_FLAT: dict[str, object] = {"shape": "flat", "flat_deletes": "delete-to-tombstone"}
FORMATS: dict[str, dict[str, object]] = {
    "jdbc-json": {**WITH_SCHEMA, **_PRECISE},
    "jdbc-avro": {**AVRO, **_PRECISE},
    "jdbc-flat": {**WITH_SCHEMA, **_PRECISE, **_FLAT},
}


def prove(servers: Servers) -> Iterator[tuple[str, list[str]]]:
    """Yield what was shown for each format, and what differs."""
    class_path = servers.builds.class_path("client-jdbc", _POM)
    with MysqlServer(servers.folder / "copy", version="9") as target:
        play(
            target.endpoint,
            [
                f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'",
                f"GRANT ALL PRIVILEGES ON *.* TO {USER}",
                f"CREATE DATABASE `{_DATABASE}` CHARACTER SET utf8mb4",
            ],
        )
        for prefix, envelope in FORMATS.items():
            topics = servers.topics(prefix)
            settings = {
                **_settings(target.endpoint, topics),
                **converters(servers, avro=envelope["value_format"] == "avro"),
            }
            with Sink(servers, prefix, class_path, settings) as sink:
                records = sink.wait_for_end(topics)
            count, found = _compare(servers, target.endpoint, prefix)
            yield f"{prefix}: {records} records became {count} rows of {len(topics)} tables", found


def _settings(target: Endpoint, topics: list[str]) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": ",".join(topics),
        "connection.url": f"jdbc:mysql://{target.host}:{target.port}/{_DATABASE}"
        "?sslMode=DISABLED&allowPublicKeyRetrieval=true",
        "connection.username": USER,
        "connection.password": PASSWORD,
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "use.time.zone": "UTC",
    }


def _compare(servers: Servers, target: Endpoint, prefix: str) -> tuple[int, list[str]]:
    count, found = 0, []
    for table in workload.TABLES:
        topic = f"{prefix}.{workload.DATABASE}.{table}"
        wanted = rows.source_rows(servers.source, table)
        copied = rows.select(target, _DATABASE, topic.replace(".", "_"))
        count += len(copied)
        found += rows.differences(table, wanted, copied)
    return count, found
