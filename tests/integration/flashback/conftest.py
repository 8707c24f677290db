"""The log of a MySQL 9, and the events of recorded files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import MysqlServer, connect
from tests.binlog.conftest import decode_file, recorded
from tests.binlog.source_log import SourceLog

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["decode_file", "mysql_9_log", "recorded"]


@pytest.fixture(scope="session")
def _mysql_9(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    with MysqlServer(tmp_path_factory.mktemp("mysql9"), version="9") as server:
        yield server


@pytest.fixture
def mysql_9_log(_mysql_9: MysqlServer) -> Iterator[SourceLog]:
    """A connection to a MySQL 9 of its own, in a database that stays."""
    with connect(_mysql_9.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS d")
        connection.select_db("d")
        yield SourceLog(connection)
