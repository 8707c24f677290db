"""MySQL, Kafka and Debezium's source, which pipelines of other programs begin with.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from benchmarks.builds import SOURCES
from local_stack import KafkaBroker, MysqlServer, connect
from local_stack.kafka import SchemaRegistryServer
from tests.debezium.clients.servers import Servers
from tests.debezium.clients.sink import Sink
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOPIC: Final = "dbz.shop.orders"


@contextmanager
def source_and_broker(folder: Path) -> Iterator[Servers]:
    """Start them, with an empty database `shop`."""
    with MysqlServer(folder / "mysql") as mysql, KafkaBroker(folder / "kafka") as kafka:
        with connect(mysql.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("SET GLOBAL cte_max_recursion_depth = 10000000")
        yield Servers(folder, mysql, kafka, SchemaRegistryServer(folder / "registry"))


def orders(servers: Servers, rows: int) -> ForeignTable:
    """Make the table of many types, with so many rows."""
    table = ForeignTable(servers.source, "shop", servers.folder)
    table.execute(foreign_tables.DEFINITION)
    table.fill(1, rows)
    # Debezium's sink ends at a TIME of a day or more.
    table.execute("UPDATE orders SET took = SEC_TO_TIME(id % 86400)")
    return table


def debezium_source(servers: Servers, settings: dict[str, str]) -> Sink:
    """Return the process of Debezium's source, with its defaults and these settings."""
    end, folder = servers.source, servers.folder
    own = {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "database.hostname": end.host,
        "database.port": str(end.port),
        "database.user": end.user,
        "database.password": end.password,
        "database.server.id": "5901",
        "database.include.list": "shop",
        "database.ssl.mode": "disabled",
        "driver.allowPublicKeyRetrieval": "true",
        "topic.prefix": "dbz",
        "snapshot.locking.mode": "none",
        "bigint.unsigned.handling.mode": "precise",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": str(folder / "dbz.history"),
    }
    classes = servers.builds.class_path("connect", SOURCES / "connect")
    return Sink(servers, "source", classes, {**own, **settings})
