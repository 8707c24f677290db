"""Ways to get at real events: from recorded files, and from the log of a running server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.binlog.decoder import EventDecoder
from connector.binlog.framing.version import detect_version
from local_stack import connect
from tests.binlog.source_log import MAGIC, SourceLog, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event
    from local_stack import MariadbServer, MysqlServer


@pytest.fixture(scope="session")
def recorded(shared_binlogs: Path) -> Callable[[str], list[bytes]]:
    """Returns the raw events of a recorded file."""

    def read(name: str) -> list[bytes]:
        data = (shared_binlogs / name).read_bytes()
        return list(split(data)) if data[:4] == MAGIC else [data]

    return read


@pytest.fixture(scope="session")
def decode_file(recorded: Callable[[str], list[bytes]]) -> Callable[[str], Iterator[Event]]:
    """Returns the decoded events of a recorded file."""

    def decode(name: str) -> Iterator[Event]:
        events = recorded(name)
        decoder = EventDecoder(
            file=Path(name).name, version=detect_version(events[0]), counted=True
        )
        return (decoder.decode(data) for data in events)

    return decode


@pytest.fixture
def mysql_log(mysql_server: MysqlServer, database: str) -> Iterator[SourceLog]:
    """A connection to MySQL in an empty database."""
    with connect(mysql_server.endpoint, database) as connection:
        yield SourceLog(connection)


@pytest.fixture
def mariadb_log(mariadb_server: MariadbServer, mariadb_database: str) -> Iterator[SourceLog]:
    """A connection to MariaDB in an empty database."""
    with connect(mariadb_server.endpoint, mariadb_database) as connection:
        yield SourceLog(connection)


@pytest.fixture(params=["mysql", "mariadb"])
def source_log(request: pytest.FixtureRequest) -> SourceLog:
    """A connection to each kind of server in an empty database."""
    log = request.getfixturevalue(f"{request.param}_log")
    assert isinstance(log, SourceLog)
    return log
