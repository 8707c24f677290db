"""Faults of a table that Debezium's JDBC sink makes, and the proof that all of them are found.

    python -m tests.integration.verification.debezium_sink --faults 1000 --changes 1000

MySQL, Debezium's source, Kafka and Debezium's sink keep a table of PostgreSQL; then faults are made
in it by SQL, while a load changes all other rows through the pipeline. It fails if the command
misses a fault, or names another row. It needs Maven.

https://debezium.io/documentation/reference/stable/connectors/jdbc.html
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from local_stack.postgresql import PostgresqlServer, connect_postgresql
from tests.debezium.clients.sink import Sink, converters
from tests.integration.verification.damage import (
    OF_ROWS,
    OF_TEXTS,
    Copy,
    Fault,
    arguments,
    prove,
    wait_until,
)
from tests.integration.verification.debezium_source import (
    TOPIC,
    debezium_source,
    orders,
    source_and_broker,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import psycopg

    from local_stack import Endpoint
    from tests.debezium.clients.servers import Servers
    from tests.integration.verification.foreign_tables import ForeignTable

_POM: Final = Path(__file__).parents[2] / "debezium" / "clients" / "class_paths" / "jdbc"
_COPY: Final = "dbz_shop_orders"
_FAULTS: Final = (
    *OF_TEXTS,
    *OF_ROWS,
    Fault("different", "price", "price + 0.01"),
    Fault("different", "price", "-price - 1"),
    Fault("different", "weight", "weight + 0.001"),
    Fault("different", "picture", "substring(picture from 2)"),
    Fault("different", "paid", "NOT paid"),
    Fault("different", "born", "born - 1"),
    Fault("different", "made", "made + interval '2 hours'"),
    Fault("different", "made", "date_trunc('second', made)"),
    Fault("different", "seen", "seen - interval '250 milliseconds'"),
    Fault("different", "facts", "'{\"i\": 0}'::json"),
    Fault("different", "flags", "~flags"),
    Fault("different", "took", "took + interval '1 second'"),
    Fault("different", "big", "big + 1"),
    Fault("different", "made_in", "made_in + 1"),
    Fault("different", "is_new", "NULL"),
)


def _sink(endpoint: Endpoint) -> dict[str, str]:
    """Return the settings of Debezium's sink."""
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": TOPIC,
        "connection.url": f"jdbc:postgresql://{endpoint.host}:{endpoint.port}/postgres",
        "connection.username": endpoint.user,
        "connection.password": endpoint.password,
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "use.time.zone": "UTC",
    }


@dataclass(frozen=True)
class Sides:
    """A table of MySQL, and the copy of it that Debezium keeps in PostgreSQL."""

    servers: Servers
    postgresql: PostgresqlServer
    table: ForeignTable
    source: Sink
    sink: Sink

    def check(self) -> None:
        """Raise RuntimeError if Debezium has failed."""
        self.source.check()
        self.sink.check()

    def copy(
        self, connection: psycopg.Connection[Any], check: Callable[[], None] | None = None
    ) -> Copy:
        """Wait until the sink has made the copy; return it, as a connection sees it.

        `check` raises if the pipeline has failed; if none is given, `check` of this.
        """

        def execute(statement: str) -> Sequence[Sequence[Any]]:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else ()

        def is_there() -> bool:
            ((there,),) = execute(f"SELECT to_regclass('{_COPY}') IS NOT NULL")
            return bool(there)

        end = self.postgresql.endpoint
        target = f"postgresql://{end.user}:{end.password}@{end.host}:{end.port}/postgres.{_COPY}"
        wait_until(is_there, check or self.check, "its first row")
        return Copy(self.table, target, _COPY, execute, check or self.check, _FAULTS, "text")


@contextmanager
def both_sides(folder: Path, rows: int) -> Iterator[Sides]:
    """Start everything, with a table of so many rows."""
    with (
        source_and_broker(folder) as servers,
        PostgresqlServer(folder / "postgresql") as postgresql,
    ):
        table, own = orders(servers, rows), converters(servers, avro=False)
        sinks = servers.builds.class_path("client-jdbc", _POM)
        source = debezium_source(servers, own)
        sink = Sink(servers, "sink", sinks, {**_sink(postgresql.endpoint), **own})
        with source, sink:
            yield Sides(servers, postgresql, table, source, sink)


def main() -> None:
    """Make the pipeline and its faults, and compare."""
    given = arguments(__doc__, lag=30.0).parse_args()
    with (
        TemporaryDirectory() as name,
        both_sides(Path(name), given.rows) as sides,
        connect_postgresql(sides.postgresql.endpoint) as connection,
    ):
        prove(sides.copy(connection), given)


if __name__ == "__main__":
    main()
