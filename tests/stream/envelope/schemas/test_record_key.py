"""Keys of records that the settings choose; rows keep their own for copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from librt.strings import BytesWriter

from connector.binlog.columns.column import Column, ColumnType
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.row_writer import RowWriter
from connector.stream.envelope.schemas.column_masks import TextMask
from connector.stream.envelope.schemas.table_schema import TableSchema, record_key_indexes
from connector.stream.envelope.selected_rows import SelectRowWriter
from tests.stream.envelope.collected import Collected
from tests.stream.envelope.test_row_writer import rows_event
from tests.stream.envelope.test_selected_rows import NOW_US, READ_AT, TEXT, column, row

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

ORDERS = TableSchema.of_columns("shop", "orders", (column("id", key=1), column("customer"), TEXT))
FORM = DebeziumProfile(message_keys=("shop.ord*:Customer, text",))


def test_a_key_has_the_columns_in_the_order_of_the_settings() -> None:
    form = DebeziumProfile(message_keys=("*.other:id", "shop.orders:text", "shop.*:customer,text"))
    assert record_key_indexes(ORDERS, form) == (2, 1)
    assert record_key_indexes(ORDERS, DebeziumProfile()) == (0,)
    assert record_key_indexes(ORDERS, None) == (0,)


def test_a_key_can_have_null() -> None:
    columns = [
        Column(ColumnType.TINY, 0, nullable=True, name="id", primary_key=1),
        Column(ColumnType.TINY, 0, nullable=True, name="customer"),
        Column(ColumnType.VARCHAR, 20, nullable=True, name="text", collation=255),
    ]
    rows = rows_event(columns, b"\x02\x01\x01a")
    schema = TableSchema.from_table_map(rows.table_map, "")
    writer = RowWriter(rows.table_map, schema, DebeziumProfile(message_keys=('shop.t:c"1,c"2',)))
    writer.begin(rows)
    assert writer.has_message_key
    assert writer.next_row()
    out = BytesWriter()
    writer.put(out)
    assert writer.record_key(out) == b'{"c\\"1":null,"c\\"2":"a"}'
    assert writer.key(out) == b'{"c\\"0":1}'


def test_a_copied_row_is_left_out_by_its_own_key() -> None:
    writer = SelectRowWriter(ORDERS, FORM)
    for data in (row(b"1", b"7", None), row(b"2", b"7", None), row(b"3", None, b"x")):
        writer.put_row(data, 0, len(data))
    chunk = writer.take_chunk()
    assert chunk.keys() == {b'{"id":1}', b'{"id":2}', b'{"id":3}'}
    assert chunk.last_key == [b"3"]
    target = Collected()
    options = EnvelopeOptions("p", "mysql", "1", debezium=FORM)
    assert chunk.publish(target, options, READ_AT, {b'{"id":1}'}, NOW_US) == 2
    assert [record.key for record in target.records] == [
        b'{"customer":7,"text":null}',
        b'{"customer":null,"text":"x"}',
    ]
    assert writer.take_chunk().keys() == set()


def test_a_table_without_a_key_gets_one() -> None:
    schema = TableSchema.of_columns("shop", "orders", (column("customer"), TEXT))
    writer = SelectRowWriter(schema, FORM)
    data = row(b"7", b"x")
    writer.put_row(data, 0, len(data))
    target = Collected()
    options = EnvelopeOptions("p", "mysql", "1", debezium=FORM)
    assert writer.take_chunk().publish(target, options, READ_AT, set(), NOW_US) == 1
    assert target.records[0].key == b'{"customer":7,"text":"x"}'


@pytest.mark.parametrize(
    ("columns", "changes", "text"),
    [
        (
            (column("id", key=1), TEXT),
            {},
            (
                "[T406] there is no column shop.orders.Customer in records, which "
                "envelope.message_keys names; name columns that records have, and start again"
            ),
        ),
        (
            (column("id", key=1), column("customer"), TEXT),
            {"text": TextMask(3)},
            (
                "[T402] column shop.orders.text belongs to the key, so it cannot be left out or "
                "masked; take it out of the patterns of source.masks, source.columns and "
                "source.exclude_columns, or exclude the table"
            ),
        ),
    ],
)
def test_a_key_needs_columns_that_records_have(
    columns: tuple[SchemaColumn, ...], changes: dict[str, Any], text: str
) -> None:
    schema = TableSchema("shop", "orders", "id", columns, (0,), changes=changes)
    with pytest.raises(UnsupportedChange) as refused:
        record_key_indexes(schema, FORM)
    assert str(refused.value) == text
