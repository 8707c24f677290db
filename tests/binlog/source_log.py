"""The log of a running server, read from its file."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pymysql

from connector.binlog.decoder import EventDecoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymysql import Connection
    from pymysql.cursors import Cursor

    from connector.binlog.event import Event
    from local_stack import Endpoint

MAGIC = b"\xfebin"


def split(data: bytes) -> Iterator[bytes]:
    """Yield the events of a log file, by the sizes in their headers."""
    assert data[:4] == MAGIC
    offset = 4
    while offset < len(data):
        size = int.from_bytes(data[offset + 9 : offset + 13], "little")
        yield data[offset : offset + size]
        offset += size


@contextmanager
def sending_files(endpoint: Endpoint, database: str) -> Iterator[Connection[Cursor]]:
    """Log in as a client that may send a file for LOAD DATA LOCAL."""
    with (
        pymysql.connect(
            host=endpoint.host,
            port=endpoint.port,
            user=endpoint.user,
            password=endpoint.password,
            database=database,
            charset="utf8mb4",
            autocommit=True,
            local_infile=True,
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT @@GLOBAL.local_infile")
        (allowed,) = cursor.fetchone() or (0,)
        cursor.execute("SET GLOBAL local_infile = ON")
        yield connection
        cursor.execute(f"SET GLOBAL local_infile = {allowed}")


class SourceLog:
    """A connection to a server, and the events that its statements wrote."""

    def __init__(self, connection: Connection[Cursor]) -> None:
        self.connection = connection
        self.execute("SET time_zone = '+00:00'")
        self.execute("SET SESSION sql_mode = ''")
        self._file, self._offset = self._end()

    def execute(self, sql: str) -> tuple[tuple[object, ...], ...]:
        """Run a statement and return its rows."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def events(self) -> list[Event]:
        """Return the events since the last call, read from the server's file."""
        data = self._file.read_bytes()
        decoder = EventDecoder(file=self._file.name)
        first = next(split(data))
        decoder.decode(first)
        new = [decoder.decode(event) for event in split(MAGIC + data[self._offset :])]
        self._offset = len(data)
        return new

    @property
    def file(self) -> Path:
        """The file that the server wrote to when the log was opened."""
        return self._file

    def _end(self) -> tuple[Path, int]:
        # MySQL renamed the statement in 8.2 and dropped the old name in 8.4.
        version = str(self.execute("SELECT VERSION()")[0][0])
        renamed = "MariaDB" not in version and int(version.split(".", maxsplit=1)[0]) > 8
        status = "BINARY LOG" if renamed else "MASTER"
        name, position, *_ = self.execute(f"SHOW {status} STATUS")[0]
        base = self.execute("SELECT @@log_bin_basename")[0][0]
        return Path(str(base)).with_name(str(name)), int(str(position))
