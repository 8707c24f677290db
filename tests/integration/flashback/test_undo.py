"""Which changes are undone, in which order, and what cannot be."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from connector.binlog.event import Event
from connector.binlog.events.load import CreateFileEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.transaction import XaPrepareEvent, XaXid
from connector.binlog.header import EventType
from connector.foundation.errors import UnsupportedChange
from connector.logs import undo_errors
from connector.logs.flashback.undo import SESSION
from tests.logs.flashback.undone import sql_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from connector.binlog.event import EventBody
    from tests.binlog.source_log import SourceLog

    DecodeFile = Callable[[str], Iterator[Event]]

pytestmark = pytest.mark.server

XA_PREPARE = EventType.XA_PREPARE_LOG_EVENT


def undone(events: Iterable[Event], *omitted: str) -> list[str]:
    """Return the statements behind those of the session, without their titles."""
    lines = sql_of(events, *omitted).split("\n")
    assert tuple(lines[: len(SESSION)]) == SESSION
    return [line for line in lines[len(SESSION) :] if line and not line.startswith("--")]


def refusal(log: SourceLog, *omitted: str) -> str:
    """Return the error, with FILE, POS and DB for what differs from run to run."""
    with pytest.raises(UnsupportedChange) as caught:
        undone(log.events(), *omitted)
    schema = str(log.execute("SELECT DATABASE()")[0][0])
    return re.sub(r"^\S+?:\d+: ", "FILE:POS: ", caught.value.text).replace(schema, "DB")


def instead_of(event: Event, event_type: EventType, body: EventBody) -> Event:
    """Return an event of another type at the same position."""
    header = replace(event.header, type_code=event_type)
    return Event(event.file, event.position, event.next_position, header, body, event.data)


def make_table(log: SourceLog, definition: str = "id INT PRIMARY KEY, v VARCHAR(9)") -> str:
    log.execute(f"CREATE TABLE t ({definition})")
    schema = str(log.execute("SELECT DATABASE()")[0][0])
    return f"`{schema}`.`t`"


def test_transactions_and_their_rows_are_undone_backwards(source_log: SourceLog) -> None:
    log = source_log
    t = make_table(log)
    log.execute("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    log.execute("BEGIN")
    log.execute("UPDATE t SET v = 'b'")
    log.execute("DELETE FROM t WHERE id = 2")
    log.execute("COMMIT")
    assert undone(log.events()) == [
        "BEGIN;",
        f"INSERT INTO {t} (`id`, `v`) VALUES (2, 'b');",
        f"UPDATE {t} SET `id` = 2, `v` = NULL WHERE `id` = 2 LIMIT 1;",
        f"UPDATE {t} SET `id` = 1, `v` = 'a' WHERE `id` = 1 LIMIT 1;",
        "COMMIT;",
        "BEGIN;",
        f"DELETE FROM {t} WHERE `id` = 2 LIMIT 1;",
        f"DELETE FROM {t} WHERE `id` = 1 LIMIT 1;",
        "COMMIT;",
    ]


def test_a_title_says_where_and_when_a_transaction_was(mysql_log: SourceLog) -> None:
    make_table(mysql_log)
    mysql_log.events()
    mysql_log.execute("SET TIMESTAMP = 1500000000")
    mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    events = mysql_log.events()
    (title,) = re.findall(r"\n-- .*\nBEGIN;", sql_of(events))
    place = f"{events[0].file}:{events[0].position}"
    assert re.fullmatch(
        rf"\n-- {place}, 2017-07-14 02:40:00 UTC, [0-9a-f-]{{36}}:\d+\nBEGIN;", title
    )


def test_the_name_of_a_file_cannot_end_its_comment(mysql_log: SourceLog) -> None:
    make_table(mysql_log)
    mysql_log.events()
    mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    events = (event.in_file("f\nDROP TABLE t;") for event in mysql_log.events())
    lines = sql_of(events).split("\n")
    assert [line for line in lines if "DROP" in line and not line.startswith("-- ")] == []


def test_compressed_transactions_are_undone(mysql_log: SourceLog) -> None:
    t = make_table(mysql_log)
    mysql_log.execute("SET binlog_transaction_compression = ON")
    mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    assert undone(mysql_log.events()) == [
        "BEGIN;",
        f"DELETE FROM {t} WHERE `id` = 1 LIMIT 1;",
        "COMMIT;",
    ]


def test_partial_updates_of_json_are_undone(mysql_log: SourceLog) -> None:
    t = make_table(mysql_log, "j JSON")
    mysql_log.execute("""INSERT INTO t VALUES ('{"a": 1, "b": "long enough to be partial"}')""")
    mysql_log.events()
    mysql_log.execute("SET binlog_row_value_options = PARTIAL_JSON")
    mysql_log.execute("UPDATE t SET j = JSON_SET(j, '$.a', 2)")
    before, after = (f'{{"a": {n}, "b": "long enough to be partial"}}' for n in (1, 2))
    assert undone(mysql_log.events()) == [
        "BEGIN;",
        (
            f"UPDATE {t} SET `j` = CAST('{before}' AS JSON) "
            f"WHERE CAST(`j` AS CHAR) COLLATE utf8mb4_bin = '{after}' LIMIT 1;"
        ),
        "COMMIT;",
    ]


def test_a_document_with_a_decimal_of_66_digits_is_refused(mysql_log: SourceLog) -> None:
    make_table(mysql_log, "j JSON")
    mysql_log.execute(f"INSERT INTO t VALUES (CAST({'9' * 35}.{'9' * 31} AS JSON))")
    mysql_log.events()
    mysql_log.execute("DELETE FROM t")
    assert refusal(mysql_log).endswith(
        "a JSON document holds a DECIMAL of 67 characters, which its text does not bring back; "
        "undo this transaction by hand"
    )


def test_columns_without_a_blob_are_enough_where_it_did_not_change(mysql_log: SourceLog) -> None:
    t = make_table(mysql_log, "id INT PRIMARY KEY, v INT, b BLOB")
    mysql_log.execute("INSERT INTO t VALUES (1, 1, 'x')")
    mysql_log.events()
    mysql_log.execute("SET binlog_row_image = NOBLOB")
    mysql_log.execute("UPDATE t SET v = 2")
    assert undone(mysql_log.events()) == [
        "BEGIN;",
        f"UPDATE {t} SET `id` = 1, `v` = 1 WHERE `id` = 1 LIMIT 1;",
        "COMMIT;",
    ]


def test_a_value_that_the_image_does_not_repeat_has_not_changed(mariadb_log: SourceLog) -> None:
    t = make_table(mariadb_log, "id INT, v INT")
    mariadb_log.execute("INSERT INTO t VALUES (1, 1)")
    mariadb_log.events()
    mariadb_log.execute("SET binlog_row_image = FULL_NODUP")
    mariadb_log.execute("UPDATE t SET v = 2")
    assert undone(mariadb_log.events()) == [
        "BEGIN;",
        f"UPDATE {t} SET `id` = 1, `v` = 1 WHERE `id` = 1 AND `v` = 2 LIMIT 1;",
        "COMMIT;",
    ]


def test_generated_columns_can_be_left_out(source_log: SourceLog) -> None:
    log = source_log
    t = make_table(log, "id INT PRIMARY KEY, g INT AS (id + 1) STORED")
    log.execute("INSERT INTO t (id) VALUES (1)")
    log.events()
    log.execute("DELETE FROM t")
    column = t.replace("`", "") + ".g"
    statements = undone(log.events(), column)
    assert statements[1] == f"INSERT INTO {t} (`id`) VALUES (1);"
    log.execute(statements[1])
    assert log.execute("SELECT * FROM t") == ((1, 2),)


@pytest.mark.parametrize(
    ("columns", "omitted"),
    [
        ("id INT, n INT, g INT AS (id + 1) STORED", "g"),
        ("id INT, n INT, g INT AS (id + 1) VIRTUAL", "g"),
        ("id INT, n INT, v TEXT, UNIQUE (v)", "DB_ROW_HASH_1"),
    ],
)
def test_rows_of_a_table_without_a_key_are_undone_without_columns_that_the_log_lacks(
    mariadb_log: SourceLog, columns: str, omitted: str
) -> None:
    log = mariadb_log
    t = make_table(log, columns)
    log.execute("INSERT INTO t (id, n) VALUES (1, 1)")
    log.events()
    log.execute("UPDATE t SET n = 2")
    column = f"{t.replace('`', '')}.{omitted}"
    events = log.events()
    for statement in undone(events, column):
        log.execute(statement)
    assert log.execute("SELECT id, n FROM t") == ((1, 1),)
    log.events()
    log.execute("DELETE FROM t")
    for statement in undone(log.events(), column):
        log.execute(statement)
    assert log.execute("SELECT id, n FROM t") == ((1, 1),)


def test_hidden_columns_of_a_functional_index_are_left_out(mysql_log: SourceLog) -> None:
    t = make_table(mysql_log, "id INT, INDEX ((id + 1))")
    mysql_log.execute("INSERT INTO t VALUES (1)")
    assert undone(mysql_log.events())[1] == f"DELETE FROM {t} WHERE `id` = 1 LIMIT 1;"


def test_a_transaction_that_does_not_end_is_left_out(mysql_log: SourceLog) -> None:
    make_table(mysql_log)
    mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    mysql_log.execute("INSERT INTO t VALUES (2, 'b')")
    events = mysql_log.events()
    assert undone(events[:-1]) == undone(events[: events.index(events[-1]) - 4])
    # Nor is one that a server left behind, and another one follows.
    last = events[-5:]
    assert undone([*events[:-1], *last]) == undone(events)


def test_ddl_after_the_rows_of_its_table_is_refused(source_log: SourceLog) -> None:
    make_table(source_log)
    source_log.execute("INSERT INTO t VALUES (1, 'a')")
    source_log.execute("ALTER TABLE t ADD COLUMN x INT")
    assert refusal(source_log) == (
        "FILE:POS: cannot undo ALTER TABLE on DB.t, after row changes that are selected; select "
        "changes after it alone (--start-position), or other tables"
    )


@pytest.mark.parametrize(
    ("statement", "kind"),
    [("TRUNCATE t", "TRUNCATE TABLE"), ("DROP TABLE t", "DROP TABLE"), ("RENAME TABLE t TO u", "")],
)
def test_what_takes_the_rows_away_is_refused(
    mysql_log: SourceLog, statement: str, kind: str
) -> None:
    make_table(mysql_log)
    mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    mysql_log.execute(statement)
    assert refusal(mysql_log).startswith(f"FILE:POS: cannot undo {kind or 'RENAME TABLE'} on DB.t,")


def test_a_database_that_is_replaced_loses_its_rows(mariadb_log: SourceLog) -> None:
    make_table(mariadb_log)
    mariadb_log.execute("INSERT INTO t VALUES (1, 'a')")
    schema = str(mariadb_log.execute("SELECT DATABASE()")[0][0])
    mariadb_log.execute(f"CREATE OR REPLACE DATABASE {schema}")
    mariadb_log.execute(f"USE {schema}")
    assert refusal(mariadb_log).startswith("FILE:POS: cannot undo DROP DATABASE on DB.t,")


def test_ddl_on_other_tables_and_before_the_rows_is_passed(mysql_log: SourceLog) -> None:
    make_table(mysql_log)
    mysql_log.execute("ALTER TABLE t ADD COLUMN x INT")
    mysql_log.execute("INSERT INTO t VALUES (1, 'a', 2)")
    mysql_log.execute("CREATE TABLE u (id INT)")
    mysql_log.execute("DROP TABLE u")
    assert len(undone(mysql_log.events())) == 3


def test_rows_whose_columns_have_no_names_are_refused(mysql_log: SourceLog) -> None:
    make_table(mysql_log)
    mysql_log.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
    try:
        mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    finally:
        mysql_log.execute("SET GLOBAL binlog_row_metadata = FULL")
    assert refusal(mysql_log) == (
        "FILE:POS: the log does not name the columns of DB.t; only what was written with "
        "binlog_row_metadata=FULL can be undone"
    )


@pytest.mark.parametrize("change", ["UPDATE t SET v = 'b'", "DELETE FROM t"])
def test_rows_that_are_not_whole_are_refused(source_log: SourceLog, change: str) -> None:
    make_table(source_log)
    source_log.execute("INSERT INTO t VALUES (1, 'a')")
    source_log.events()
    source_log.execute("SET binlog_row_image = MINIMAL")
    source_log.execute(change)
    assert refusal(source_log) == (
        "FILE:POS: a row of DB.t cannot be undone: its image lacks column v; if it is a generated "
        "column, or the hash of a unique key, leave it out (--omit-column); otherwise, only what "
        "was written with binlog_row_image=FULL can be undone"
    )


def test_a_change_that_was_logged_as_a_statement_is_refused(decode_file: DecodeFile) -> None:
    with pytest.raises(UnsupportedChange) as caught:
        undone(decode_file("recorded/bug11747887-bin.000003"))
    assert caught.value.text == (
        "bug11747887-bin.000003:447: cannot undo INSERT, logged as a statement, so that "
        "which rows it changed is not in the log; select changes after it alone "
        "(--start-position), or other tables"
    )


def test_a_load_that_was_logged_as_a_statement_is_refused(decode_file: DecodeFile) -> None:
    events = decode_file("recorded/binlog_old_version_4_1.000001")
    with pytest.raises(UnsupportedChange) as caught:
        undone(event for event in events if isinstance(event.body, CreateFileEvent))
    assert caught.value.code is undo_errors.LOAD


def test_an_incident_is_refused(decode_file: DecodeFile) -> None:
    with pytest.raises(UnsupportedChange) as caught:
        undone(decode_file("recorded/bug40482-bin.000001"))
    assert caught.value.text.startswith(
        "bug40482-bin.000001:106: cannot undo an incident: the server reports that changes may be "
        "missing; select changes after it alone"
    )


@pytest.mark.parametrize(
    ("query", "named"), [("ROLLBACK", "ROLLBACK"), ("ROLLBACK TO `s`", "ROLLBACK TO SAVEPOINT")]
)
def test_rows_that_a_rollback_may_have_left_are_refused(
    mysql_log: SourceLog, query: str, named: str
) -> None:
    make_table(mysql_log)
    mysql_log.events()
    mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    gtid, begin, table_map, rows, xid = mysql_log.events()
    assert isinstance(begin.body, QueryEvent)
    body = replace(begin.body, query=query, query_bytes=query.encode())
    rollback = instead_of(xid, EventType.QUERY_EVENT, body)
    with pytest.raises(UnsupportedChange) as caught:
        undone([gtid, begin, table_map, rows, rollback])
    assert caught.value.text == (
        f"{xid.file}:{xid.position}: cannot undo {named} after row changes: which of them "
        "stayed is not in the log; select changes after it alone (--start-position), or other "
        "tables"
    )


def test_a_prepared_xa_transaction_is_refused_and_one_of_one_phase_is_not(
    mysql_log: SourceLog,
) -> None:
    t = make_table(mysql_log)
    mysql_log.events()
    mysql_log.execute("INSERT INTO t VALUES (1, 'a')")
    *events, xid = mysql_log.events()
    name = XaXid(1, b"x", b"")
    with pytest.raises(UnsupportedChange) as caught:
        undone([*events, instead_of(xid, XA_PREPARE, XaPrepareEvent(False, name))])
    assert caught.value.text == (
        f"{xid.file}:{xid.position}: cannot undo an XA transaction, whose outcome stands elsewhere "
        "in the log; select changes after it alone (--start-position), or other tables"
    )
    statements = undone([*events, instead_of(xid, XA_PREPARE, XaPrepareEvent(True, name))])
    assert statements == ["BEGIN;", f"DELETE FROM {t} WHERE `id` = 1 LIMIT 1;", "COMMIT;"]
