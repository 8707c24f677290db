"""The whole log of a private server after many statements, and what the server says of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

from connector.binlog.decoder import EventDecoder
from local_stack import MariadbServer, MysqlServer
from tests.binlog.source_log import split
from tests.integration.dump.statements import Refused, statements
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymysql import Connection
    from pymysql.cursors import Cursor

    from connector.binlog.event import Event
    from local_stack import Endpoint

# In the short form the oldest and the newest of each product; golden logs have the events of all.
SERVERS = [
    "mysql 5.7",
    "mysql 9",
    "mariadb 10.5",
    "mariadb 11.8",
    "mysql 8.0.15",
    "mysql 8.0",
    "mariadb 10.11",
][: length(short=4, full=7)]


@dataclass
class ServerLog:
    """One file of a server's log."""

    name: str
    data: bytes
    shown: list[tuple[Any, ...]]  # rows of SHOW BINLOG EVENTS, texts as bytes

    def events(self) -> Iterator[Event]:
        """Decode the file."""
        decoder = EventDecoder(file=self.name)
        return map(decoder.decode, split(self.data))


def record(server_name: str, folder: Path) -> list[ServerLog]:
    """Start a server, have it write all it can, stop it, and return its log."""
    product, version = server_name.split()
    kind = MariadbServer if product == "mariadb" else MysqlServer
    folder.chmod(0o755)
    settings = {"secure_file_priv": str(folder), "local_infile": "ON"}
    with kind(folder / "server", version=version, settings=settings) as server:
        with _connect(server.endpoint) as connection, connection.cursor() as cursor:
            for statement in statements(product, server.version, folder):
                _execute(cursor, statement)
        # Ends the last file with STOP_EVENT, and begins one more.
        server.restart()
        with _connect(server.endpoint) as connection:
            return list(_logs(connection))


def _connect(endpoint: Endpoint) -> Connection[Cursor]:
    return pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password,
        charset="utf8mb4",
        autocommit=True,
        local_infile=True,
    )


def _execute(cursor: Cursor, statement: str | bytes | Refused) -> None:
    if isinstance(statement, Refused):
        with pytest.raises(pymysql.err.MySQLError):
            cursor.execute(statement.sql)
        return
    # The driver passes bytes on as they are.
    cursor.execute(statement)  # type: ignore[arg-type]
    cursor.fetchall()


def _logs(connection: Connection[Cursor]) -> Iterator[ServerLog]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@log_bin_basename")
        ((base,),) = cursor.fetchall()
        cursor.execute("SHOW BINARY LOGS")
        names = [row[0] for row in cursor.fetchall()]
        # The server's bytes as they are.
        cursor.execute("SET character_set_results = NULL")
        connection.use_unicode = False
        for name in names:
            cursor.execute(f"SHOW BINLOG EVENTS IN '{name}'")
            data = Path(base).with_name(name).read_bytes()
            yield ServerLog(name, data, list(cursor.fetchall()))
