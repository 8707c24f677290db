"""Two logs of a small shop, recorded from a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.reader import open_binlog
from local_stack import MariadbServer, connect

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import MysqlServer

SHOP = "dump_shop"

_FIRST_LOG = [
    f"CREATE TABLE {SHOP}.orders (id INT PRIMARY KEY, item VARCHAR(20))",
    f"CREATE TABLE {SHOP}.people (id INT PRIMARY KEY)",
    f"INSERT INTO {SHOP}.orders VALUES (1, 'pen'), (2, 'ink')",
    f"INSERT INTO {SHOP}.people VALUES (1)",
]
_SECOND_LOG = [
    "BEGIN",
    f"INSERT INTO {SHOP}.people VALUES (2)",
    f"UPDATE {SHOP}.orders SET item = 'cup' WHERE id = 1",
    "COMMIT",
    f"DELETE FROM {SHOP}.orders WHERE id = 2",
]


@dataclass
class Shop:
    """Two logs of one server, closed, and where they are from."""

    server: MysqlServer | MariadbServer
    first: Path
    second: Path

    @property
    def is_mariadb(self) -> bool:
        return isinstance(self.server, MariadbServer)

    @property
    def logs(self) -> tuple[Path, Path]:
        return self.first, self.second

    @property
    def url(self) -> str:
        endpoint = self.server.endpoint
        return f"mysql://{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}"

    @property
    def gtids(self) -> list[str]:
        """The GTIDs of all transactions, in their order."""
        transactions = []
        for path in self.logs:
            with open_binlog(path) as log:
                transactions += [str(each.gtid) for each in log.transactions()]
        return transactions


def record_shop(server: MysqlServer | MariadbServer, folder: Path) -> Shop:
    """Let the server write the two logs, and copy them into `folder`."""
    with connect(server.endpoint) as connection, connection.cursor() as cursor:

        def record(statements: list[str]) -> Path:
            cursor.execute("SHOW MASTER STATUS")
            row = cursor.fetchone()
            assert row is not None
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("FLUSH BINARY LOGS")
            copy: Path = folder / row[0]
            copy.write_bytes((server.directory / "data" / row[0]).read_bytes())
            return copy

        cursor.execute(f"CREATE DATABASE {SHOP}")
        cursor.execute("FLUSH BINARY LOGS")
        return Shop(server, record(_FIRST_LOG), record(_SECOND_LOG))
