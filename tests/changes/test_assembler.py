"""Events of every order that servers write become transactions, or errors."""

from __future__ import annotations

from uuid import UUID

import pytest

from connector.binlog.event import Event, EventBody
from connector.binlog.event_types import EventType
from connector.binlog.extra_row_info import ExtraRowInfo
from connector.binlog.header import EventHeader
from connector.binlog.mariadb_events import MariadbGtidEvent
from connector.binlog.rows_event import RowsEvent, RowsKind
from connector.binlog.statement_events import QueryEvent
from connector.binlog.status_variables import StatusVariables
from connector.binlog.table_map_event import TableMapEvent
from connector.binlog.transaction_events import AnonymousGtidEvent, GtidEvent, XidEvent
from connector.changes.assembler import TransactionAssembler
from connector.changes.statement import StatementKind
from connector.changes.table_filter import TableFilter
from connector.changes.transaction import Change, Committed, RowsChange, StatementChange
from connector.errors import ProtocolError, UnsupportedChange
from connector.gtid import Gtid, MariadbGtid

SOURCE = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
CODES: dict[type, EventType] = {
    QueryEvent: EventType.QUERY_EVENT,
    XidEvent: EventType.XID_EVENT,
    RowsEvent: EventType.WRITE_ROWS_EVENT,
    GtidEvent: EventType.GTID_LOG_EVENT,
    AnonymousGtidEvent: EventType.ANONYMOUS_GTID_LOG_EVENT,
    MariadbGtidEvent: EventType.GTID_EVENT,
}


def gtid(number: int = 5) -> GtidEvent:
    return GtidEvent(0, 1, 2, 300, 200, None, None, None, None, Gtid(SOURCE, number))


def anonymous() -> AnonymousGtidEvent:
    return AnonymousGtidEvent(0, None, None, None, None, None, None, None, None)


def query(text: str, schema: str = "shop", databases: list[str] | None = None) -> QueryEvent:
    variables = StatusVariables(updated_databases=databases)
    return QueryEvent(9, 0, 0, schema, variables, text.encode(), text)


def rows(table: str = "orders", schema: str = "shop") -> RowsEvent:
    table_map = TableMapEvent(1, 0, schema, table, [])
    return RowsEvent(
        RowsKind.INSERT, table_map, 1, ExtraRowInfo(), None, None, "binlog.000001", 0, "", b"", 0, 0
    )


def receive(*bodies: EventBody, tables: tuple[str, ...] = ("shop.*",)) -> list[Change]:
    """Return what comes of events of 100 bytes each, from position 1000 on."""
    assembler = TransactionAssembler(TableFilter(tables, ["shop.secret"]))
    changes: list[Change] = []
    for number, body in enumerate(bodies):
        position = 1000 + 100 * number
        header = EventHeader(7, CODES[type(body)], 1, 100, position + 100, 0)
        event = Event("binlog.000001", position, position + 100, header, body, b"")
        changes += assembler.receive(event)
    return changes


def refusal(*bodies: EventBody) -> str:
    with pytest.raises(UnsupportedChange) as caught:
        receive(*bodies)
    return str(caught.value)


def test_rows_between_begin_and_xid_are_one_transaction() -> None:
    first, second, end = receive(gtid(), query("BEGIN"), rows(), rows("lines"), XidEvent(1))
    assert isinstance(first, RowsChange)
    assert isinstance(second, RowsChange)
    assert isinstance(end, Committed)
    assert first.transaction is second.transaction is end.transaction
    assert (first.transaction.position, first.transaction.id) == (1000, f"{SOURCE}:5")
    assert (first.transaction.thread_id, first.transaction.committed_us) == (9, 200)
    assert (first.event_number, second.event_number) == (0, 1)
    assert (end.file, end.next_position) == ("binlog.000001", 1500)


def test_a_group_can_end_with_the_text_commit() -> None:
    assert isinstance(receive(gtid(), query("BEGIN"), rows(), query("COMMIT"))[-1], Committed)


def test_a_mariadb_gtid_event_begins_the_transaction() -> None:
    body = MariadbGtidEvent(MariadbGtid(0, 1, 8), 0, None)
    change, end = receive(body, rows(), XidEvent(1))
    assert isinstance(change, RowsChange)
    assert change.transaction.id == "0-1-8"
    assert isinstance(end, Committed)


def test_a_source_without_gtids_names_transactions_by_position() -> None:
    change = receive(anonymous(), query("BEGIN"), rows())[0]
    assert isinstance(change, RowsChange)
    assert (change.transaction.gtid, change.transaction.id) == (None, "binlog.000001:1000")


def test_a_begin_without_a_gtid_event_opens_a_transaction() -> None:
    change, end = receive(query("BEGIN"), rows(), XidEvent(1))
    assert isinstance(change, RowsChange)
    assert change.transaction.position == 1000
    assert isinstance(end, Committed)


def test_tables_that_are_not_followed_count_but_are_not_handed_on() -> None:
    change, _ = receive(gtid(), query("BEGIN"), rows("secret"), rows(), XidEvent(1))
    assert isinstance(change, RowsChange)
    assert change.event_number == 1


def test_system_tables_are_not_followed_unless_they_are_named() -> None:
    group = (gtid(), query("BEGIN"), rows("user", "mysql"), XidEvent(1))
    assert len(receive(*group, tables=("*.*",))) == 1
    assert len(receive(*group, tables=("mysql.user",))) == 2


def test_a_statement_is_a_transaction_of_its_own() -> None:
    change, end = receive(gtid(), query("TRUNCATE TABLE orders"))
    assert isinstance(change, StatementChange)
    assert (change.kind, change.database, change.table) == (
        StatementKind.TRUNCATE,
        "shop",
        "orders",
    )
    assert isinstance(end, Committed)


def test_a_statement_of_another_database_only_moves_the_position() -> None:
    (end,) = receive(gtid(), query("TRUNCATE TABLE orders", schema="other"))
    assert isinstance(end, Committed)


def test_ddl_inside_a_transaction_does_not_end_it() -> None:
    create = query("CREATE TABLE `a` (`id` int) START TRANSACTION")
    changes = receive(gtid(), query("BEGIN"), create, rows("a"), XidEvent(1))
    assert [type(change) for change in changes] == [RowsChange, Committed]


def test_a_rollback_of_nothing_that_is_followed_is_an_empty_transaction() -> None:
    (end,) = receive(gtid(), query("BEGIN"), rows("secret"), query("ROLLBACK"))
    assert isinstance(end, Committed)


def test_a_group_of_followed_rows_that_ends_in_rollback_is_refused() -> None:
    assert refusal(gtid(), query("BEGIN"), rows(), query("ROLLBACK")) == (
        "binlog.000001:1300: a group of row changes that ends in ROLLBACK cannot be carried "
        f"without loss (transaction {SOURCE}:5): the group mixes engines with and without "
        "transactions, and which rows stayed is not in the log: use InnoDB for followed tables. "
        "Nothing from this transaction was published"
    )


def test_a_rollback_to_a_savepoint_behind_followed_rows_is_refused() -> None:
    text = refusal(gtid(), query("BEGIN"), rows(), query("ROLLBACK TO `a`"))
    assert "ROLLBACK TO SAVEPOINT behind row changes cannot be carried without loss" in text


def test_savepoints_alone_change_nothing() -> None:
    changes = receive(
        gtid(), query("BEGIN"), query("SAVEPOINT a"), query("ROLLBACK TO a"), rows(), XidEvent(1)
    )
    assert [type(change) for change in changes] == [RowsChange, Committed]


@pytest.mark.parametrize(
    ("schema", "databases", "refused"),
    [
        ("shop", None, True),
        ("other", ["shop"], True),
        ("other", None, False),
        ("shop", ["other"], False),
    ],
)
def test_dml_text_is_refused_by_the_databases_that_it_touched(
    schema: str, databases: list[str] | None, refused: bool
) -> None:
    body = query("UPDATE orders SET a = 1", schema, databases)
    group = (gtid(), query("BEGIN"), body, XidEvent(1))
    if refused:
        assert "UPDATE in database shop, logged as a statement, cannot be carried" in refusal(
            *group
        )
    else:
        assert len(receive(*group)) == 1


def test_a_prepared_mariadb_transaction_is_refused() -> None:
    prepared = MariadbGtidEvent(MariadbGtid(0, 1, 8), 0x40, None)
    assert "an XA transaction cannot be carried without loss" in refusal(prepared)


def test_rows_outside_a_transaction_are_an_error() -> None:
    with pytest.raises(ProtocolError) as caught:
        receive(rows())
    assert str(caught.value) == (
        "binlog.000001:1000: WRITE_ROWS_EVENT outside of a transaction; the stream must start at "
        "a transaction's first event"
    )


def test_a_transaction_inside_another_is_an_error() -> None:
    with pytest.raises(ProtocolError) as caught:
        receive(gtid(), query("BEGIN"), rows(), gtid(6))
    assert str(caught.value) == (
        "binlog.000001:1300: a transaction starts inside the one that started at "
        "binlog.000001:1000 and has not ended"
    )
