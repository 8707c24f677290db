"""A database of one test on a server, and a session that reads it as copies do."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from connector.stream.source.select_session import SelectSession
from local_stack import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymysql import Connection
    from pymysql.cursors import Cursor

    from tests.integration.source_server import Source

Session = TypeVar("Session", bound=SelectSession)


class OwnDatabase(NamedTuple, Generic[Session]):
    """A database, and the sessions on it."""

    name: str
    session: Session
    # Of the administrator, whose statements may store any value.
    connection: Connection[Cursor]
    cursor: Cursor


@contextmanager
def own_database(source: Source, kind: type[Session]) -> Iterator[OwnDatabase[Session]]:
    """Create a database, and drop it at the end; a session of `kind` may only read."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    source.execute(f"CREATE DATABASE {name}")
    settings = source.settings(user=source.create_account("SELECT"))
    with (
        kind(settings) as session,
        connect(source.server.endpoint, name) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET SESSION sql_mode = '', time_zone = '+00:00'")
        yield OwnDatabase(name, session, connection, cursor)
    source.execute(f"DROP DATABASE {name}")
