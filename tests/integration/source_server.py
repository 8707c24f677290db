"""A source server and an account with just the grants of configs/mysql/grants.sql."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from connector.foundation.settings.sections import SourceSettings
from local_stack import MariadbServer, MysqlServer, connect
from tests.integration.harness import wait_until

LEAST_GRANTS = "REPLICATION SLAVE, REPLICATION CLIENT"


ACCOUNT_PASSWORD = "pass word"


@dataclass
class Source:
    """A running server, and how to speak to it as its administrator."""

    server: MysqlServer | MariadbServer
    user: str

    @property
    def is_mariadb(self) -> bool:
        return isinstance(self.server, MariadbServer)

    @property
    def name(self) -> str:
        return f"source 127.0.0.1:{self.server.endpoint.port}"

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the administrator; return the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with connect(self.server.endpoint) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    def purge_to(self, log: str) -> None:
        """Remove all logs before `log`.

        MariaDB keeps one, without a word, until nothing in it has to be recovered.
        """
        wait_until(
            lambda: self.execute(f"PURGE BINARY LOGS TO '{log}'", "SHOW BINARY LOGS")[0][0] == log,
            lambda: f"a log before {log} is still there",
        )

    def settings(self, **changes: Any) -> SourceSettings:
        values: dict[str, Any] = {
            "port": self.server.endpoint.port,
            "user": self.user,
            "password": ACCOUNT_PASSWORD,
            "server_id": 4001,
            "read_timeout_seconds": 10,
            # The account may not read tables.
            "start": "latest",
        }
        return SourceSettings(**{**values, **changes})

    def create_account(self, grants: str = "", requirement: str = "") -> str:
        """Create an account with `grants` and return its name."""
        user = f"u{uuid.uuid4().hex[:12]}"
        self.execute(f"CREATE USER {user} IDENTIFIED BY '{ACCOUNT_PASSWORD}' {requirement}")
        if grants:
            self.execute(f"GRANT {grants} ON *.* TO {user}")
        return user


def source_of(server: MysqlServer | MariadbServer) -> Source:
    source = Source(server, "root")
    source.user = source.create_account(LEAST_GRANTS)
    return source
