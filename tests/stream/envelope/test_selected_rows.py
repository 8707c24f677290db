"""Rows of the text protocol become records.

`tests/integration/snapshots` compares them with those of servers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from connector.binlog.log_errors import ProtocolError
from connector.binlog.payload_reader import encode_lenenc
from connector.foundation.contract import Sequence
from connector.foundation.errors import RecordTooLarge, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.copied_chunk import CopyPosition
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.sink import kafka_errors
from tests.foundation.errors.texts import text_of
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.foundation.contract import SchemaColumn
    from connector.foundation.kafka_records import Record
    from connector.stream.envelope.copied_chunk import Chunk

OPTIONS = EnvelopeOptions("p", "mysql", "1.2.3")
READ_AT = CopyPosition(
    epoch=2,
    file="binlog.000042",
    file_number=42,
    position=1000,
    first_row=0,
    read_us=7_000_002,
    time_us=5_000_001,
)
NOW_US = 6_000_000
TEXT: SchemaColumn = {
    "name": "text", "type": "varchar", "nullable": True, "key": 0, "charset": "utf8mb4",
    "collation": 255,
}  # fmt: skip


def column(name: str, kind: str = "int", key: int = 0) -> SchemaColumn:
    return {"name": name, "type": kind, "nullable": not key, "key": key}


KEYED = TableSchema.of_columns("shop", "orders", (column("id", key=1), TEXT))


def row(*cells: bytes | None) -> bytes:
    return b"".join(b"\xfb" if cell is None else encode_lenenc(len(cell)) + cell for cell in cells)


def chunk_of(schema: TableSchema, rows: Iterable[bytes]) -> Chunk:
    writer = SelectRowWriter(schema)
    for data in rows:
        writer.put_row(b"##" + data + b"##", 2, 2 + len(data))
    return writer.take_chunk()


def published(chunk: Chunk, read_at: CopyPosition = READ_AT, *touched: bytes) -> list[Record]:
    target = Collected()
    written = chunk.publish(target, OPTIONS, read_at, set(touched), NOW_US)
    assert written == len(target.records)
    return target.records


def sequences(records: list[Record]) -> list[Sequence]:
    return [Sequence.parse(dict(record.headers)["cdc.seq"].decode()) for record in records]


@pytest.mark.parametrize(
    ("first", "last", "ids", "marks"),
    [
        ("first", "last", "789", ["first", "true", "last"]),
        ("true", "last_in_data_collection", "78", ["true", "last_in_data_collection"]),
        # If two marks fit, that of the snapshot comes before that of the table.
        ("first", "last", "7", ["last"]),
        ("first", "last_in_data_collection", "7", ["first"]),
        ("first_in_data_collection", "last", "7", ["last"]),
        ("first_in_data_collection", "last_in_data_collection", "7", ["last_in_data_collection"]),
        ("first_in_data_collection", "true", "7", ["first_in_data_collection"]),
    ],
)
@pytest.mark.parametrize("form", ["envelope", "flat", "cloudevents"])
def test_the_first_and_the_last_row_say_so(
    form: str, first: str, last: str, ids: str, marks: list[str]
) -> None:
    chosen = {
        "envelope": None,
        "flat": DebeziumProfile(shape="flat", flat_fields=("source.snapshot",)),
        "cloudevents": DebeziumProfile(value_format="cloudevents"),
    }
    options = replace(OPTIONS, debezium=chosen[form])
    target = Collected()
    chunk = chunk_of(KEYED, [row(each.encode(), b"x") for each in ids])
    read_at = replace(READ_AT, first=first, last=last)
    chunk.publish(target, options, read_at, set(), NOW_US)
    values = [json.loads(record.value or b"") for record in target.records]
    name = {"envelope": "snapshot", "flat": "__source_snapshot"}.get(form, "iodebeziumsnapshot")
    sources = [value["source"] if form == "envelope" else value for value in values]
    assert [source[name] for source in sources] == marks


def test_a_row_becomes_a_record_of_the_copy() -> None:
    (record,) = published(chunk_of(KEYED, [row(b"7", b'Zo\xc3\xab "x"')]))
    assert record.topic == "p.shop.orders"
    assert record.key == b'{"id":7}'
    assert record.timestamp_ms == 7000
    assert dict(record.headers) == {
        "cdc.seq": str(Sequence(2, 42, 999, 0, 0)).encode(),
        "cdc.op": b"r",
        "cdc.schema": KEYED.schema_id.encode(),
        "cdc.txn": b"binlog.000042:1000",
    }
    assert record.value is not None
    assert json.loads(record.value) == {
        "before": None,
        "after": {"id": 7, "text": 'Zoë "x"'},
        "source": {
            "version": "1.2.3", "connector": "mysql", "name": "p", "ts_ms": 5000,
            "snapshot": "true", "db": "shop", "sequence": None, "ts_us": 5_000_001,
            "ts_ns": 5_000_001_000, "table": "orders", "server_id": 0, "gtid": None,
            "file": "binlog.000042", "pos": 1000, "row": 0, "thread": None, "query": None,
        },
        "transaction": None,
        "op": "r",
        "ts_ms": 6000,
        "ts_us": 6_000_000,
        "ts_ns": 6_000_000_000,
    }  # fmt: skip


def test_rows_rise_in_the_order_and_go_on_where_the_last_copy_ended() -> None:
    chunk = chunk_of(KEYED, [row(b"%d" % n, None) for n in range(3)])
    read_at = CopyPosition(2, "binlog.000042", 42, 1000, 10**8 - 2, 0, 0)
    assert sequences(published(chunk, read_at)) == [
        Sequence(2, 42, 999, 0, 10**8 - 2),
        Sequence(2, 42, 999, 0, 10**8 - 1),
        Sequence(2, 42, 999, 1, 0),
    ]


def test_rows_whose_keys_were_touched_are_left_out_and_not_counted() -> None:
    chunk = chunk_of(KEYED, [row(b"%d" % n, None) for n in range(4)])
    records = published(chunk, READ_AT, b'{"id":0}', b'{"id":2}', b'{"id":9}')
    assert [record.key for record in records] == [b'{"id":1}', b'{"id":3}']
    assert [sequence.row for sequence in sequences(records)] == [0, 1]


def test_a_chunk_can_be_published_again() -> None:
    chunk = chunk_of(KEYED, [row(b"1", b"a")])
    assert published(chunk) == published(chunk)


def test_a_chunk_knows_its_last_key_in_key_order_and_its_size() -> None:
    schema = TableSchema.of_columns(
        "shop", "parts", (column("b", key=2), TEXT, column("a", "varbinary", key=1))
    )
    chunk = chunk_of(schema, [row(b"1", b"x", b"\0"), row(b"02", None, b"\xff'")])
    assert (chunk.count, chunk.last_key) == (2, [b"\xff'", b"02"])
    assert chunk.size > sum(len(record.key or b"") for record in published(chunk))
    assert published(chunk)[1].key == b'{"a":"/yc=","b":2}'


def test_a_chunk_without_rows_has_no_last_key() -> None:
    chunk = chunk_of(KEYED, [])
    assert (chunk.count, chunk.size, chunk.last_key) == (0, 0, [])
    assert published(chunk) == []


def test_a_table_without_a_key_has_records_without_one() -> None:
    schema = TableSchema.of_columns("shop", "log", (column("n"), TEXT))
    chunk = chunk_of(schema, [row(b"1", b"a"), row(b"1", b"a")])
    assert chunk.last_key == []
    assert [record.key for record in published(chunk, READ_AT, b"{}")] == [None, None]


def test_a_writer_begins_the_next_chunk_where_one_ended() -> None:
    writer = SelectRowWriter(KEYED)
    data = row(b"1", b"a")
    writer.put_row(data, 0, len(data))
    assert writer.take_chunk().count == 1
    writer.put_row(data, 0, len(data))
    writer.discard()
    assert writer.take_chunk().count == 0


def test_values_longer_than_a_packet_are_whole() -> None:
    text = b"x" * 2**24
    (record,) = published(chunk_of(KEYED, [row(b"1", text)]))
    assert record.value is not None
    assert json.loads(record.value)["after"]["text"] == text.decode()


@pytest.mark.parametrize(
    "data",
    [
        row(b"1"),
        row(b"1", b"a", b"b"),
        row(b"1", b"a")[:-1],
        row(b"1") + b"\xfc\xff",
        row(b"1") + b"\xfd\xff\xff\xff",
    ],
)
def test_a_row_with_other_columns_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        chunk_of(KEYED, [data])
    assert caught.value.text == text_of(record_errors.ROW_SHAPE, table="shop.orders", columns=2)


def test_text_that_is_none_is_refused_as_in_the_stream() -> None:
    reason = (
        "copy of table shop.orders: column text holds a value that is not text of its character "
        "set; correct it, or exclude the table"
    )
    chunk = chunk_of(KEYED, [row(b"1", b"a"), row(b"2", b"\xff")])
    (refused,) = chunk.refused
    assert (refused.key, refused.data) == (b'{"id":2}', row(b"2", b"\xff"))
    assert (refused.error.text, refused.error.code) == (reason, record_errors.NOT_TEXT)
    # It counts, so that the next chunk begins behind it.
    assert (chunk.count, chunk.last_key) == (2, [b"2"])
    assert [record.key for record in published(chunk)] == [b'{"id":1}']


def test_a_row_is_refused_without_its_key_where_that_has_no_form() -> None:
    name: SchemaColumn = TEXT | {"name": "name", "key": 1}
    chunk = chunk_of(
        TableSchema.of_columns("shop", "orders", (column("id"), name)), [row(b"1", b"\xff")]
    )
    assert [refused.key for refused in chunk.refused] == [None]


def test_a_row_that_is_too_large_is_refused_and_others_go_on() -> None:
    class Small(Collected):
        def take(
            self,
            topic: str,
            key: bytes | None,
            value: bytes | None,
            headers: bytes,
            timestamp_ms: int,
        ) -> None:
            if len(value or b"") > 1000:
                raise RecordTooLarge(kafka_errors.RECORD_SIZE, servers="a:9092", doing="write")
            super().take(topic, key, value, headers, timestamp_ms)

    rows = [row(b"1", b"a"), row(b"2", b"x" * 1000), row(b"3", b"c")]
    chunk = chunk_of(KEYED, rows)
    target = Small()
    assert chunk.publish(target, OPTIONS, READ_AT, set(), NOW_US) == 2
    assert [record.key for record in target.records] == [b'{"id":1}', b'{"id":3}']
    assert [sequence.row for sequence in sequences(target.records)] == [0, 1]
    (refused,) = chunk.refused
    assert (refused.key, refused.error.code) == (b'{"id":2}', kafka_errors.RECORD_SIZE)
    assert isinstance(refused.error, RecordTooLarge)
    assert json.loads(refused.data)["after"]["text"] == "x" * 1000


def test_a_type_without_a_form_is_refused() -> None:
    schema = TableSchema.of_columns("shop", "odd", (column("x", "type 99"),))
    with pytest.raises(UnsupportedChange) as caught:
        SelectRowWriter(schema)
    assert caught.value.text == text_of(record_errors.NO_FORM, column="x", type="type 99")


@pytest.mark.parametrize(
    ("kind", "data"),
    [("timestamp", b"2026"), ("timestamp", b""), ("double", b"one"), ("bit", b"")],
)
def test_a_cell_of_another_type_refuses_its_row(kind: str, data: bytes) -> None:
    schema = TableSchema.of_columns("shop", "odd", (column("id", key=1), column("x", kind)))
    chunk = chunk_of(schema, [row(b"1", data)])
    said = text_of(record_errors.OTHER_TYPE, column="x")
    assert [refused.error.text for refused in chunk.refused] == [f"copy of table shop.odd: {said}"]
    assert [refused.key for refused in chunk.refused] == [b'{"id":1}']
    keyed = TableSchema.of_columns("shop", "odd", (column("x", kind, key=1),))
    assert [refused.key for refused in chunk_of(keyed, [row(data)]).refused] == [None]


@pytest.mark.parametrize(("kind", "data"), [("geometry", b"abc"), ("vector", b"abcde")])
def test_bytes_that_are_no_value_of_their_type_are_refused(kind: str, data: bytes) -> None:
    schema = TableSchema.of_columns("shop", "odd", (column("x", kind),))
    (refused,) = chunk_of(schema, [row(data)]).refused
    code = {"geometry": record_errors.GEOMETRY_SIZE, "vector": record_errors.VECTOR_SIZE}[kind]
    said = text_of(code, column="x", length=len(data))
    assert refused.error.text == f"copy of table shop.odd: {said}"
