"""What is counted in the logs of real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.events.mariadb import BinlogCheckpointEvent
from connector.binlog.events.rows import RowsEvent
from connector.logs.statistics import LARGEST_TRANSACTIONS, Count, TableCount
from tests.golden.golden import with_inner_events
from tests.logs.stat.counted import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event
    from tests.binlog.source_log import SourceLog

    DecodeFile = Callable[[str], Iterator[Event]]

pytestmark = pytest.mark.server


def test_rows_count_by_table_and_kind(source_log: SourceLog) -> None:
    log = source_log
    log.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    log.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    log.execute("UPDATE t SET v = 9 WHERE id < 3")
    log.execute("DELETE FROM t WHERE id = 3")
    events = log.events()
    statistics = counted(events)
    rows_bytes = sum(e.header.event_size for e in events if isinstance(e.body, RowsEvent))
    schema = str(log.execute("SELECT DATABASE()")[0][0])
    assert statistics.tables == {(schema, "t"): TableCount(3, 2, 1, rows_bytes)}
    assert statistics.tables[schema, "t"].rows == 6
    assert sum(count.bytes for count in statistics.events.values()) == sum(
        event.header.event_size for event in events
    )


def test_a_transaction_is_counted_once_whatever_is_in_it(source_log: SourceLog) -> None:
    log = source_log
    log.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    log.execute("CREATE TABLE m (id INT PRIMARY KEY) ENGINE = MyISAM")
    log.execute("INSERT INTO m VALUES (1)")
    log.execute("BEGIN")
    log.execute("INSERT INTO t VALUES (1)")
    log.execute("SAVEPOINT s")
    log.execute("INSERT INTO t VALUES (2)")
    log.execute("COMMIT")
    log.execute("BEGIN")
    log.execute("INSERT INTO t VALUES (3)")
    log.execute("ROLLBACK")
    events = log.events()
    statistics = counted(events)
    # Some time after MariaDB begins a file, it writes a checkpoint, between two transactions.
    own = [event for event in events if not isinstance(event.body, BinlogCheckpointEvent)]
    assert statistics.transactions == Count(4, sum(event.header.event_size for event in own))
    largest = max(statistics.largest_transactions, key=lambda count: count.rows)
    assert largest.rows == 2
    assert statistics.peak_timestamp is not None
    assert 1 <= statistics.peak <= 4


def test_the_largest_transactions_come_first(mysql_log: SourceLog) -> None:
    mysql_log.execute("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
    for number in range(LARGEST_TRANSACTIONS + 5):
        mysql_log.execute(f"INSERT INTO t VALUES ({number}, REPEAT('x', {number % 7 * 100}))")
    statistics = counted(mysql_log.events())
    sizes = [count.bytes for count in statistics.largest_transactions]
    assert len(sizes) == LARGEST_TRANSACTIONS
    assert sizes == sorted(sizes, reverse=True)
    # Of equal ones those that came first.
    numbers = [count.span.position for count in statistics.largest_transactions[:2]]
    assert numbers == sorted(numbers)


def test_gtids_are_those_that_the_server_executed(mysql_log: SourceLog) -> None:
    before = mysql_log.execute("SELECT @@GLOBAL.gtid_executed")[0][0]
    mysql_log.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    mysql_log.execute("INSERT INTO t VALUES (1)")
    statistics = counted(mysql_log.events())
    ((new,),) = mysql_log.execute(f"SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, '{before}')")
    assert str(statistics.gtids) == new


def test_gtids_of_mariadb_are_ranges_by_domain_and_server(mariadb_log: SourceLog) -> None:
    mariadb_log.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    mariadb_log.execute("INSERT INTO t VALUES (1)")
    statistics = counted(mariadb_log.events())
    ((position,),) = mariadb_log.execute("SELECT @@gtid_binlog_pos")
    domain, server, sequence = map(int, str(position).split(",")[0].split("-"))
    known = statistics.mariadb_gtids[domain, server]
    assert (known.first, known.last, known.count) == (sequence - 1, sequence, 2)


def test_events_of_compressed_transactions_are_counted_apart(mysql_log: SourceLog) -> None:
    mysql_log.execute("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
    mysql_log.execute("SET binlog_transaction_compression = ON")
    mysql_log.execute("INSERT INTO t VALUES (1, REPEAT('x', 10000))")
    events = mysql_log.events()
    statistics = counted(events)
    assert "WRITE_ROWS_EVENT" not in statistics.events
    assert statistics.payloads.events["WRITE_ROWS_EVENT"].count == 1
    inner = sum(count.bytes for count in statistics.payloads.events.values())
    assert inner == statistics.payloads.uncompressed_bytes > 10000
    assert statistics.payloads.count == 1
    assert statistics.payloads.compressed_bytes < 1000
    assert [count.inserts for count in statistics.tables.values()] == [1]
    assert statistics.transactions.count == 2
    assert len(list(with_inner_events(events[-1:]))) == 5
