from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import zstandard

from connector.binlog.columns.column import JsonDiff, JsonDiffs, JsonOperation
from connector.binlog.gtid import Gtid
from connector.binlog.header import EventType
from connector.binlog.log_errors import LogTruncated
from connector.foundation.errors import ConfigError
from connector.reader import open_binlog
from tests.binlog.files.log_files import SERVER, LogFile, image, rows_head, three_transactions

if TYPE_CHECKING:
    from pathlib import Path

    from connector.reader import RowChange

LOG = three_transactions()


def test_a_transaction_says_what_the_source_committed() -> None:
    with open_binlog(LOG.data, name="binlog.000007") as log:
        found = []
        ends = []
        for transaction in log.transactions():
            ends.append(transaction.ended)
            types = [each.header.type_code for each in transaction.events()]
            assert types == [33, 2, 19, 30, 16]
            ends.append(transaction.ended)
            found.append(
                (
                    transaction.gtid,
                    transaction.file,
                    transaction.position,
                    transaction.next_position,
                    transaction.timestamp,
                    transaction.server_id,
                    transaction.thread_id,
                )
            )
    assert ends == [False, True] * 3
    starts = [*LOG.positions[1::5], len(LOG.data)]
    assert found == [
        (
            Gtid(SERVER, number),
            "binlog.000007",
            starts[number - 1],
            starts[number],
            datetime.fromtimestamp(number * 100, UTC),
            1,
            7,
        )
        for number in (1, 2, 3)
    ]


def test_what_is_not_read_of_a_transaction_is_passed_over() -> None:
    with open_binlog(LOG.data) as log:
        positions = [transaction.position for transaction in log.transactions()]
    assert positions == LOG.positions[1::5]


def test_what_is_asked_for_again_continues_after_what_was_read() -> None:
    with open_binlog(LOG.data) as log:
        assert next(log.transactions()).gtid == Gtid(SERVER, 1)
        changes = log.row_changes()
        assert [next(changes).after, next(log.row_changes()).after] == [
            {"id": 2, "name": "b"},
            {"id": 4, "name": "d"},
        ]
        assert list(log.transactions()) == []
    with open_binlog(LOG.data) as log:
        first = next(iter(log))
        assert [first.position, *(each.position for each in log)] == LOG.positions


def test_rows_that_were_passed_over_are_not_taken_for_none() -> None:
    with open_binlog(LOG.data, name="binlog.000007") as log:
        transactions = list(log.transactions())
    assert all(transaction.ended for transaction in transactions)
    for transaction in transactions:
        with pytest.raises(ConfigError) as raised:
            list(transaction.row_changes())
        assert raised.value.text == (
            f"binlog.000007:{transaction.position}: the events of this transaction were "
            "skipped; read them before you ask for the next transaction"
        )


def test_a_transaction_that_has_been_read_does_not_read_of_the_next() -> None:
    with open_binlog(LOG.data) as log:
        transactions = log.transactions()
        first = next(transactions)
        events = first.events()
        assert [next(events).position for _ in range(5)] == LOG.positions[1:6]
        second = next(transactions)
        assert list(events) == []
        assert [change.after for change in second.row_changes()] == [
            {"id": 2, "name": "b"},
            {"id": 3, "name": "c"},
        ]


def test_a_changed_row_has_the_names_of_its_columns() -> None:
    with open_binlog(LOG.data, name="binlog.000007") as log:
        changes = list(log.row_changes())
    assert [(each.op, each.before, each.after, each.seq) for each in changes] == [
        ("insert", None, {"id": 1, "name": "a"}, 0),
        ("insert", None, {"id": 2, "name": "b"}, 0),
        ("insert", None, {"id": 3, "name": "c"}, 1),
        ("insert", None, {"id": 4, "name": "d"}, 0),
    ]
    last = changes[-1]
    assert (last.database, last.table, last.gtid) == ("db", "t", Gtid(SERVER, 3))
    assert (last.file, last.position) == ("binlog.000007", LOG.positions[-2])
    assert last.timestamp == datetime.fromtimestamp(300, UTC)


def test_an_update_has_both_images_and_a_delete_the_one_before() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    log.add(
        EventType.UPDATE_ROWS_EVENT,
        rows_head(before=b"\3", after=b"\3") + image(1, "a") + image(2, "b"),
    )
    log.table_map()
    log.add(EventType.DELETE_ROWS_EVENT, rows_head(before=b"\3") + image(2, "b"))
    log.query("COMMIT")
    with open_binlog(log.data) as reader:
        assert [(each.op, each.before, each.after, each.seq) for each in reader.row_changes()] == [
            ("update", {"id": 1, "name": "a"}, {"id": 2, "name": "b"}, 0),
            ("delete", {"id": 2, "name": "b"}, None, 1),
        ]


def test_a_column_that_an_image_leaves_out_is_not_in_the_row() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    log.add(
        EventType.UPDATE_ROWS_EVENT,
        rows_head(before=b"\1", after=b"\2") + b"\0\1\0\0\0" + b"\0\1z",
    )
    log.query("COMMIT")
    with open_binlog(log.data) as reader:
        (change,) = reader.row_changes()
    assert (change.before, change.after) == ({"id": 1}, {"name": "z"})


@pytest.fixture
def nameless() -> bytes:
    log = LogFile()
    log.query("BEGIN")
    log.table_map(optional=b"\3\1\x2d")
    log.insert((1, "a"))
    log.query("COMMIT")
    return log.data


def test_without_names_in_the_log_columns_have_the_names_of_mysqlbinlog(nameless: bytes) -> None:
    with open_binlog(nameless) as log:
        assert [change.after for change in log.row_changes()] == [{"@1": 1, "@2": "a"}]


def test_names_may_be_given_for_a_log_without_them(nameless: bytes) -> None:
    schemas = {"db.t": ["number", "text"], "db.u": ["x"]}
    with open_binlog(nameless) as log:
        changes = log.row_changes(schemas=schemas)
        assert [change.after for change in changes] == [{"number": 1, "text": "a"}]
    with open_binlog(LOG.data) as log:
        first = next(log.row_changes(schemas=schemas))
    # The log knows better.
    assert first.after == {"id": 1, "name": "a"}


def test_names_for_another_number_of_columns_are_refused(nameless: bytes) -> None:
    with open_binlog(nameless) as log, pytest.raises(ConfigError) as raised:
        list(log.row_changes(schemas={"db.t": ["id"]}))
    assert raised.value.text == (
        "schemas has 1 columns of db.t, but the log has 2; give the columns that the table had "
        "when its rows were written"
    )


def test_the_rows_of_a_compressed_transaction_are_there(shared_binlogs: Path) -> None:
    path = shared_binlogs / "recorded" / "transaction_compression.000001"
    with open_binlog(path) as log:
        transaction = next(log.transactions())
        types = [each.header.type_code for each in transaction.events()]
    # Neither the payload nor what is behind it.
    assert types == [34, 2, 19, 30, 16]
    assert (transaction.position, transaction.next_position, transaction.ended) == (197, 431, True)
    assert transaction.thread_id == 107
    with open_binlog(path) as log:
        (change,) = log.row_changes()
    assert change.op == "insert"


def partial_update(before: bytes, before_image: bytes) -> bytes:
    """A log that sets member `a` of the document `doc` to 1."""
    log = LogFile()
    log.query("BEGIN")
    body = (42).to_bytes(6, "little") + b"\1\0\2db\0\1t\0\2\3\xf5\1\4\3"
    log.add(EventType.TABLE_MAP_EVENT, body + b"\4\7\2id\3doc")
    diff = b"\0\3$.a\3\5\1\0"
    partial = b"\1\1" + b"\0" + len(diff).to_bytes(4, "little") + diff
    log.add(
        EventType.PARTIAL_UPDATE_ROWS_EVENT,
        rows_head(before=before, after=b"\2") + before_image + partial,
    )
    log.query("COMMIT")
    return log.data


def test_a_partial_update_of_a_document_becomes_the_whole_one() -> None:
    document = b"\0\1\0\x0c\0\x0b\0\1\0\5\0\0a"
    size = len(document).to_bytes(4, "little")
    with open_binlog(partial_update(b"\3", b"\0\7\0\0\0" + size + document)) as log:
        (change,) = log.row_changes()
    assert change.before == {"id": 7, "doc": '{"a": 0}'}
    assert change.after == {"doc": '{"a": 1}'}


def test_changes_of_a_document_that_the_log_does_not_have_stay_changes() -> None:
    # With binlog_row_image=MINIMAL the image before has the key alone.
    with open_binlog(partial_update(b"\1", b"\0\7\0\0\0")) as log:
        (change,) = log.row_changes()
    assert change.before == {"id": 7}
    assert change.after == {"doc": JsonDiffs((JsonDiff(JsonOperation.REPLACE, "$.a", "1"),))}


def test_a_transaction_that_the_log_does_not_end_is_said_not_to_have_ended() -> None:
    with open_binlog(LOG.data[: LOG.positions[-1]]) as log:
        *_, (last, rows) = ((each, len(list(each.row_changes()))) for each in log.transactions())
    assert (last.gtid, last.ended, rows) == (Gtid(SERVER, 3), False, 1)
    assert last.next_position == LOG.positions[-1]


def test_a_transaction_without_an_end_ends_where_the_next_begins() -> None:
    log = LogFile()
    log.gtid()
    log.query("BEGIN")
    second = log.gtid()
    log.query("DROP TABLE t")
    with open_binlog(log.data) as reader:
        found = [
            (each.position, len(list(each.events())), each.ended) for each in reader.transactions()
        ]
    assert found == [(log.positions[1], 2, False), (second, 2, True)]


def test_statements_without_gtids_are_transactions_of_their_own() -> None:
    log = LogFile()
    positions = [log.query("CREATE TABLE t (id INT)"), log.query("DROP TABLE t")]
    log.rotate("binlog.000008")
    with open_binlog(log.data) as reader:
        found = [(each.position, each.gtid, each.thread_id) for each in reader.transactions()]
    assert found == [(positions[0], None, 7), (positions[1], None, 7)]


def test_a_truncated_log_gives_its_rows_before_the_error() -> None:
    changes: list[RowChange] = []
    with open_binlog(LOG.data[:-1]) as log, pytest.raises(LogTruncated):
        changes.extend(log.row_changes())
    assert len(changes) == 4


def test_a_transaction_of_any_size_is_read_in_bounded_memory() -> None:
    log = LogFile()
    log.gtid()
    log.query("BEGIN")
    start = len(log.data)
    log.table_map()
    log.insert(*((number, "x" * 20) for number in range(1000)))
    statements = 2000
    # 50 MB of rows.
    packed = zstandard.compress(log.data[:start] + statements * log.data[start:])
    tracemalloc.start()
    try:
        with open_binlog(packed) as reader:
            (counts,) = (sum(1 for _ in each.events()) for each in reader.transactions())
        assert counts == 2 + 2 * statements
        assert tracemalloc.get_traced_memory()[1] < 24 * 1024 * 1024
    finally:
        tracemalloc.stop()
