"""Each family of columns has a form in each output; a failure says what is missing where.

The recipe for a new type of columns is in CONTRIBUTING.md.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from librt.strings import BytesWriter

from connector.binlog.arrow import batch_columns
from connector.binlog.columns.column import Column, ColumnType, Family
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.contract import COLUMN_TYPES
from connector.logs.dump.json import cells
from connector.logs.dump.text import values
from connector.logs.flashback import sql_literals
from connector.stream.changes import alter_table
from connector.stream.envelope.cells import selected, writers
from connector.stream.envelope.debezium import column_cells
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.schemas import connect_types
from connector.stream.envelope.schemas.table_schema import schema_column
from connector.stream.source import information_schema
from stream_jobs.source import column_types
from tests.stream.envelope.value_texts import value_encoder

if TYPE_CHECKING:
    from collections.abc import Collection

# By the file and the table: the families that have a form there.
FORMS: dict[str, Collection[str]] = {
    "connector/foundation/contract.py COLUMN_TYPES": COLUMN_TYPES,
    "connector/stream/envelope/cells/writers.py EXACT": writers.EXACT,
    "connector/stream/envelope/cells/selected.py READERS": selected.READERS,
    "connector/stream/envelope/debezium/column_cells.py DEBEZIUM": column_cells.DEBEZIUM,
    "connector/stream/envelope/schemas/connect_types.py CONNECT": connect_types.CONNECT,
    "connector/stream/source/information_schema.py _FAMILIES": set(
        information_schema._FAMILIES.values()
    ),
    "connector/stream/changes/alter_table.py _TYPES": set(alter_table._TYPES.values()),
    "connector/logs/dump/json/cells.py CELLS": cells.CELLS,
    "connector/logs/dump/text/values.py TEXTS": values.TEXTS,
    "connector/logs/flashback/sql_literals.py LITERALS": sql_literals.LITERALS,
    "connector/binlog/arrow/batch_columns.py TYPES": batch_columns.TYPES,
    "connector/binlog/arrow/batch_columns.py BUILDERS": batch_columns.BUILDERS,
    "stream_jobs/source/column_types.py _FAMILIES": column_types._FAMILIES,
}


def of(type_code: int, metadata: int = 0, **facts: Any) -> Column:
    return Column(type_code, metadata, nullable=True, name="c", **facts)


UTF8MB4, BINARY = 255, 63
LABELS = ["a", "b"]

# A column of each family, and the bytes of one of its values.
VALUES: dict[Family, tuple[Column, bytes]] = {
    Family.TINYINT: (of(ColumnType.TINY), b"\x07"),
    Family.SMALLINT: (of(ColumnType.SHORT), b"\x07\x00"),
    Family.MEDIUMINT: (of(ColumnType.INT24), b"\x07\x00\x00"),
    Family.INT: (of(ColumnType.LONG), b"\x07\x00\x00\x00"),
    Family.BIGINT: (of(ColumnType.LONGLONG), b"\x07" + bytes(7)),
    Family.DECIMAL: (of(ColumnType.NEWDECIMAL, 0x0203), b"\x81\x32"),
    Family.FLOAT: (of(ColumnType.FLOAT, 4), struct.pack("<f", 1.5)),
    Family.DOUBLE: (of(ColumnType.DOUBLE, 8), struct.pack("<d", 1.5)),
    Family.BIT: (of(ColumnType.BIT, 0x0101), b"\x00\x05"),
    Family.CHAR: (of(ColumnType.STRING, 0x28FE, collation=UTF8MB4), b"\x01a"),
    Family.VARCHAR: (of(ColumnType.VARCHAR, 40, collation=UTF8MB4), b"\x01a"),
    Family.TEXT: (of(ColumnType.BLOB, 1, collation=UTF8MB4), b"\x01a"),
    Family.ENUM: (of(ColumnType.STRING, 0x01F7, labels=LABELS), b"\x01"),
    Family.SET: (of(ColumnType.STRING, 0x01F8, labels=LABELS), b"\x03"),
    Family.BINARY: (of(ColumnType.STRING, 0x02FE, collation=BINARY), b"\x01a"),
    Family.VARBINARY: (of(ColumnType.VARCHAR, 40, collation=BINARY), b"\x01a"),
    Family.BLOB: (of(ColumnType.BLOB, 1, collation=BINARY), b"\x01a"),
    Family.DATE: (of(ColumnType.DATE), b"\x21\xd0\x0f"),
    Family.DATETIME: (of(ColumnType.DATETIME2), b"\x99\xb2\x42\x00\x00"),
    Family.TIMESTAMP: (of(ColumnType.TIMESTAMP2), b"\x5b\x2a\x58\x4f"),
    Family.TIME: (of(ColumnType.TIME2), b"\x80\x10\x00"),
    Family.YEAR: (of(ColumnType.YEAR), b"\x7b"),
    Family.JSON: (of(ColumnType.JSON, 1), b"\x02\x04\x01"),
    Family.GEOMETRY: (of(ColumnType.GEOMETRY, 1), b"\x05\x01\x00\x00\x00\x02"),
    Family.VECTOR: (of(ColumnType.VECTOR, 1), b"\x04" + struct.pack("<f", 1.5)),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_family_has_a_form_in_each_output(form: str) -> None:
    missing = sorted(set(Family) - set(FORMS[form]))
    assert not missing, f"{form} has no {', '.join(missing)}; see CONTRIBUTING.md"
    assert not set(FORMS[form]) - set(Family)


def test_each_family_has_a_value_here() -> None:
    assert set(VALUES) == set(Family), "VALUES of this test needs one of each family"
    assert all(column.family is family for family, (column, _) in VALUES.items())


@pytest.mark.parametrize("family", VALUES)
def test_a_value_of_each_family_is_written_in_each_form_and_passed_over(family: Family) -> None:
    column, stored = VALUES[family]
    (reader,) = RowPlan([column]).readers
    (raw,) = RowPlan(sql_literals.raw_columns([column])).readers
    described = schema_column("c", column)
    for written in (
        writers.exact_writer(described, reader),
        column_cells.debezium_writer(described, reader, DebeziumProfile(), point=False),
        cells.json_cell(column, reader),
        values.value_writer(column, reader, signs=True),
        sql_literals.literal_writer(column, raw),
        sql_literals.condition(column, raw)[1],
    ):
        image = PayloadReader(stored + b"#")
        out = BytesWriter()
        written.put(image, out)
        assert image.offset == len(stored)
        assert len(out)
    kind = batch_columns.arrow_type(column, dates_as_text=False)
    builder = batch_columns.array_builder(kind, column, reader)
    builder.append(PayloadReader(stored))
    assert builder.finish(1).null_count == 0
    exact = BytesWriter()
    writers.exact_writer(described, reader).put(PayloadReader(stored), exact)
    value = reader.read(PayloadReader(stored))
    assert value_encoder(described)(value).encode() == exact.getvalue()
