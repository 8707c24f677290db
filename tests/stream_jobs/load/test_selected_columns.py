"""Cells of a SELECT become the values that the records of the same rows would give."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from connector.binlog.log_errors import TruncatedPayload
from connector.foundation.errors import UnsupportedChange
from connector.replication.protocol.result_set import CellRows
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.apply.table_failures import InvalidRecordError
from stream_jobs.errors import record_errors
from stream_jobs.load import selected_columns
from stream_jobs.load.selected_columns import SelectedCells, mirror_columns
from stream_jobs.source.column_types import HashMask, TextMask, masked_column

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn


def column(name: str, kind: str, key: int = 0, **facts: Any) -> SchemaColumn:
    made: SchemaColumn = {"name": name, "type": kind, "nullable": not key, "key": key}
    made.update(facts)  # type: ignore[typeddict-item] # the facts of the contract, by name
    return made


def row(*cells: bytes | None) -> bytes:
    out = b""
    for cell in cells:
        if cell is None:
            out += b"\xfb"
        elif len(cell) < 251:
            out += bytes([len(cell)]) + cell
        else:
            out += b"\xfc" + len(cell).to_bytes(2, "little") + cell
    return out


def received(*rows: bytes) -> CellRows:
    receiver = CellRows()
    data = b"head" + b"".join(rows)
    at = len(b"head")
    for each in rows:
        receiver.put_row(data, at, at + len(each))
        at += len(each)
    return receiver


def values(columns: list[SchemaColumn], *rows: tuple[bytes | None, ...]) -> list[dict[str, Any]]:
    schema = TableSchema.of_columns("shop", "t", tuple(columns))
    cells = SelectedCells(received(*(row(*each) for each in rows)), len(columns))
    found: list[dict[str, Any]] = mirror_columns(cells, schema, columns, "error").to_pylist()
    return found


UTF8: dict[str, Any] = {"charset": "utf8mb4", "length": 80}
# By type: the column, the cell, and the value of the mirror.
TYPES: dict[str, tuple[SchemaColumn, bytes, object]] = {
    "tinyint": (column("c", "tinyint", unsigned=False), b"-7", -7),
    "int unsigned": (column("c", "int", unsigned=True), b"4294967295", 4294967295),
    "zerofill": (column("c", "int", unsigned=True), b"00042", 42),
    "bigint": (column("c", "bigint", unsigned=False), b"-9223372036854775808", -(2**63)),
    "bigint unsigned": (column("c", "bigint", unsigned=True), b"18446744073709551615", 2**64 - 1),
    "decimal": (
        column("c", "decimal", precision=8, scale=2, unsigned=False),
        b"-12.30",
        Decimal("-12.30"),
    ),
    "long decimal": (
        column("c", "decimal", precision=65, scale=0, unsigned=False),
        b"9" * 65,
        "9" * 65,
    ),
    "float": (column("c", "float"), b"0.10000000149011612", pa.scalar(0.1, pa.float32()).as_py()),
    "double": (column("c", "double"), b"1e-7", 1e-7),
    "varchar": (column("c", "varchar", **UTF8), "é".encode() * 200, "é" * 200),
    "latin1": (column("c", "varchar", charset="latin1", length=9), b"\xe9", "é"),
    "empty": (column("c", "varchar", **UTF8), b"", ""),
    "json": (column("c", "json"), b'{"a": 1}', '{"a": 1}'),
    "enum": (column("c", "enum", labels=["a", "b"], charset="utf8mb4"), b"2", "b"),
    "empty enum": (column("c", "enum", labels=["a", "b"], charset="utf8mb4"), b"0", ""),
    "set": (column("c", "set", labels=["x", "y"], charset="utf8mb4"), b"3", "x,y"),
    "varbinary": (column("c", "varbinary", length=8), b"\x00\xff", b"\x00\xff"),
    "bit": (column("c", "bit", length=1), b"\x01", True),
    "bits": (column("c", "bit", length=12), b"\x01\x02", 258),
    "date": (column("c", "date"), b"2026-02-28", date(2026, 2, 28)),
    "datetime": (
        column("c", "datetime", fraction=3),
        b"2026-02-28 01:02:03.004",
        datetime(2026, 2, 28, 1, 2, 3, 4000),  # noqa: DTZ001 - DATETIME has no zone
    ),
    "timestamp": (
        column("c", "timestamp", fraction=0),
        b"2026-02-28 01:02:03",
        datetime(2026, 2, 28, 1, 2, 3, tzinfo=UTC),
    ),
    "time": (column("c", "time", fraction=0), b"-838:59:59", "-838:59:59"),
    "year": (column("c", "year"), b"0000", 0),
}


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_has_its_value_and_null(kind: str) -> None:
    own, cell, value = TYPES[kind]
    key = column("id", "int", 1, unsigned=False)
    found = values([key, own], (b"1", cell), (b"2", None))
    assert found == [{"id": 1, "c": value}, {"id": 2, "c": None}]


@pytest.mark.parametrize("kind", [kind for kind in TYPES if "binary" not in kind])
def test_whole_columns_have_the_values_of_the_writer_of_records(kind: str) -> None:
    own, cell, _ = TYPES[kind]
    schema = TableSchema.of_columns("shop", "t", (own,))
    cells = SelectedCells(received(row(cell), row(None), row(cell)), 1).column(0)
    assert selected_columns._parsed(schema, 0, cells) == selected_columns._by_records(
        schema, own, cells
    )


def test_a_column_that_the_mirror_hides_is_not_read() -> None:
    columns = [column("id", "int", 1, unsigned=False), column("a", "varchar", **UTF8)]
    schema = TableSchema.of_columns("shop", "t", tuple(columns))
    cells = SelectedCells(received(row(b"1", b"\xff")), 2)
    assert mirror_columns(cells, schema, columns[:1], "error").to_pylist() == [{"id": 1}]


def test_masks_and_hashes_are_those_of_records() -> None:
    text, raw = column("a", "varchar", **UTF8), column("b", "varbinary", length=8)
    schema = TableSchema.of_columns("shop", "t", (text, raw))
    cells = SelectedCells(received(row(b"secret", b"secret"), row(None, None)), 2)
    hidden = [
        masked_column(text, TextMask("***")),
        masked_column(raw, HashMask("0123456789abcdef")),
    ]
    first, second = mirror_columns(cells, schema, hidden, "error").to_pylist()
    assert first["a"] == "***"
    assert len(first["b"]) == 64
    assert second == {"a": None, "b": None}


def test_a_date_that_does_not_exist_is_refused_or_null() -> None:
    own = column("c", "date")
    schema = TableSchema.of_columns("shop", "t", (own,))
    cells = SelectedCells(received(row(b"2026-01-01"), row(b"0000-00-00")), 1)
    with pytest.raises(InvalidRecordError) as caught:
        mirror_columns(cells, schema, [own], "error")
    assert (caught.value.place, caught.value.why.code) == (1, record_errors.ZERO_DATE)
    assert mirror_columns(cells, schema, [own], "null").to_pylist()[1] == {"c": None}


def test_a_text_that_no_record_could_have_is_refused() -> None:
    with pytest.raises(UnsupportedChange):
        values([column("c", "varchar", charset="utf8mb4", length=9)], (b"\xff",))


def test_the_last_key_is_that_of_the_last_row() -> None:
    cells = SelectedCells(received(row(b"1", b"a"), row(b"2", b"b")), 2)
    assert cells.of_last([1, 0]) == [b"b", b"2"]


def test_no_rows_have_columns_without_values() -> None:
    columns = [column("id", "int", 1, unsigned=False), column("a", "varbinary", length=8)]
    assert values(columns) == []


def test_a_row_that_ends_within_a_cell_is_refused() -> None:
    with pytest.raises(TruncatedPayload):
        received(b"\x05abc")
