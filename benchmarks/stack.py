"""The servers that connectors are measured with: the source that has the data, and a broker."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.data import source_server
from benchmarks.workload.session import session
from local_stack import KafkaBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.home import Home
    from local_stack import Endpoint, MariadbServer, MysqlServer

USER = PASSWORD = "cdc"
# The statements that make the account of connectors.
ACCOUNT = (
    f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'",
    f"GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {USER}@'%'",
)
# Kafka's own defaults where those of the local stack are smaller.
BROKER_SETTINGS = {
    "num.network.threads": "3",
    "num.io.threads": "8",
    "log.cleaner.dedupe.buffer.size": "134217728",
}
BROKER_MEMORY = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")


@dataclass(frozen=True, slots=True)
class Stack:
    """Both servers, started."""

    home: Home
    mysql: MysqlServer | MariadbServer
    kafka: KafkaBroker

    @property
    def source(self) -> Endpoint:
        """Where the source answers its administrator."""
        return self.mysql.endpoint

    @property
    def bootstrap(self) -> str:
        """Where the broker answers."""
        return self.kafka.endpoint.bootstrap

    def newest_file(self) -> str:
        """Begin a binlog file and return its name."""
        with session(self.source) as connection:
            connection.execute("FLUSH BINARY LOGS")
            return str(connection.rows("SHOW BINARY LOGS")[-1][0])

    def gtids_before(self, file: str) -> str:
        """Return the set of the transactions before `file`."""
        with session(self.source) as connection:
            events = connection.rows(f"SHOW BINLOG EVENTS IN '{file}' LIMIT 2")
        return next(str(row[5]) for row in events if row[2] == "Previous_gtids").replace("\n", "")


@contextmanager
def stack(home: Home) -> Iterator[Stack]:
    """Start the servers for the length of a block; the broker is empty."""
    broker = home.folder("broker")
    shutil.rmtree(broker)
    kafka = KafkaBroker(broker, settings=BROKER_SETTINGS, memory=BROKER_MEMORY, cache=home.cache)
    with source_server(home) as mysql, kafka:
        yield Stack(home, mysql, kafka)
    shutil.rmtree(broker)
