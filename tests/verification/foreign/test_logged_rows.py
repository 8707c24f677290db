"""Rows of the log have the values of a SELECT."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connector.binlog.transactions.transaction import changed_rows_in
from connector.reader import open_binlog
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.source import table_schema as mirrored
from stream_jobs.source.sequence import PackedSequence
from tests.binlog.files.log_files import LogFile
from tests.binlog.log_bytes import tlv
from tests.stream_jobs.topics import column
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.forms import forms_of
from verification.foreign.logged_rows import LoggedImages, LoggedRows, _stored
from verification.foreign.row_states import Change


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("name", ["char", "varchar", "text"])
@pytest.mark.parametrize(
    ("charset", "data"),
    [("latin1", b"\xe9"), ("utf8mb4", "é".encode()), ("cp1251", "й".encode("cp1251"))],
)
def test_a_text_of_a_log_without_character_sets_is_read_by_the_definition(
    kind: pa.DataType, name: str, charset: str, data: bytes
) -> None:
    own = column("note", name) | {"charset": charset}
    values = _stored(own, pa.array([data, None, b""], kind), pa.string())
    assert values.to_pylist() == ["й" if charset == "cp1251" else "é", None, ""]


@pytest.mark.parametrize("name", ["_op", "_timestamp", "_seq"])
def test_a_column_may_have_a_name_of_the_columns_of_a_change(name: str) -> None:
    log = LogFile()
    log.query("BEGIN")
    text = name.encode()
    log.table_map(optional=tlv(4, b"\2id" + bytes([len(text)]) + text) + tlv(3, b"\x2d"))
    log.insert((7, "a"))
    columns = (column("id", "int", key=1), column(name, "varchar", charset="utf8mb4"))
    pairs = [
        ColumnPair(own, own["name"], forms_of(own, kind)[0])
        for own, kind in zip(columns, (pa.int32(), pa.string()), strict=True)
    ]
    compared = mirrored.TableSchema("db", "t", "", PackedSequence(0, 0), columns)
    mapping = ColumnMapping(compared, pairs, ColumnNames())
    rows = LoggedRows(TableSchema("db", "t", "", columns, (0, 1)), mapping)
    found: list[LoggedImages] = []
    with open_binlog(log.data) as reader:
        for event in reader:
            changed = changed_rows_in(event)
            if changed is not None:
                rows.read(event, changed, Change(1, "", 1), found.append)
    rows.finish(found.append)
    (images,) = found
    assert images.operations == ["insert"]
    assert images.data.to_pylist() == [{"id": 7, name: "a"}]
    assert not images.partial.any()
