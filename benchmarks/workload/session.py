"""A connection that executes many statements at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pymysql
from pymysql.constants import CLIENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint


class Session:
    """Executes statements; each commits itself."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Log in without TLS, as everybody does in these benchmarks."""
        self._connection = pymysql.connect(
            host=endpoint.host,
            port=endpoint.port,
            user=endpoint.user,
            password=endpoint.password,
            charset="utf8mb4",
            autocommit=True,
            ssl_disabled=True,
            client_flag=CLIENT.MULTI_STATEMENTS,
        )
        self.execute("SET time_zone='+00:00'")

    def execute(self, *statements: str) -> None:
        """Send the statements in one packet, and wait until all are done."""
        with self._connection.cursor() as cursor:
            cursor.execute(";".join(statements))
            while cursor.nextset():
                pass

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Return the rows of a query."""
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def close(self) -> None:
        """Log out."""
        self._connection.close()


@contextmanager
def session(endpoint: Endpoint) -> Iterator[Session]:
    """Log in for the length of a block."""
    opened = Session(endpoint)
    try:
        yield opened
    finally:
        opened.close()
