"""Cells of text, from their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from librt.strings import BytesWriter

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.columns.strings import StringReader, varchar_prefix
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.writers import exact_writer
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

CP1256 = 57


def written(data: bytes, key: int) -> bytes:
    """Return the cell of a VARCHAR(50) in cp1256."""
    column: SchemaColumn = {
        "name": "name", "type": "varchar", "nullable": False, "key": key, "charset": "cp1256",
    }  # fmt: skip
    of_log = Column(
        ColumnType.VARCHAR, 50, nullable=False, name="name", collation=CP1256, primary_key=key
    )
    out = BytesWriter()
    image = PayloadReader(bytes([len(data)]) + data)
    exact_writer(column, StringReader(of_log, varchar_prefix(of_log))).put(image, out)
    assert image.offset == len(data) + 1
    return out.getvalue()


@pytest.mark.parametrize("key", [0, 1])
def test_text_is_decoded_by_its_character_set(key: int) -> None:
    assert written(b"\xc7\xe1 \x3f", key).decode() == '"\u0627\u0644 ?"'


def test_a_code_without_a_character_reads_as_the_server_shows_it() -> None:
    assert written(b"a\x8a", 0) == b'"a?"'


@pytest.mark.parametrize("data", [b"a\x8a", b"a\x8f"])
def test_a_key_with_a_code_without_a_character_is_refused(data: bytes) -> None:
    """Two keys would be one, and a mirror would lose a row."""
    with pytest.raises(UnsupportedChange) as caught:
        written(data, 1)
    assert caught.value.text == text_of(record_errors.NOT_TEXT, column="name")
