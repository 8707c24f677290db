"""What a stream of changes becomes, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.gtid import Gtid
from connector.binlog.header import EventHeader, EventType
from connector.binlog.log_errors import EventError
from connector.binlog.statement import StatementKind
from connector.foundation.errors import UnsupportedChange
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind
from connector.stream.changes.transaction import (
    LoggedStatement,
    RowsChange,
    SourceTransaction,
    StatementChange,
)
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.writers import require_form
from connector.stream.envelope.key_windows import KEYS_MAX
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder, _refuse_rows
from connector.stream.envelope.row_keys import RowKeys
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.table_registry import with_event_position
from connector.stream.progress.sequences import TransactionOrder
from tests.foundation.errors.texts import text_of
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from connector.foundation.kafka_records import Record

OPTIONS = EnvelopeOptions(prefix="p", connector="mysql", version="1")
SOURCE = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
TRANSACTION = SourceTransaction("binlog.000001", 157, Gtid(SOURCE, 5), 1_700_000_000_000_000, 1, 9)
NOW_US = 1_700_000_000_500_000


def table(name: str = "t", *columns: Column) -> TableMapEvent:
    key = Column(ColumnType.LONG, 0, nullable=False, name="id", primary_key=1)
    return TableMapEvent(1, 0, "shop", name, [key, *columns])


def inserted(table_map: TableMapEvent, *ids: int, number: int = 0) -> RowsChange:
    """Return an insert of rows whose first column is an INT, and others NULL."""
    width = len(table_map.columns)
    nulls = (2**width - 2).to_bytes((width + 7) // 8, "little")
    data = b"".join(nulls + value.to_bytes(4, "little") for value in ids)
    all_columns = (2**width - 1).to_bytes((width + 7) // 8, "little")
    origin = ("binlog.000001", 300, "WRITE_ROWS_EVENT")
    rows = RowsEvent(
        RowsKind.INSERT,
        table_map,
        1,
        ExtraRowInfo(),
        None,
        all_columns,
        *origin,
        data,
        0,
        len(data),
    )
    return RowsChange(TRANSACTION, number, event(rows), rows)


def event(body: RowsEvent) -> Event:
    header = EventHeader(7, EventType.WRITE_ROWS_EVENT, 1, 100, 400, 0)
    return Event("binlog.000001", 300, 400, header, body, b"")


def statement(kind: StatementKind, name: str, *added: AddedColumn) -> StatementChange:
    event = inserted(table(), 1).event
    logged = LoggedStatement(TRANSACTION, 0, event, "…")
    return StatementChange(logged, kind, "shop", name, list(added))


class Encoder:
    """An encoder, and what it writes."""

    def __init__(self, *schema_keys: str) -> None:
        self._target = Collected()
        schemas = {}
        for key in schema_keys:
            database, table = key.partition("/")[0].split(".")
            schemas[key] = json.dumps({"database": database, "table": table}).encode()
        self.encoder = RecordEncoder(
            OPTIONS, TransactionOrder(), self._target, SchemaState(schemas)
        )

    def rows(self, change: RowsChange) -> list[Record]:
        self.encoder.rows(change, NOW_US)
        return self._target.release()

    def statement(self, change: StatementChange) -> list[Record]:
        self.encoder.statement(change, NOW_US)
        return self._target.release()


def topics(records: list[Record]) -> list[str]:
    return [record.topic for record in records]


def schema_columns(record: Record) -> list[dict[str, object]]:
    assert record.value is not None
    columns: list[dict[str, object]] = json.loads(record.value)["columns"]
    return columns


def test_a_schema_comes_once_before_the_first_row_that_uses_it() -> None:
    made = Encoder()
    table_map = table()
    assert topics(made.rows(inserted(table_map, 1, 2))) == [
        "p.schema",
        "p.shop.t",
        "p.shop.t",
    ]
    assert topics(made.rows(inserted(table_map, 3))) == ["p.shop.t"]


def test_a_schema_that_an_earlier_run_wrote_is_not_written_again() -> None:
    (schema, _) = Encoder().rows(inserted(table(), 1))
    assert schema.key is not None
    again = Encoder(schema.key.decode())
    assert topics(again.rows(inserted(table(), 1))) == ["p.shop.t"]


def test_the_value_is_the_envelope() -> None:
    record = Encoder().rows(inserted(table(), 7))[1]
    assert record.value is not None
    assert json.loads(record.value) == {
        "before": None,
        "after": {"id": 7},
        "source": {
            "version": "1",
            "connector": "mysql",
            "name": "p",
            "ts_ms": 1_700_000_000_000,
            "snapshot": "false",
            "db": "shop",
            "sequence": None,
            "ts_us": 1_700_000_000_000_000,
            "ts_ns": 1_700_000_000_000_000_000,
            "table": "t",
            "server_id": 1,
            "gtid": f"{SOURCE}:5",
            "file": "binlog.000001",
            "pos": 300,
            "row": 0,
            "thread": 9,
            "query": None,
        },
        "transaction": None,
        "op": "c",
        "ts_ms": 1_700_000_000_500,
        "ts_us": 1_700_000_000_500_000,
        "ts_ns": 1_700_000_000_500_000_000,
    }
    assert dict(record.headers)["cdc.seq"] == b"00010000000100000001570000000000000000"


def test_an_added_column_is_told_with_the_next_schema() -> None:
    made = Encoder()
    made.rows(inserted(table(), 1))
    added = AddedColumn("x", DefaultKind.LITERAL, "7")
    assert made.statement(statement(StatementKind.ALTER_TABLE, "t", added)) == []
    assert made.encoder.schemas.added_columns == {"shop.t": [added]}
    wider = table("t", Column(ColumnType.LONG, 0, nullable=True, name="x"))
    schema, _ = made.rows(inserted(wider, 2))
    assert [column.get("added_default") for column in schema_columns(schema)] == [None, 7]
    assert made.encoder.schemas.added_columns == {}


def test_what_is_truncated_before_anything_was_published_says_nothing() -> None:
    gone = statement(StatementKind.TRUNCATE, "t")
    assert Encoder().statement(gone) == []


def test_a_dropped_database_takes_its_published_tables_with_it() -> None:
    made = Encoder("shop.a/1", "shop.b/1", "other.c/1")
    records = made.statement(statement(StatementKind.DROP_DATABASE, ""))
    assert topics(records) == ["p.shop.a", "p.shop.b"]
    assert [dict(record.headers)["cdc.op"] for record in records] == [b"t", b"t"]


def test_keys_that_are_kept_for_copies_do_not_fill_the_memory() -> None:
    made = Encoder()
    table_map = table()
    made.rows(inserted(table_map, 0))
    watched = made.encoder.watch.table("shop.t")
    window = watched.open_window()
    made.rows(inserted(table_map, 1))
    assert watched.touched_since(window) == {b'{"id":1}'}
    assert watched.keys is not None
    watched.keys.update(b"%d" % number for number in range(KEYS_MAX))
    made.rows(inserted(table_map, 2))
    # What was read meanwhile counts no more, so no key of it is needed.
    assert (watched.key_count, watched.changes) == (0, 1)
    watched.open_window()
    made.rows(inserted(table_map, 3))
    assert (watched.key_count, watched.changes) == (1, 1)


def partially_updated(before: str, *, present: int = 0b11) -> RowsChange:
    """Return an update of row 7 whose JSON document has 2 as its `$.a`; `before` as in the log."""
    document = Column(ColumnType.JSON, 4, nullable=True, name="j")
    change = "00" + "03242e61" + "03050200"
    after = f"0101 00 07000000 {len(bytes.fromhex(change)):02x}000000 {change}"
    data = bytes.fromhex(before + after)
    columns_present = (bytes([present]), b"\x03")
    rows = RowsEvent(
        RowsKind.UPDATE, table("t", document), 1, ExtraRowInfo(), *columns_present,
        "binlog.000001", 300, "PARTIAL_UPDATE_ROWS_EVENT", data, 0, len(data), partial=True,
    )  # fmt: skip
    return RowsChange(TRANSACTION, 0, event(rows), rows)


def test_a_partial_update_of_a_document_is_published_in_full() -> None:
    document = "0001000c000b00010005010061"  # {"a": 1}
    records = Encoder().rows(partially_updated(f"00 07000000 0d000000 {document}"))
    assert records[-1].value is not None
    value = json.loads(records[-1].value)
    assert value["before"] == {"id": 7, "j": '{"a": 1}'}
    assert value["after"] == {"id": 7, "j": '{"a": 2}'}


def test_a_partial_update_without_the_document_before_is_refused() -> None:
    with pytest.raises(UnsupportedChange) as caught:
        Encoder().rows(partially_updated("00 07000000", present=0b01))
    assert caught.value.text == (
        'binlog.000001:300: table shop.t: a row was logged without column "j": a session ran with '
        "binlog_row_image=MINIMAL or NOBLOB; SET GLOBAL binlog_row_image=FULL, and give the "
        "pipeline a new name with source.start after these rows"
    )


def test_a_row_without_its_key_is_refused() -> None:
    rows = partially_updated("00 00000000", present=0b10).rows
    schema = TableSchema.from_table_map(rows.table_map, "")
    (row,) = rows.split(0)
    with pytest.raises(UnsupportedChange) as caught:
        RowKeys(rows, schema).of(row)
    assert caught.value.text == text_of(record_errors.KEY_ABSENT, table="shop.t")


def test_a_partial_update_of_null_is_an_error() -> None:
    with pytest.raises(EventError) as caught:
        Encoder().rows(partially_updated("02 07000000"))
    assert caught.value.reason.text == (
        "table shop.t, column j (JSON): it has changes of a document, but no document is "
        "before them"
    )


def test_two_tables_cannot_share_a_topic() -> None:
    made = Encoder()
    made.rows(inserted(table("a-b"), 1))
    made.rows(inserted(table("a_b"), 1))
    with pytest.raises(UnsupportedChange) as caught:
        made.rows(inserted(table("a b"), 1))
    assert caught.value.text == (
        "tables shop.a_b and shop.a b would share topic p.shop.a_b; exclude one of them in "
        "source.exclude_tables, or publish it from a pipeline with another kafka.topic_prefix"
    )


def test_a_transaction_with_more_events_than_a_sequence_counts_is_refused() -> None:
    with pytest.raises(UnsupportedChange) as caught:
        Encoder().rows(inserted(table(), 1, number=10**8))
    assert caught.value.text == (
        "binlog.000001:300: a transaction with more than 100000000 events cannot be numbered; "
        "split the change into smaller transactions"
    )


def test_a_table_whose_columns_have_no_names_is_refused() -> None:
    nameless = TableMapEvent(1, 0, "shop", "t", [Column(ColumnType.LONG, 0, nullable=False)])
    with pytest.raises(UnsupportedChange) as caught:
        Encoder().rows(inserted(nameless, 1))
    assert caught.value.text == text_of(
        record_errors.NO_COLUMN_NAMES, log_position="binlog.000001:300", table="shop.t"
    )


def test_a_column_of_a_type_that_the_envelope_has_no_form_for_is_refused() -> None:
    change = inserted(table(), 1)
    with pytest.raises(UnsupportedChange) as caught:
        require_form({"name": "a", "type": "type 20", "nullable": True, "key": 0})
    assert caught.value.text == text_of(record_errors.NO_FORM, column="a", type="type 20")
    found = with_event_position(change.event, "shop.t", caught.value)
    assert found.code is record_errors.NO_FORM
    assert found.text == f"binlog.000001:300: table shop.t: {caught.value.text}"


def test_a_rows_event_with_more_rows_than_a_sequence_counts_is_refused() -> None:
    change = inserted(table(), 1)
    with pytest.raises(UnsupportedChange) as caught:
        _refuse_rows()
    found = with_event_position(change.event, "shop.t", caught.value)
    assert found.code is record_errors.MANY_ROWS
    assert found.text == (
        "binlog.000001:300: table shop.t: a rows event with more than 50000000 rows cannot be "
        "numbered; split the change into smaller transactions"
    )


def changed(kind: RowsKind, *ids: int, of: TableMapEvent | None = None) -> RowsChange:
    """Return a delete of rows, or an update of pairs of them."""
    change = inserted(of or table(), *ids)
    rows = change.rows
    rows.kind = kind
    rows.before_columns_present = rows.after_columns_present
    if kind is RowsKind.DELETE:
        rows.after_columns_present = None
    return change


def test_an_update_has_both_images_and_one_key() -> None:
    (_, record) = Encoder().rows(changed(RowsKind.UPDATE, 7, 7))
    assert record.value is not None
    value = json.loads(record.value)
    assert (value["before"], value["after"], value["op"]) == ({"id": 7}, {"id": 7}, "u")
    assert record.key == b'{"id":7}'
    assert dict(record.headers)["cdc.op"] == b"u"


def test_a_delete_is_followed_by_a_tombstone_with_its_headers() -> None:
    (_, deleted, tombstone) = Encoder().rows(changed(RowsKind.DELETE, 7))
    assert deleted.value is not None
    value = json.loads(deleted.value)
    assert (value["before"], value["after"], value["op"]) == ({"id": 7}, None, "d")
    assert tombstone == deleted._replace(value=None)


def test_a_pipeline_without_tombstones_writes_deletes_alone() -> None:
    target = Collected()
    options = replace(OPTIONS, tombstones=False)
    encoder = RecordEncoder(options, TransactionOrder(), target)
    encoder.rows(changed(RowsKind.DELETE, 7), NOW_US)
    assert topics(target.records) == ["p.schema", "p.shop.t"]


def test_a_row_that_gets_another_key_is_deleted_and_created() -> None:
    (_, *records) = Encoder().rows(changed(RowsKind.UPDATE, 7, 8, 9, 9))
    deleted, tombstone, created, updated = records
    assert [record.key for record in records] == [
        b'{"id":7}', b'{"id":7}', b'{"id":8}', b'{"id":9}',
    ]  # fmt: skip
    values = [json.loads(record.value or b"null") for record in records]
    assert values[1] is None
    assert [(value["before"], value["after"], value["op"], value["source"]["row"])
            for value in values if value is not None] == [
        ({"id": 7}, None, "d", 0), (None, {"id": 8}, "c", 0), ({"id": 9}, {"id": 9}, "u", 1),
    ]  # fmt: skip
    seq = b"000100000001000000015700000000"
    shared = [("cdc.schema", dict(deleted.headers)["cdc.schema"]),
              ("cdc.txn", f"{SOURCE}:5".encode())]  # fmt: skip
    assert deleted.headers == tombstone.headers == [
        ("cdc.seq", seq + b"00000000"), ("cdc.op", b"d"), *shared,
        ("__debezium.newkey", b'{"id":8}'),
    ]  # fmt: skip
    assert created.headers == [
        ("cdc.seq", seq + b"00000001"), ("cdc.op", b"c"), *shared,
        ("__debezium.oldkey", b'{"id":7}'),
    ]  # fmt: skip
    assert updated.headers == [("cdc.seq", seq + b"00000002"), ("cdc.op", b"u"), *shared]


def test_a_key_has_its_columns_in_the_order_of_the_key() -> None:
    second = Column(ColumnType.TINY, 0, nullable=False, name="b", primary_key=1)
    made = table("t", second)
    made.columns[0].primary_key = 2
    change = inserted(made)
    change.rows._data = bytes.fromhex("00 07000000 05")
    change.rows._end = 6
    assert Encoder().rows(change)[1].key == b'{"b":5,"id":7}'


def test_rows_of_a_table_without_a_primary_key_have_none() -> None:
    made = table()
    made.columns[0].primary_key = 0
    change = changed(RowsKind.DELETE, 7)
    change.rows.table_map = made
    (_, deleted) = Encoder().rows(change)
    assert deleted.key is None


def test_a_large_row_leaves_nothing_in_the_next_one() -> None:
    text = Column(ColumnType.BLOB, 4, nullable=True, name="x", collation=255)
    change = inserted(table("t", text))
    size = 2 * 1024 * 1024
    change.rows._data = bytes.fromhex("00 07000000") + size.to_bytes(4, "little") + b"x" * size
    change.rows._end = len(change.rows._data)
    made = Encoder()
    (_, record) = made.rows(change)
    assert len(record.value or b"") > size
    (_, small) = made.rows(inserted(table(), 8))
    assert len(small.value or b"") < 1000
