from __future__ import annotations

import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connector.binlog.columns.column import ColumnType
from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError
from connector.foundation.errors import ConfigError
from connector.reader import open_binlog, open_binlogs
from tests.binlog.files.log_files import (
    COLUMNS,
    SERVER,
    LogFile,
    image,
    rows_head,
    three_transactions,
)
from tests.binlog.log_bytes import table_map, tlv

LOG = three_transactions()
GOLDEN = Path(__file__).parents[2] / "golden" / "files"


def test_rows_become_batches_with_their_change_before_them() -> None:
    with open_binlog(LOG.data, name="binlog.000007") as log:
        (found,) = log.to_arrow()
    assert (found.database, found.table) == ("db", "t")
    assert found.batch.schema.names == [
        *("_op", "_image", "_file", "_pos", "_gtid", "_timestamp", "_seq", "_absent"),
        *("id", "name"),
    ]
    assert found.batch.to_pylist()[2] == {
        "_op": "insert",
        "_image": "after",
        "_file": "binlog.000007",
        "_pos": LOG.positions[9],
        "_gtid": f"{SERVER}:2",
        "_timestamp": datetime.fromtimestamp(200, UTC),
        "_seq": 1,
        "_absent": None,
        "id": 3,
        "name": "c",
    }
    assert found.batch.column("id").to_pylist() == [1, 2, 3, 4]


def test_an_update_is_two_rows_and_what_an_image_leaves_out_is_named() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    log.add(
        EventType.UPDATE_ROWS_EVENT,
        rows_head(before=b"\1", after=b"\2") + b"\0\1\0\0\0" + b"\1",
    )
    log.query("COMMIT")
    with open_binlog(log.data) as reader:
        (found,) = reader.to_arrow()
    images = found.batch.select(["_op", "_image", "_seq", "_absent", "id", "name"]).to_pylist()
    assert images == [
        {
            "_op": "update",
            "_image": "before",
            "_seq": 0,
            "_absent": ["name"],
            "id": 1,
            "name": None,
        },
        {
            "_op": "update",
            "_image": "after",
            "_seq": 0,
            "_absent": ["id"],
            "id": None,
            "name": None,
        },
    ]


def test_batches_have_the_size_that_is_asked_for() -> None:
    with open_binlog(LOG.data) as log:
        assert [found.batch.num_rows for found in log.to_arrow(batch_rows=3)] == [3, 1]
    with open_binlog(LOG.data) as log:
        assert [found.batch.num_rows for found in log.to_arrow(batch_rows=1)] == [1, 1, 1, 1]


def other_table() -> bytes:
    return table_map(COLUMNS, tlv(4, b"\2id\4name") + tlv(3, b"\x2d")).replace(
        b"\1t\0", b"\1u\0", 1
    )


def test_batches_are_of_one_table_and_the_largest_comes_first() -> None:
    log = LogFile()
    log.gtid()
    log.query("BEGIN")
    log.table_map()
    log.insert((1, "a"))
    log.add(EventType.TABLE_MAP_EVENT, other_table())
    log.insert((2, "b"), (3, "c"))
    log.query("COMMIT")
    with open_binlog(log.data) as reader:
        found = [(each.table, each.batch.column("_seq").to_pylist()) for each in reader.to_arrow()]
    assert found == [("t", [0]), ("u", [1, 2])]
    with open_binlog(log.data) as reader:
        assert [each.table for each in reader.to_arrow(batch_rows=3)] == ["u", "t"]
    with open_binlog(log.data) as reader:
        # The rows of other tables count all the same.
        found = [
            (each.table, each.batch.column("_seq").to_pylist()) for each in reader.to_arrow(["*.u"])
        ]
    assert found == [("u", [1, 2])]


def test_what_is_held_is_counted_as_it_was_before_it_was_compressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = b"".join(image(number, "x" * 200) for number in range(1000))
    record = b"\x83" + len(rows).to_bytes(3, "big") + zlib.compress(rows)
    log = LogFile()
    log.query("BEGIN")
    for _ in range(2):
        log.table_map()
        head = (42).to_bytes(6, "little") + b"\1\0\2\3"
        log.add(EventType.WRITE_ROWS_COMPRESSED_EVENT_V1, head + record)
    log.query("COMMIT")
    assert len(log.data) < len(rows)
    monkeypatch.setattr("connector.binlog.arrow.batches._BYTES_MAX", len(rows))
    with open_binlog(log.data) as reader:
        assert [found.batch.num_rows for found in reader.to_arrow()] == [740, 740, 520]


def deflated(text: bytes) -> bytes:
    """Return a value of a column VARCHAR(60000) COMPRESSED."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = b"\x8a" + len(text).to_bytes(2, "big") + packer.compress(text) + packer.flush()
    return len(packed).to_bytes(2, "little") + packed


WIDE = [(ColumnType.LONG, b"")] * 200
PACKED: list[tuple[ColumnType, bytes]] = [(ColumnType.VARCHAR_COMPRESSED, b"\x60\xea")]


@pytest.mark.parametrize(
    ("columns", "rows", "length"),
    [
        # What one row takes in the arrays: a number and a flag for each NULL, or a name.
        pytest.param(WIDE, b"\xff" * 25 + b"\xff" * 25, 200 * 12, id="null"),
        pytest.param(WIDE, b"\1" + bytes(24) + b"\1", 200 * 12 + 199 * 8, id="absent"),
        pytest.param(PACKED, b"\1\0" + deflated(bytes(60_000)), 60_000, id="compressed"),
    ],
)
def test_few_bytes_of_the_log_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
    columns: list[tuple[ColumnType, bytes]],
    rows: bytes,
    length: int,
) -> None:
    bitmap_length = (len(columns) + 7) // 8
    bitmap, row = rows[:bitmap_length], rows[bitmap_length:]
    log = LogFile()
    log.query("BEGIN")
    log.add(EventType.TABLE_MAP_EVENT, table_map(columns))
    head = (42).to_bytes(6, "little") + b"\1\0\2\0" + bytes([len(columns)]) + bitmap
    log.add(EventType.WRITE_ROWS_EVENT, head + 1000 * row)
    log.query("COMMIT")
    monkeypatch.setattr("connector.binlog.arrow.batches._BYTES_MAX", 1_000_000)
    with open_binlog(log.data) as reader:
        counts = [found.batch.num_rows for found in reader.to_arrow()]
    assert sum(counts) == 1000
    # What is read between two counts comes on top: 4096 cells, or bytes of the log.
    uncounted = 1 + 4096 // max(len(columns), len(row))
    assert all((count - uncounted) * length <= 1_000_000 for count in counts)


def test_a_table_that_is_not_asked_for_need_not_be_readable() -> None:
    log = LogFile()
    log.query("BEGIN")
    old = table_map([(ColumnType.DECIMAL, b"")]).replace(b"\1t\0", b"\1u\0", 1)
    log.add(EventType.TABLE_MAP_EVENT, old)
    log.add(EventType.WRITE_ROWS_EVENT, (42).to_bytes(6, "little") + b"\1\0\2\0\1\1\0" + b"1")
    log.table_map()
    log.insert((1, "a"))
    log.query("COMMIT")
    with open_binlog(log.data) as reader:
        (found,) = reader.to_arrow(["*.t"])
    # Its rows cannot be counted.
    assert found.batch.column("_seq").to_pylist() == [0]
    with open_binlog(log.data) as reader, pytest.raises(EventError, match=r"table db\.u"):
        list(reader.to_arrow())


def test_a_text_that_is_no_pattern_of_tables_is_refused() -> None:
    for tables in (["db"], [".t"], ["db."], "db.*"):
        with open_binlog(LOG.data) as reader, pytest.raises(ConfigError) as raised:
            list(reader.to_arrow(tables))
        assert raised.value.text == (
            f"{tables[0]!r} is not a pattern of tables; it looks like shop.orders or shop.*"
        )


def test_a_table_that_is_altered_begins_a_new_batch() -> None:
    log = LogFile()
    log.transaction((1, "a"))
    log.query("BEGIN")
    log.table_map(optional=tlv(4, b"\2id\5label") + tlv(3, b"\x2d"))
    log.insert((2, "b"))
    log.query("COMMIT")
    with open_binlog(log.data) as reader:
        names = [found.batch.schema.names[-1] for found in reader.to_arrow()]
    assert names == ["name", "label"]


def test_a_table_of_another_file_with_the_same_definition_goes_on_in_the_batch() -> None:
    with open_binlogs([LOG.data, LOG.data]) as log:
        assert [found.batch.num_rows for found in log.to_arrow()] == [8]


def test_a_column_with_the_name_of_one_of_the_change_is_refused() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map(optional=tlv(4, b"\2id\3_op") + tlv(3, b"\x2d"))
    log.insert((1, "a"))
    with open_binlog(log.data) as reader, pytest.raises(ConfigError) as raised:
        list(reader.to_arrow())
    assert raised.value.text == (
        "table db.t has a column _op, as every batch has; leave the table out"
    )


def test_text_that_is_none_of_its_character_set_is_an_error() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    body = rows_head(after=b"\3") + image(1, "x").replace(b"x", b"\xff")
    position = log.add(EventType.WRITE_ROWS_EVENT, body)
    with open_binlog(log.data, name="binlog.000007") as reader, pytest.raises(EventError) as raised:
        list(reader.to_arrow())
    assert raised.value.text.startswith(
        f"binlog.000007:{position}: cannot decode WRITE_ROWS_EVENT: table db.t, column name: its "
        "value is not text of its character set"
    )


def test_a_decimal_that_no_server_has_is_an_error() -> None:
    log = LogFile()
    log.query("BEGIN")
    columns = [(ColumnType.LONG, b""), (ColumnType.NEWDECIMAL, b"\xc8\2")]
    log.add(EventType.TABLE_MAP_EVENT, table_map(columns))
    log.insert((1, "a"))
    with open_binlog(log.data) as reader, pytest.raises(EventError) as raised:
        list(reader.to_arrow())
    assert raised.value.reason.text == "table db.t, column @2: DECIMAL(200,2) does not exist"


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "connector.binlog.arrow.batches", None)
    with open_binlog(LOG.data) as log, pytest.raises(ConfigError) as raised:
        log.to_arrow()
    assert raised.value.text == "Arrow needs pyarrow; pip install 'binlog-connector[arrow]'"


@pytest.mark.parametrize("server", ["mysql-8.0.31", "mysql-9.7.4"])
def test_changes_of_documents_are_applied_to_those_before_them(server: str) -> None:
    path = GOLDEN / server / "partial_json.full.000001"
    expected: dict[str, list[dict[str, Any]]] = {}
    with open_binlog(path) as log:
        for change in log.row_changes():
            images = [image for image in (change.before, change.after) if image is not None]
            expected.setdefault(change.table, []).extend(images)
    found: dict[str, list[dict[str, Any]]] = {}
    with open_binlog(path) as log:
        for table, rows in ((each.table, each.batch.to_pylist()) for each in log.to_arrow()):
            images = [{name: row[name] for name in list(row)[8:]} for row in rows]
            found.setdefault(table, []).extend(images)
    assert found == expected


def test_changes_of_documents_that_the_log_does_not_have_are_an_error() -> None:
    with (
        open_binlog(GOLDEN / "mysql-9.7.4" / "partial_json.minimal.000001") as log,
        pytest.raises(EventError) as raised,
    ):
        list(log.to_arrow())
    assert raised.value.event_name == "PARTIAL_UPDATE_ROWS_EVENT"
    assert raised.value.reason.text.endswith(
        "it has changes of a document, which the log does not have; SET GLOBAL "
        "binlog_row_image=FULL"
    )


def test_vectors_are_lists_of_floats(shared_binlogs: Path) -> None:
    with open_binlog(shared_binlogs / "recorded" / "vector.binlog") as log:
        found = next(log.to_arrow(["*.foo"]))
    column = found.batch.column("vector_column")
    assert column.type == pa.list_(pa.float32())
    assert column[0].as_py() == pytest.approx([1.1, 2.2, 3.3])
