"""Events of every order that servers write become transactions, or errors."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import UUID

import pytest

from connector.binlog.event import Event, EventBody, TransactionPayloadEvent
from connector.binlog.events.compression import CompressionType, TransactionPayload
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.events.control import IncidentEvent
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
    LoadFlag,
    LoadFormat,
)
from connector.binlog.events.mariadb import (
    FL_COMMIT_ALTER_E1,
    FL_COMPLETED_XA,
    FL_PREPARED_XA,
    FL_ROLLBACK_ALTER_E1,
    FL_STANDALONE,
    FL_START_ALTER_E1,
    MariadbGtidEvent,
    PartialRowDataEvent,
)
from connector.binlog.events.query import DuplicateHandling, ExecuteLoadQueryEvent, QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsKind
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    GtidEvent,
    XaPrepareEvent,
    XaXid,
    XidEvent,
)
from connector.binlog.gtid import Gtid, MariadbGtid, MariadbGtidSet
from connector.binlog.header import EventHeader, EventType
from connector.binlog.log_errors import ProtocolError
from connector.binlog.statement import StatementKind
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import TransientError, UnsupportedChange
from connector.foundation.errors.message import Message
from connector.stream.changes import changes_errors
from connector.stream.changes.changes_errors import RolledBack
from connector.stream.changes.receiver import TransactionEnd
from connector.stream.changes.transaction import RowsChange, StatementChange
from connector.stream.changes.xa_transactions import EarlierGroups, PreparedGroup, RedeliveredGroups
from tests.foundation.errors.texts import text_of
from tests.stream.changes.received import Change, changes_of

SOURCE = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
CODES: dict[type, EventType] = {
    QueryEvent: EventType.QUERY_EVENT,
    XidEvent: EventType.XID_EVENT,
    RowsEvent: EventType.WRITE_ROWS_EVENT,
    GtidEvent: EventType.GTID_LOG_EVENT,
    AnonymousGtidEvent: EventType.ANONYMOUS_GTID_LOG_EVENT,
    MariadbGtidEvent: EventType.GTID_EVENT,
    IncidentEvent: EventType.INCIDENT_EVENT,
    LoadEvent: EventType.NEW_LOAD_EVENT,
    CreateFileEvent: EventType.CREATE_FILE_EVENT,
    AppendBlockEvent: EventType.APPEND_BLOCK_EVENT,
    DeleteFileEvent: EventType.DELETE_FILE_EVENT,
    ExecLoadEvent: EventType.EXEC_LOAD_EVENT,
    BeginLoadQueryEvent: EventType.BEGIN_LOAD_QUERY_EVENT,
    ExecuteLoadQueryEvent: EventType.EXECUTE_LOAD_QUERY_EVENT,
    IntvarEvent: EventType.INTVAR_EVENT,
    RandEvent: EventType.RAND_EVENT,
    UserVarEvent: EventType.USER_VAR_EVENT,
    XaPrepareEvent: EventType.XA_PREPARE_LOG_EVENT,
    PartialRowDataEvent: EventType.PARTIAL_ROW_DATA_EVENT,
    TransactionPayloadEvent: EventType.TRANSACTION_PAYLOAD_EVENT,
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


def event(body: EventBody, position: int, next_position: int, size: int) -> Event:
    header = EventHeader(7, CODES[type(body)], 1, size, 0, 0)
    made = Event("binlog.000001", position, next_position, header, body, b"")
    made.table_map = body.table_map if isinstance(body, RowsEvent) else None
    return made


def receive(
    *bodies: EventBody, tables: tuple[str, ...] = ("shop.*",), **state: Any
) -> list[Change]:
    """Return what comes of events of 100 bytes each, from position 1000 on."""
    events = [
        event(body, position, position + 100, 100)
        for position, body in zip(itertools.count(1000, 100), bodies, strict=False)
    ]
    return changes_of(events, TableFilter(tables, ["shop.secret"]), **state)


def refusal(*bodies: EventBody) -> str:
    with pytest.raises(UnsupportedChange) as caught:
        receive(*bodies)
    return caught.value.text


def test_rows_between_begin_and_xid_are_one_transaction() -> None:
    first, second, end = receive(gtid(), query("BEGIN"), rows(), rows("lines"), XidEvent(1))
    assert isinstance(first, RowsChange)
    assert isinstance(second, RowsChange)
    assert isinstance(end, TransactionEnd)
    assert first.transaction is second.transaction is end.transaction
    assert (first.transaction.position, first.transaction.id) == (1000, f"{SOURCE}:5")
    assert (first.transaction.thread_id, first.transaction.committed_us) == (9, 200)
    assert (first.event_number, second.event_number) == (0, 1)
    assert (end.file, end.next_position) == ("binlog.000001", 1500)


def test_a_group_can_end_with_the_text_commit() -> None:
    assert isinstance(receive(gtid(), query("BEGIN"), rows(), query("COMMIT"))[-1], TransactionEnd)


def test_a_mariadb_gtid_event_begins_the_transaction() -> None:
    body = MariadbGtidEvent(MariadbGtid(0, 1, 8), 0, None)
    change, end = receive(body, rows(), XidEvent(1))
    assert isinstance(change, RowsChange)
    assert change.transaction.id == "0-1-8"
    assert isinstance(end, TransactionEnd)


def test_a_source_without_gtids_names_transactions_by_position() -> None:
    change = receive(anonymous(), query("BEGIN"), rows())[0]
    assert isinstance(change, RowsChange)
    assert (change.transaction.gtid, change.transaction.id) == (None, "binlog.000001:1000")


def test_a_begin_without_a_gtid_event_opens_a_transaction() -> None:
    change, end = receive(query("BEGIN"), rows(), XidEvent(1))
    assert isinstance(change, RowsChange)
    assert change.transaction.position == 1000
    assert isinstance(end, TransactionEnd)


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
    assert isinstance(end, TransactionEnd)


def test_a_statement_of_another_database_only_moves_the_position() -> None:
    (end,) = receive(gtid(), query("TRUNCATE TABLE orders", schema="other"))
    assert isinstance(end, TransactionEnd)


def test_ddl_inside_a_transaction_does_not_end_it() -> None:
    create = query("CREATE TABLE `a` (`id` int) START TRANSACTION")
    changes = receive(gtid(), query("BEGIN"), create, rows("a"), XidEvent(1))
    assert [type(change) for change in changes] == [StatementChange, RowsChange, TransactionEnd]


def test_a_rollback_of_nothing_that_is_followed_is_an_empty_transaction() -> None:
    (end,) = receive(gtid(), query("BEGIN"), rows("secret"), query("ROLLBACK"))
    assert isinstance(end, TransactionEnd)


def test_rows_that_were_handed_on_and_rolled_back_are_to_be_taken_back() -> None:
    with pytest.raises(RolledBack) as caught:
        receive(gtid(), query("BEGIN"), rows(), query("ROLLBACK"))
    assert caught.value.transaction_id == f"{SOURCE}:5"
    assert caught.value.text == text_of(changes_errors.ROLLED_BACK, transaction=f"{SOURCE}:5")


def test_a_group_that_is_known_to_be_rolled_back_is_left_out() -> None:
    group = (gtid(), query("BEGIN"), rows(), query("ROLLBACK"))
    (end,) = receive(*group, earlier=EarlierGroups(rolled_back=frozenset({f"{SOURCE}:5"})))
    assert isinstance(end, TransactionEnd)


def test_a_group_that_was_rolled_back_on_another_server_is_read_again() -> None:
    group = (gtid(), query("BEGIN"), rows(), XidEvent(1))
    with pytest.raises(TransientError) as caught:
        receive(*group, earlier=EarlierGroups(rolled_back=frozenset({f"{SOURCE}:5"})))
    assert caught.value.text == text_of(
        changes_errors.OTHER_OUTCOME, log_position="binlog.000001:1300", transaction=f"{SOURCE}:5"
    )


def test_a_short_group_of_mariadb_waits_for_its_end() -> None:
    opened = MariadbGtidEvent(MariadbGtid(0, 1, 8), 0, None)
    assert [type(change) for change in receive(opened, rows(), query("ROLLBACK"))] == [
        TransactionEnd
    ]


def test_rows_after_a_savepoint_are_left_out_when_they_are_taken_back() -> None:
    changes = receive(
        gtid(),
        query("BEGIN"),
        rows("a"),
        query("SAVEPOINT `A`"),
        rows("b"),
        query("SAVEPOINT `x`"),
        rows("c"),
        query("SAVEPOINT `a`"),
        rows("d"),
        query("ROLLBACK TO `A`"),
        rows("e"),
        XidEvent(1),
    )
    # The second `a` replaced the first, whatever the letter case.
    kept = [(c.rows.table_map.table, c.event_number) for c in changes if isinstance(c, RowsChange)]
    assert kept == [("a", 0), ("b", 1), ("c", 2), ("e", 4)]


@pytest.mark.parametrize("before", [[], [query("SAVEPOINT `é`")]])
def test_a_rollback_to_a_savepoint_that_cannot_be_told_is_refused(before: list[EventBody]) -> None:
    group = (gtid(), query("BEGIN"), *before, rows(), query("ROLLBACK TO `a`"))
    position = 1000 + 100 * (len(group) - 1)
    assert refusal(*group) == text_of(
        changes_errors.SAVEPOINT,
        log_position=f"binlog.000001:{position}",
        transaction=f"{SOURCE}:5",
    )


def test_savepoints_alone_change_nothing() -> None:
    changes = receive(
        gtid(), query("BEGIN"), query("SAVEPOINT a"), query("ROLLBACK TO a"), rows(), XidEvent(1)
    )
    assert [type(change) for change in changes] == [RowsChange, TransactionEnd]


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
        assert "UPDATE in database shop, logged as a statement, cannot be published" in refusal(
            *group
        )
    else:
        assert len(receive(*group)) == 1


def test_dml_text_is_refused_by_the_databases_that_it_names_where_the_log_does_not() -> None:
    update = "UPDATE x.a AS o JOIN `shop`.orders SET o.b = 1"
    group = (gtid(), query("BEGIN"), query(update, "other"), XidEvent(1))
    assert refusal(*group) == text_of(
        changes_errors.STATEMENT,
        log_position="binlog.000001:1200",
        verb="UPDATE",
        schema="shop",
        transaction=f"{SOURCE}:5",
        rule=Message(changes_errors.BY_FORMAT_OR_VERSIONS, {}),
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "DELETE FROM orders WHERE note = 'secret' LIMIT 1",
            (
                "by R-log-statement-format (1), a session ran with binlog_format=STATEMENT, "
                "because MIXED logs rows for it (The statement is unsafe because it uses a LIMIT "
                "clause)"
            ),
        ),
        (
            "DELETE FROM orders WHERE note = 'secret'",
            (
                "by R-log-statement-format (1) or (2), a session ran with "
                "binlog_format=STATEMENT or MIXED"
            ),
        ),
        (
            "DELETE FROM `shop`.`orders`",
            (
                "by the rule for MEMORY tables, the server was restarted, and the table is empty "
                "since; or, by R-log-statement-format (1) or (2), a session ran with "
                "binlog_format=STATEMENT or MIXED"
            ),
        ),
    ],
)
def test_a_refused_text_names_the_rule_by_which_it_was_logged(text: str, rule: str) -> None:
    said = refusal(gtid(), query("BEGIN"), query(text, "shop", ["shop"]), XidEvent(1))
    assert said == (
        "binlog.000001:1200: DELETE in database shop, logged as a statement, cannot be published "
        f"without loss (transaction {SOURCE}:5); {rule}: SET GLOBAL binlog_format=ROW, take the "
        "right to change it from the application, repair the rows it touched, and continue after "
        "it: give the pipeline a new name and set source.start. Nothing from this transaction was "
        "published"
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("UPDATE orders SET a = 1", Message(changes_errors.BY_FORMAT_OR_VERSIONS, {})),
        (
            "UPDATE orders SET a = 1 LIMIT 1",
            Message(
                changes_errors.BY_STATEMENT_OR_VERSIONS,
                {"reasons": ["The statement is unsafe because it uses a LIMIT clause"]},
            ),
        ),
    ],
)
def test_a_refused_text_of_mariadb_may_be_one_of_a_table_with_versions(
    text: str, rule: Message
) -> None:
    # MariaDB does not list the databases.
    said = refusal(gtid(), query("BEGIN"), query(text, "shop"), XidEvent(1))
    assert f"; {rule.text}: SET GLOBAL binlog_format=ROW" in said


def test_dml_text_that_touched_more_databases_than_the_log_names_is_refused() -> None:
    body = query("DELETE FROM x.a", "other")
    body.status_variables.too_many_databases = True
    assert refusal(gtid(), query("BEGIN"), body, XidEvent(1)) == text_of(
        changes_errors.STATEMENT_OF_MANY,
        log_position="binlog.000001:1200",
        verb="DELETE",
        transaction=f"{SOURCE}:5",
        rule=Message(changes_errors.BY_EITHER_FORMAT, {}),
    )


XID = XaXid(1, b"one", b"")
XA_TEXT = "X'6f6e65',X'',1"


def xa(*inside: EventBody, end: EventBody | None = None) -> list[EventBody]:
    """Return what MySQL writes up to XA PREPARE, or up to another end."""
    ends = XaPrepareEvent(one_phase=False, xid=XID) if end is None else end
    return [gtid(), query(f"XA START {XA_TEXT}"), *inside, query(f"XA END {XA_TEXT}"), ends]


def test_rows_that_are_prepared_become_rows_of_the_group_that_commits_them() -> None:
    between: list[EventBody] = [gtid(6), query("BEGIN"), rows("lines"), XidEvent(1)]
    prepared, *middle, first, second, end = receive(
        *xa(rows(), rows()), *between, gtid(7), query(f"XA COMMIT {XA_TEXT}")
    )
    assert isinstance(prepared, TransactionEnd)
    assert prepared.prepared is not None
    assert [type(change) for change in middle] == [RowsChange, TransactionEnd]
    assert isinstance(first, RowsChange)
    assert isinstance(second, RowsChange)
    assert isinstance(end, TransactionEnd)
    assert first.transaction is second.transaction is end.transaction
    assert (first.transaction.id, end.outcome) == (f"{SOURCE}:7", XA_TEXT)
    # Where they are in the log, and in the order of the group in which they are.
    assert [(c.event.position, c.event_number) for c in (first, second)] == [(1200, 0), (1300, 1)]


def test_rows_that_mariadb_prepared_and_rolled_back_are_left_out() -> None:
    opened = MariadbGtidEvent(MariadbGtid(0, 1, 8), FL_PREPARED_XA, None, XID)
    ended = MariadbGtidEvent(MariadbGtid(0, 1, 9), FL_STANDALONE | FL_COMPLETED_XA, None, XID)
    changes = receive(
        opened,
        rows(),
        query(f"XA END {XA_TEXT}"),
        XaPrepareEvent(False, XID),
        ended,
        query(f"XA ROLLBACK {XA_TEXT}"),
    )
    assert [type(change) for change in changes] == [TransactionEnd, TransactionEnd]


def test_what_mariadb_writes_after_the_last_delivered_group_is_published_whatever_its_number() -> (
    None
):
    def group(domain: int, server: int, number: int) -> list[EventBody]:
        opened = MariadbGtidEvent(MariadbGtid(domain, server, number), 0, None)
        return [opened, rows(), XidEvent(1)]

    prepared = MariadbGtidEvent(MariadbGtid(0, 1, 90), FL_PREPARED_XA, None, XID)
    held: list[EventBody] = [
        prepared,
        rows(),
        query(f"XA END {XA_TEXT}"),
        XaPrepareEvent(False, XID),
    ]
    delivered = MariadbGtidSet.parse("0-1-100,5-1-100")
    # Without gtid_strict_mode, two servers can write the same numbers into one domain.
    changes = receive(
        *held,
        *group(0, 2, 95),
        *group(5, 2, 100),
        *group(0, 2, 105),
        *group(0, 1, 100),
        *group(0, 2, 100),
        *group(0, 2, 99),
        *group(5, 2, 99),
        earlier=EarlierGroups(reread=RedeliveredGroups(delivered, "", 4, {"0-1-90"})),
    )
    published = [change.transaction.id for change in changes if isinstance(change, RowsChange)]
    assert published == ["5-2-100", "0-2-100", "0-2-99", "5-2-99"]
    # The log of a server that went on without the last delivered group.
    changes = receive(
        *held,
        *group(0, 1, 99),
        *group(0, 1, 101),
        *group(0, 2, 100),
        earlier=EarlierGroups(reread=RedeliveredGroups(delivered, "", 4, {"0-1-90"})),
    )
    published = [change.transaction.id for change in changes if isinstance(change, RowsChange)]
    assert published == ["0-1-101", "0-2-100"]


def test_a_name_can_be_used_again_once_its_transaction_has_ended() -> None:
    first = [*xa(rows("a")), gtid(6), query(f"XA ROLLBACK {XA_TEXT}")]
    second = [*xa(rows("b")), gtid(7), query(f"XA COMMIT {XA_TEXT}")]
    changes = receive(*first, *second)
    assert [c.rows.table_map.table for c in changes if isinstance(c, RowsChange)] == ["b"]


def test_xa_commit_of_a_table_that_was_not_followed_when_it_was_prepared_is_refused() -> None:
    with pytest.raises(UnsupportedChange, match="XA COMMIT of rows that came before the stream"):
        receive(
            gtid(),
            query(f"XA COMMIT {XA_TEXT}"),
            earlier=EarlierGroups([PreparedGroup(XA_TEXT, None, [("shop", "orders")])]),
        )


def test_an_xa_transaction_that_is_committed_in_one_phase_is_published() -> None:
    changes = receive(*xa(rows(), end=XaPrepareEvent(one_phase=True, xid=XID)))
    assert [type(change) for change in changes] == [RowsChange, TransactionEnd]
    assert changes[0].transaction.thread_id == 9


@pytest.mark.parametrize("outcome", ["COMMIT", "ROLLBACK"])
def test_an_xa_transaction_of_other_tables_passes(outcome: str) -> None:
    second: list[EventBody] = [gtid(6), query(f"XA {outcome} {XA_TEXT}")]
    changes = receive(*xa(rows("user", "mysql")), *second)
    assert [type(change) for change in changes] == [TransactionEnd, TransactionEnd]


def test_xa_commit_of_what_was_prepared_before_the_stream_began_is_refused() -> None:
    assert refusal(gtid(), query(f"XA COMMIT {XA_TEXT}")) == (
        "binlog.000001:1100: XA COMMIT of rows that came before the stream began cannot be "
        f"published without loss (transaction {SOURCE}:5); if they are of followed tables, "
        "repair these; "
        "then continue after it: give the pipeline a new name and set source.start. Nothing from "
        "this transaction was published"
    )


def test_an_xa_statement_that_no_server_writes_into_its_log_is_refused() -> None:
    assert refusal(gtid(), query("XA RECOVER")) == text_of(
        changes_errors.XA_VERB,
        log_position="binlog.000001:1100",
        verb="RECOVER",
        transaction=f"{SOURCE}:5",
    )


def test_xa_rollback_of_what_was_prepared_before_the_stream_began_changes_nothing() -> None:
    changes = receive(gtid(), query(f"XA ROLLBACK {XA_TEXT}"))
    assert [type(change) for change in changes] == [TransactionEnd]


@pytest.mark.parametrize("flag", [FL_START_ALTER_E1, FL_ROLLBACK_ALTER_E1])
def test_an_alter_table_that_only_starts_changes_nothing_yet(flag: int) -> None:
    opened = MariadbGtidEvent(MariadbGtid(0, 1, 8), FL_STANDALONE, None, flags_extra=flag)
    changes = receive(opened, query("ALTER TABLE orders ADD COLUMN a INT"))
    assert [type(change) for change in changes] == [TransactionEnd]


def test_an_alter_table_in_two_phases_counts_when_it_is_committed() -> None:
    flag = FL_COMMIT_ALTER_E1
    opened = MariadbGtidEvent(MariadbGtid(0, 1, 8), FL_STANDALONE, None, flags_extra=flag)
    changes = receive(opened, query("ALTER TABLE orders ADD COLUMN a INT"))
    assert [type(change) for change in changes] == [StatementChange, TransactionEnd]


class Inside:
    """Events that a payload holds, decoded."""

    def __init__(self, bodies: list[EventBody]) -> None:
        self.bodies = bodies

    def open(self, data: bytes, number: int) -> Event:
        return event(self.bodies[number - 1], 1100, 1200, len(data))


def test_compressed_rows_are_counted_as_if_they_were_not() -> None:
    bodies: list[EventBody] = [query("BEGIN"), rows(), rows("lines"), XidEvent(1)]
    data = (bytes(9) + (19).to_bytes(4, "little") + bytes(6)) * len(bodies)
    payload = TransactionPayloadEvent(
        TransactionPayload(CompressionType.NONE, len(data), len(data), 0, data, 0),
        "binlog.000001",
        1100,
        lambda: Inside(bodies).open,
    )
    first, second, end = receive(gtid(), payload)
    assert isinstance(first, RowsChange)
    assert isinstance(second, RowsChange)
    assert (first.event_number, second.event_number) == (0, 1)
    assert (first.transaction.position, first.event.position) == (1000, 1100)
    assert isinstance(end, TransactionEnd)
    assert end.next_position == 1200


def test_the_fragments_of_a_rows_event_count_once() -> None:
    fragments = [
        PartialRowDataEvent(2, 1, 0, None, b"a"),
        PartialRowDataEvent(2, 2, 0, None, b"b", rows()),
    ]
    changes = receive(gtid(), query("BEGIN"), *fragments, rows(), XidEvent(1))
    assert [c.event_number for c in changes if isinstance(c, RowsChange)] == [0, 1]


def test_rows_outside_a_transaction_are_an_error() -> None:
    with pytest.raises(ProtocolError) as caught:
        receive(rows())
    assert caught.value.text == text_of(
        changes_errors.OUTSIDE_TRANSACTION,
        log_position="binlog.000001:1000",
        event_name="WRITE_ROWS_EVENT",
    )


def test_a_transaction_inside_another_is_an_error() -> None:
    with pytest.raises(ProtocolError) as caught:
        receive(gtid(), query("BEGIN"), rows(), gtid(6))
    assert caught.value.text == text_of(
        changes_errors.NESTED_TRANSACTION,
        log_position="binlog.000001:1300",
        file="binlog.000001",
        position=1000,
    )


def load(table: str = "orders", schema: str = "shop") -> LoadEvent:
    separators = LoadFormat(b",", b"", b"\n", b"", b"\\", LoadFlag(0))
    return LoadEvent(9, 0, 0, schema, table, [], separators, "f.txt")


def created(table: str = "orders") -> CreateFileEvent:
    separators = LoadFormat(b",", b"", b"\n", b"", b"\\", LoadFlag(0))
    return CreateFileEvent(9, 0, 0, "shop", table, [], separators, "f.txt", 7, b"1\n")


def execute_load(schema: str = "shop") -> ExecuteLoadQueryEvent:
    text = "LOAD DATA INFILE 'f' INTO TABLE orders"
    variables = StatusVariables()
    replace = DuplicateHandling.REPLACE
    statement = QueryEvent(9, 0, 0, schema, variables, text.encode(), text)
    return ExecuteLoadQueryEvent(statement, 7, 10, 20, replace)


def test_an_incident_is_refused_wherever_it_comes() -> None:
    assert refusal(IncidentEvent(1, "disk full")) == (
        "binlog.000001:1000: the server's report of an incident, LOST_EVENTS (disk full), "
        "cannot be published without loss (transaction none); changes may be missing from its "
        "log, so copy the followed tables again, and continue after it: give the pipeline a "
        "new name and set "
        "source.start. Nothing from this transaction was published"
    )
    inside = refusal(gtid(), query("BEGIN"), IncidentEvent(66, ""))
    assert "the server's report of an incident, UNKNOWN, cannot be published" in inside


@pytest.mark.parametrize("body", [load(), created()])
def test_a_load_of_an_old_server_into_a_followed_table_is_refused(body: EventBody) -> None:
    assert refusal(body) == text_of(
        changes_errors.LOAD_DATA,
        log_position="binlog.000001:1000",
        database="shop",
        table="orders",
        transaction="none",
        rule=Message(changes_errors.BY_EITHER_FORMAT, {}),
    )


def test_a_load_logged_as_a_statement_is_refused_by_its_text() -> None:
    said = refusal(gtid(), query("BEGIN"), BeginLoadQueryEvent(7, b"1\n"), execute_load())
    assert "LOAD in database shop, logged as a statement, cannot be published without loss" in said


def test_statements_of_databases_that_are_not_followed_pass_with_their_context() -> None:
    context: list[EventBody] = [
        IntvarEvent(2, 7),
        RandEvent(1, 2),
        UserVarEvent("v", UserVarType.INT, 63, 1, False, None, b"\x01" + bytes(7), b""),
        BeginLoadQueryEvent(7, b"1\n"),
        AppendBlockEvent(7, b"2\n"),
        DeleteFileEvent(7),
    ]
    end = execute_load("crm")
    assert len(receive(gtid(), query("BEGIN"), *context, end, XidEvent(1))) == 1
    assert (
        receive(load("x", "crm"), created("secret"), AppendBlockEvent(7, b""), ExecLoadEvent(7))
        == []
    )
