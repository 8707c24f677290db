"""Files of Avro are those of another implementation, both ways."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_jobs.iceberg.avro import Codec
from stream_jobs.iceberg.avro_reader import read_file
from tests.length import length

_PAIR = {
    "type": "record",
    "name": "pair",
    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}],
}
_AMOUNT = {
    "type": "fixed",
    "name": "amount",
    "size": 16,
    "logicalType": "decimal",
    "precision": 38,
    "scale": 10,
}
SCHEMA = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "long", "type": "long"},
        {"name": "int", "type": ["null", "int"]},
        {"name": "text", "type": ["null", "string"]},
        {"name": "bytes", "type": "bytes"},
        {"name": "flag", "type": "boolean"},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "amount", "type": ["null", _AMOUNT]},
        {"name": "pairs", "type": ["null", {"type": "array", "items": _PAIR}]},
    ],
}
NAMES = [field["name"] for field in SCHEMA["fields"]]  # type: ignore[index]
_ints = st.integers(-(2**31), 2**31 - 1)
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.none() | _ints,
        st.none() | st.text(max_size=300),
        st.binary(max_size=300),
        st.booleans(),
        st.none() | st.dates(),
        st.none() | st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-10")),
        st.none() | st.lists(st.tuples(_ints, st.binary(max_size=9)), max_size=3),
    ),
    max_size=5,
)


def _named(row: tuple[Any, ...]) -> dict[str, Any]:
    *values, pairs = row
    if pairs is not None:
        pairs = [{"key": key, "value": value} for key, value in pairs]
    return dict(zip(NAMES, [*values, pairs], strict=True))


@settings(max_examples=length(short=15, full=2000), deadline=None)
@given(ROWS)
def test_another_implementation_reads_what_is_written(rows: list[tuple[Any, ...]]) -> None:
    codec = Codec(SCHEMA)
    content = codec.file({"format-version": "3"}, list(map(codec.encoded, rows)))
    reader = fastavro.reader(io.BytesIO(content))
    assert list(reader) == [_named(row) for row in rows]
    assert reader.metadata["format-version"] == "3"
    assert read_file(content) == rows


@settings(max_examples=length(short=10, full=500), deadline=None)
@given(ROWS)
def test_what_another_implementation_wrote_is_read(rows: list[tuple[Any, ...]]) -> None:
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA, [_named(row) for row in rows], codec="deflate")
    assert read_file(out.getvalue()) == rows


def test_a_part_of_a_file_is_refused() -> None:
    row = (1, 2, "three", b"4", True, dt.date(2026, 1, 5), Decimal(6), [(7, b"8")])
    codec = Codec(SCHEMA)
    content = codec.file({}, [codec.encoded(row)])
    for size in (0, 3, 40, len(content) - 17, len(content) - 1):
        with pytest.raises((ValueError, KeyError)):
            read_file(content[:size])
