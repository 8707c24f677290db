"""Statements of a log tell of rows that they do not name."""

from __future__ import annotations

import itertools

import pytest

from connector.binlog.event import Event
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.header import EventHeader, EventType
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.errors import MirrorError
from stream_jobs.source import table_schema as mirrored
from stream_jobs.source.sequence import PackedSequence
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping, ColumnNames
from verification.foreign.log_states import LogStates
from verification.foreign.logged_rows import LoggedRows
from verification.foreign.row_states import UNKNOWN, KeyStates

KEY = (1, 2)


def states_of(
    *statements: str, names: tuple[str, str] = ("shop", "orders"), ignores_case: bool = False
) -> dict[tuple[int, int], KeyStates]:
    """Return the states of one key after statements of a log, from position 1000 on."""
    compared = mirrored.TableSchema("shop", "orders", "", PackedSequence(0, 0), ())
    mapping = ColumnMapping(compared, [], ColumnNames())
    rows = LoggedRows(TableSchema("shop", "orders", "", (), ()), mapping)
    states = LogStates(names, rows, frozenset({KEY}), ignores_case=ignores_case)
    header = EventHeader(7, EventType.QUERY_EVENT, 1, 100, 0, 0)
    states.read(
        (
            Event("binlog.000001", position, position + 100, header, body(text), b"")
            for position, text in zip(itertools.count(1000, 100), statements, strict=False)
        ),
        9_000_000,
    )
    states.complete()
    return states.of_keys


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


def test_an_xa_transaction_ends_no_other_one() -> None:
    starts = [
        text
        for xid in ("X'61',X'',1", "X'62',X'',1")
        for text in (f"XA START {xid}", f"XA END {xid}")
    ]
    known = states_of(*starts, "XA COMMIT X'62',X'',1", "XA COMMIT X'61',X'',1")
    assert known == {}
    assert KEY in states_of(*starts[:2], "XA COMMIT X'62',X'',1", "XA COMMIT X'61',X'',1")


def test_drop_database_drops_the_table() -> None:
    assert states_of("DROP DATABASE shops") == {}
    with pytest.raises(MirrorError) as raised:
        states_of("DROP DATABASE shop")
    assert raised.value.code is foreign_errors.TABLE_CHANGED
