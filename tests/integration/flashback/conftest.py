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


@pytest.fixture
def mysql_9_log(mysql_9: MysqlServer) -> Iterator[SourceLog]:
    """A connection to MySQL 9 in an empty database."""
    with connect(mysql_9.endpoint) as connection:
        log = SourceLog(connection)
        log.execute("CREATE DATABASE flashback")
        log.execute("USE flashback")
        yield log
        log.execute("DROP DATABASE flashback")
