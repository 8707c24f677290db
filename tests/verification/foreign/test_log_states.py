"""Statements of a log tell of rows that they do not name."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest

from connector.binlog.event import Event
from connector.binlog.events.mariadb import FL_PREPARED_XA, MariadbGtidEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.events.transaction import XaXid
from connector.binlog.gtid import MariadbGtid
from connector.binlog.header import EventHeader, EventType
from connector.reader import open_binlog
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.snapshot.watermark import LogPosition
from stream_jobs.errors import MirrorError
from stream_jobs.source import table_schema as mirrored
from stream_jobs.source.sequence import PackedSequence
from tests.binlog.files.log_files import LogFile
from tests.stream_jobs.topics import column
from verification.digests import digest_pairs
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.forms import forms_of
from verification.foreign.log_states import LogStates
from verification.foreign.logged_rows import LoggedRows
from verification.foreign.row_states import UNKNOWN, DefinitionMoment, KeyStates
from verification.foreign.shared_log import TableReading, read_log

KEY = (1, 2)
END_US = 9_000_000


def states_of(
    *statements: str, names: tuple[str, str] = ("shop", "orders"), ignores_case: bool = False
) -> dict[tuple[int, int], KeyStates]:
    """Return the states of one key after statements of a log, from position 1000 on."""
    compared = mirrored.TableSchema("shop", "orders", "", PackedSequence(0, 0), ())
    mapping = ColumnMapping(compared, [], ColumnNames())
    rows = LoggedRows(TableSchema("shop", "orders", "", (), ()), mapping)
    states = LogStates(names, rows, frozenset({KEY}), ignores_case=ignores_case)
    bodies = [prepared(text[1:]) if text.startswith("*") else body(text) for text in statements]
    reading = TableReading(states, "")
    read_log(
        (
            Event("binlog.000001", position, position + 100, header(own), own, b"")
            for position, own in zip(itertools.count(1000, 100), bodies, strict=False)
        ),
        END_US,
        [reading],
        ignores_case=ignores_case,
    )
    if reading.failure is not None:
        raise reading.failure
    states.complete()
    return states.of_keys


def header(own: QueryEvent | MariadbGtidEvent) -> EventHeader:
    is_gtid = isinstance(own, MariadbGtidEvent)
    kind = EventType.GTID_EVENT if is_gtid else EventType.QUERY_EVENT
    return EventHeader(7, kind, 1, 100, 0, 0)


def prepared(name: str) -> MariadbGtidEvent:
    """Return how MariaDB begins a transaction that is prepared with a name."""
    return MariadbGtidEvent(
        MariadbGtid(0, 1, 7), FL_PREPARED_XA, None, XaXid(1, name.encode(), b"")
    )


def body(text: str) -> QueryEvent:
    return QueryEvent(1, 0, 0, "shop", StatusVariables(), text.encode(), text)


@pytest.mark.parametrize("names", [("shop", "orders"), ("Shop", "Orders")])
def test_a_server_that_ignores_case_is_told_of_a_table_in_any_case(names: tuple[str, str]) -> None:
    for text in ("TRUNCATE TABLE ORDERS", "TRUNCATE SHOP.orders"):
        assert states_of(text, names=names, ignores_case=True)[KEY].values == [UNKNOWN, None]
        assert not states_of(text)
    with pytest.raises(MirrorError) as caught:
        states_of("DROP DATABASE SHOP", names=names, ignores_case=True)
    assert caught.value.code == foreign_errors.TABLE_CHANGED


@pytest.mark.parametrize("verb", ["COMMIT", "ROLLBACK"])
def test_the_end_of_an_xa_transaction_without_its_start_hides_all_rows(verb: str) -> None:
    states = states_of(f"XA {verb} X'61',X'',1")[KEY]
    assert states.values == [UNKNOWN, UNKNOWN]
    change = states.changes[1]
    assert change is not None
    assert (change.place, change.committed_us) == ("binlog.000001:1000", 9_000_000)


def test_a_statement_in_place_of_its_rows_hides_all_rows() -> None:
    assert states_of("UPDATE orders SET price = 1")[KEY].values == [UNKNOWN, UNKNOWN]


def test_an_xa_transaction_ends_no_other_one() -> None:
    starts = [
        text
        for xid in ("X'61',X'',1", "X'62',X'',1")
        for text in (f"XA START {xid}", f"XA END {xid}")
    ]
    known = states_of(*starts, "XA COMMIT X'62',X'',1", "XA COMMIT X'61',X'',1")
    assert known == {}
    assert KEY in states_of(*starts[:2], "XA COMMIT X'62',X'',1", "XA COMMIT X'61',X'',1")
    # MariaDB logs no XA START.
    assert states_of("*ab", "XA ROLLBACK X'6162',X'',1") == {}
    assert KEY in states_of("*ab", "XA ROLLBACK X'6163',X'',1")


def states_of_log(log: LogFile, described: DefinitionMoment | None = None) -> dict[int, list[Any]]:
    """Return the states of rows of db.t, by their ids; a row by its name."""
    columns = (column("id", "int", key=1), column("name", "varchar", charset="utf8mb4"))
    compared = mirrored.TableSchema("db", "t", "", PackedSequence(0, 0), columns)
    kinds = (pa.int32(), pa.string())
    pairs = [
        ColumnPair(own, own["name"], forms_of(own, kind)[0])
        for own, kind in zip(columns, kinds, strict=True)
    ]
    mapping = ColumnMapping(compared, pairs, ColumnNames())
    names = [*"abc"]
    every = pa.table(
        {
            "id": pa.array([n for n in range(1, 9) for _ in names], kinds[0]),
            "name": pa.array(names * 8),
        }
    )
    keys = dict(zip(digest_pairs(mapping.keys(every)), every["id"].to_pylist(), strict=True))
    rows = dict(zip(mapping.values(every), every["name"].to_pylist(), strict=True))
    logged = LoggedRows(TableSchema("db", "t", "", columns, (0, 1)), mapping)
    wanted = frozenset(keys)
    states = LogStates(("db", "t"), logged, wanted, ignores_case=False, described=described)
    reading = TableReading(states, "binlog.000001:4")
    with TemporaryDirectory() as folder:
        (path := Path(folder, "binlog.000001")).write_bytes(log.data)
        with open_binlog(path) as reader:
            read_log(iter(reader), END_US, [reading], ignores_case=False)
    if reading.failure is not None:
        raise reading.failure
    reach_us = END_US if described is None else min(END_US, described.time_us)
    assert states.reach_us in {0, reach_us}
    return {
        keys[digest]: [rows.get(value, value) for value in own.values]  # type: ignore[arg-type]
        for digest, own in states.of_keys.items()
    }


def test_rows_that_were_rolled_back_are_unknown() -> None:
    log = LogFile()
    log.transaction((1, "a"), (2, "a"))
    log.gtid()
    log.query("BEGIN")
    log.table_map()
    log.insert((3, "a"), (4, "b"))
    log.query("ROLLBACK")
    log.transaction((4, "c"))
    assert states_of_log(log) == {
        1: [None, "a"],
        2: [None, "a"],
        3: [None, "a", UNKNOWN],
        4: [None, "b", UNKNOWN, "c"],
    }


def test_rows_after_a_rollback_to_a_savepoint_are_known() -> None:
    log = LogFile()
    log.gtid()
    log.query("BEGIN")
    log.query("SAVEPOINT `s`")
    log.table_map()
    log.insert((1, "a"))
    log.query("ROLLBACK TO `s`")
    log.table_map()
    log.insert((1, "b"), (2, "b"))
    log.add(EventType.XID_EVENT, bytes(8))
    assert states_of_log(log) == {1: [None, "a", UNKNOWN, "b"], 2: [None, "b"]}


def test_a_rollback_of_other_tables_hides_no_row() -> None:
    log = LogFile()
    log.transaction((1, "a"))
    log.gtid()
    log.query("BEGIN")
    log.query("ROLLBACK")
    assert states_of_log(log) == {1: [None, "a"]}


def test_an_xa_transaction_of_one_phase_hides_its_rows() -> None:
    log = LogFile()
    log.gtid()
    log.query("XA START X'61',X'',1")
    log.table_map()
    log.insert((1, "a"))
    log.query("XA END X'61',X'',1")
    xid = (1).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(4) + b"a"
    log.add(EventType.XA_PREPARE_LOG_EVENT, b"\1" + xid)
    log.transaction((2, "b"))
    assert states_of_log(log) == {1: [None, None, UNKNOWN], 2: [None, "b"]}


def test_drop_database_drops_the_table() -> None:
    assert states_of("DROP DATABASE shops") == {}
    with pytest.raises(MirrorError) as raised:
        states_of("DROP DATABASE shop")
    assert raised.value.code is foreign_errors.TABLE_CHANGED


def test_states_begin_after_a_statement_that_was_there_before_the_columns_were_read() -> None:
    log = LogFile()
    log.transaction((1, "a"), (2, "a"))
    log.gtid()
    log.query("XA START X'61',X'',1")
    log.table_map()
    log.insert((3, "a"))
    log.query("XA END X'61',X'',1")
    log.gtid()
    log.query("ALTER TABLE t ADD COLUMN more INT")
    log.transaction((2, "b"))
    after = DefinitionMoment(END_US + 1)
    assert states_of_log(log, after) == {2: [None, "b"]}
    log.gtid()
    log.query("XA COMMIT X'61',X'',1")
    # The rows of its end are forgotten, so they may be any.
    assert states_of_log(log, after) == {2: [None, "b", UNKNOWN]}
    with pytest.raises(MirrorError) as raised:
        states_of_log(log, DefinitionMoment(END_US))
    assert raised.value.code is foreign_errors.TABLE_CHANGED


def test_without_times_of_commits_the_log_says_whether_a_statement_was_there_before() -> None:
    """The statement counts as committed when the columns were read, not when it was seen."""
    log = LogFile()
    log.transaction((1, "a"))
    begin = log.gtid()
    log.query("ALTER TABLE t ADD COLUMN more INT")
    end = len(log.data)
    log.transaction((2, "b"))
    assert states_of_log(log, DefinitionMoment(5, LogPosition(1, end))) == {2: [None, "b"]}
    assert states_of_log(log, DefinitionMoment(5, LogPosition(2, 4))) == {2: [None, "b"]}
    with pytest.raises(MirrorError) as raised:
        states_of_log(log, DefinitionMoment(END_US + 1, LogPosition(1, begin)))
    assert raised.value.code is foreign_errors.TABLE_CHANGED
