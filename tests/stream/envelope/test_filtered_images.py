"""Rows that a filter leaves out have no records; the others have those that they would have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.events.rows_header import RowsKind
from connector.binlog.statement import StatementKind
from connector.foundation.errors import UnsupportedChange
from connector.foundation.settings.envelope import FilterSettings
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.progress.sequences import TransactionOrder
from connector.stream.source import table_errors
from connector.stream.source.row_filters import ConditionFilters
from tests.stream.envelope.collected import Collected
from tests.stream.envelope.test_record_encoder import changed, inserted, statement, table
from tests.stream.envelope.test_selected_rows import KEYED, NOW_US, READ_AT, row

if TYPE_CHECKING:
    from connector.stream.changes.transaction import RowsChange, StatementChange


def options(where: str, tables: str = "shop.*", **form: Any) -> EnvelopeOptions:
    filters = ConditionFilters([FilterSettings(tables=tables, where=where)])
    return EnvelopeOptions("p", "mysql", "1", debezium=DebeziumProfile(**form, filters=filters))


class Encoder:
    """An encoder with a filter, and what it writes: operations and keys."""

    def __init__(self, where: str, **others: Any) -> None:
        self.target = Collected()
        self.encoder = RecordEncoder(options(where, **others), TransactionOrder(), self.target)

    def rows(self, change: RowsChange) -> list[str]:
        self.encoder.rows(change, NOW_US)
        return self._released()

    def statement(self, change: StatementChange) -> list[str]:
        self.encoder.statement(change, NOW_US)
        return self._released()

    def _released(self) -> list[str]:
        return [
            f"{dict(record.headers)['cdc.op'].decode()}"
            f"{'' if record.value else '-'} {(record.key or b'').decode()}"
            for record in self.target.release()
            if record.topic != "p.schema"
        ]


def test_rows_are_kept_by_their_number_in_the_event() -> None:
    encoder = Encoder("id > 1")
    assert encoder.rows(inserted(table(), 1, 2, 1, 3)) == ['c {"id":2}', 'c {"id":3}']
    encoder.encoder.rows(inserted(table(), 1, 2), NOW_US)
    (record,) = encoder.target.release()
    assert dict(record.headers)["cdc.seq"].endswith(b"00000002")
    # Also those that have no records were seen.
    assert encoder.encoder.rows_written == 2


def test_an_update_is_judged_by_the_row_after_it_and_a_delete_by_the_row_before() -> None:
    extra = Column(ColumnType.LONG, 0, nullable=False, name="v")
    encoder = Encoder("v > 1")
    of = table("t", extra)

    def update(before: int, after: int) -> list[str]:
        change = changed(RowsKind.UPDATE, 7, 7, of=of)
        rows = change.rows
        data = b"".join(b"\0\7\0\0\0" + each.to_bytes(4, "little") for each in (before, after))
        rows._data, rows._end = data, len(data)
        return encoder.rows(change)

    assert update(1, 2) == ['u {"id":7}']
    assert update(2, 1) == []
    assert Encoder("id > 1").rows(changed(RowsKind.DELETE, 1, 2)) == ['d {"id":2}', 'd- {"id":2}']


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (2, 3, ['d {"id":2}', 'd- {"id":2}', 'c {"id":3}']),
        (2, 1, ['d {"id":2}', 'd- {"id":2}']),
        (1, 2, ['c {"id":2}']),
        (1, 0, []),
    ],
)
def test_the_records_of_a_key_change_are_judged_alone(
    before: int, after: int, expected: list[str]
) -> None:
    assert Encoder("id > 1").rows(changed(RowsKind.UPDATE, before, after)) == expected


def test_other_tables_and_truncates_pass() -> None:
    encoder = Encoder("id > 1", tables="shop.t", skipped_operations=())
    assert encoder.rows(inserted(table(), 1)) == []
    assert encoder.rows(inserted(table("other"), 1)) == ['c {"id":1}']
    assert encoder.rows(inserted(table(), 1)) == []
    assert encoder.statement(statement(StatementKind.TRUNCATE, "t")) == ["t "]


def test_keys_of_rows_without_records_are_kept_for_copies() -> None:
    encoder = Encoder("id > 1")
    watched = encoder.encoder.watch.table("shop.t")
    window = watched.open_window()
    encoder.rows(inserted(table(), 1, 2))
    assert watched.touched_since(window) == {b'{"id":1}', b'{"id":2}'}


def test_a_column_that_is_missing_stops_the_stream_with_its_table() -> None:
    with pytest.raises(UnsupportedChange) as caught:
        Encoder("prize > 1").rows(inserted(table(), 1))
    assert caught.value.code is table_errors.FILTER_NO_COLUMN
    assert caught.value.text.startswith(
        "binlog.000001:300: table shop.t: the filter of shop.t names prize"
    )


def test_copied_rows_are_filtered_and_counted() -> None:
    chosen = options("text = 'x'")
    writer = SelectRowWriter(KEYED, chosen.debezium)
    for data in (row(b"7", b"x"), row(b"8", None), row(b"9", b"y"), row(b"10", b"\xff")):
        writer.put_row(data, 0, len(data))
    chunk = writer.take_chunk()
    # The next chunk begins after the last row, whether it has a record or not.
    assert (chunk.count, chunk.last_key) == (4, [b"10"])
    assert [refused.key for refused in chunk.refused] == [b'{"id":10}']
    target = Collected()
    assert chunk.publish(target, chosen, READ_AT, set(), NOW_US) == 1
    assert [record.key for record in target.records] == [b'{"id":7}']
