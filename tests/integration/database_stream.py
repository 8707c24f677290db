"""A database of one test, and what a connector makes of it under a prefix of its own in Kafka."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_stack import connect
from tests.integration.harness import (
    ConnectorProcess,
    Seen,
    changes,
    consumer_of,
    read_committed,
    read_with,
    wait_until,
    write_config,
)

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import Endpoint

_LOOK_SECONDS = 0.2


@dataclass
class Stream:
    """A source, a broker, and the names that one test uses in them."""

    source: Endpoint
    broker: Endpoint
    directory: Path
    database: str
    prefix: str
    start: str  # of the log that concerns the test; other tests left theirs before it

    def execute(self, *statements: str) -> None:
        """Run statements on the source, each its own transaction."""
        with connect(self.source, self.database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def transaction(self, *statements: str, end: str = "COMMIT") -> None:
        """Run statements on the source in one transaction."""
        self.execute("BEGIN", *statements, end)

    def config(self, **changed: object) -> Path:
        """Write a configuration that follows the database."""
        wanted: dict[str, object] = {"source__start": self.start} | changed
        return write_config(
            self.directory, self.source, self.broker, self.prefix, self.database, **wanted
        )

    def connector(self, **changed: object) -> ConnectorProcess:
        """Return a connector that follows the database, to be entered."""
        return ConnectorProcess(self.config(**changed))

    def changes(self) -> list[Seen]:
        """Return what is committed in Kafka, in order, without tombstones."""
        return changes(read_committed(self.broker, self.prefix))

    def wait_for_changes(self, count: int, connector: ConnectorProcess) -> list[Seen]:
        """Return the changes once there are `count` of them."""
        found: list[Seen] = []

        # A consumer costs more than what it reads, and so does the list of all topics.
        with closing(consumer_of(self.broker)) as consumer:

            def enough() -> bool:
                found[:] = changes(read_with(consumer, self.prefix))
                return len(found) >= count

            wait_until(
                enough,
                lambda: f"only {len(found)} changes\n{connector.output()}",
                look_seconds=_LOOK_SECONDS,
            )
        return found


def new_stream(source: Endpoint, broker: Endpoint, directory: Path) -> Stream:
    """Create a database with a name of its own."""
    name = f"it_{uuid.uuid4().hex[:10]}"
    with connect(source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        (version,) = cursor.fetchone() or ("",)
        mariadb = "MariaDB" in version
        cursor.execute(f"SELECT {'@@gtid_binlog_pos' if mariadb else '@@gtid_executed'}")
        (gtid_set,) = cursor.fetchone() or ("",)
        cursor.execute(f"CREATE DATABASE {name}")
    start = "gtid:" + gtid_set.replace("\n", "") if gtid_set else "earliest"
    return Stream(source, broker, directory, name, name, start)
