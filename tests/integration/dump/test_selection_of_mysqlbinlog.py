"""`dump` chooses the events that mysqlbinlog 9.7 does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from connector.reader import open_binlog
from local_stack import MysqlServer, connect
from tests.integration.dump.mysqlbinlog import mysqlbinlog
from tests.logs.dump.command import dump, dumped_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.server

STATEMENTS = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY)",
    "INSERT INTO shop.orders VALUES (1), (2)",
    "DO SLEEP(1.1)",  # so that not everything is of one second
    "SET binlog_transaction_compression = ON",
    "DELETE FROM shop.orders WHERE id = 1",
    "SET gtid_next = 'AUTOMATIC:nightly'",
    "INSERT INTO shop.orders VALUES (3)",
    "FLUSH LOCAL BINARY LOGS",
]


@dataclass
class Recorded:
    """A closed log, and the server that wrote it."""

    server: MysqlServer
    file: Path

    @property
    def gtids(self) -> list[str]:
        with open_binlog(self.file) as log:
            return [str(each.gtid) for each in log.transactions()]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    with MysqlServer(tmp_path_factory.mktemp("server"), version="9") as server:
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            for statement in STATEMENTS:
                cursor.execute(statement)
        yield Recorded(server, server.directory / "data/binlog.000001")


def ends_of(lines: Sequence[str]) -> list[str]:
    """Return the end_log_pos of the events that are shown; those of a payload have its own."""
    found = (re.match(r"#\d.* end_log_pos ([1-9]\d*) ", line) for line in lines)
    return list(dict.fromkeys(match[1] for match in found if match))


def same(recorded: Recorded, **options: object) -> list[str]:
    """Return which events of the first log both choose by these options."""
    pairs = [(f"--{name.replace('_', '-')}", str(value)) for name, value in options.items()]
    theirs = mysqlbinlog(
        recorded.server,
        recorded.file,
        *(f"{name}={value.replace('T', ' ')}" for name, value in pairs),
    )
    ours = dump(*(part for pair in pairs for part in pair), recorded.file)
    assert (ours.code, ours.errors) == (0, "")
    assert ends_of(ours.lines) == ends_of(theirs)
    return ends_of(ours.lines)


def test_by_nothing(recorded: Recorded) -> None:
    assert len(same(recorded)) == len(dumped_json(recorded.file).objects)


def test_by_position(recorded: Recorded) -> None:
    all_events = dumped_json(recorded.file).objects
    start, stop = all_events[4]["log_pos"], all_events[9]["log_pos"]
    assert len(same(recorded, start_position=start)) == len(all_events) - 3
    assert len(same(recorded, stop_position=stop)) == 9
    assert len(same(recorded, stop_position=stop + 1)) == 10
    assert len(same(recorded, start_position=start, stop_position=stop)) == 6


def test_by_time(recorded: Recorded) -> None:
    last = dumped_json(recorded.file).objects[-1]["timestamp"]
    for seconds in (-3600, 0, 1, 3600):
        time = datetime.fromtimestamp(last + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        same(recorded, start_datetime=time)
        if seconds >= 0:
            # Else mysqlbinlog leaves out the format, too.
            same(recorded, stop_datetime=time)


def test_by_gtid(recorded: Recorded) -> None:
    first, second, *_, compressed, tagged = recorded.gtids
    assert len(same(recorded, include_gtids=second)) < len(same(recorded, exclude_gtids=second))
    assert same(recorded, include_gtids=f"{first},{second}") != same(recorded, include_gtids=second)
    same(recorded, include_gtids=f"{first},{second}", exclude_gtids=first)
    assert same(recorded, include_gtids=compressed) != same(recorded, include_gtids=tagged)


def test_by_server(recorded: Recorded) -> None:
    assert len(same(recorded, server_id=1)) == len(dumped_json(recorded.file).objects)
    assert len(same(recorded, server_id=99)) == 2
