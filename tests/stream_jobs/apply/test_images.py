"""Few records are read in Python, and many by Arrow: with the same result."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa

from stream_jobs.apply.row_images import FEW, RowImages, read_images
from tests.stream_jobs.topics import column

COLUMNS = [
    column("id", "bigint", key=1),
    column("small", "tinyint"),
    column("amount", "decimal", precision=10, scale=2),
    column("score", "double"),
    column("name", "varchar", length=20),
    column("bit", "bit", length=1),
]
ALL: list[dict[str, Any] | None] = [
    {"id": 2**63 - 1, "small": -128, "amount": "-1.50", "score": -0.0, "name": "", "bit": True},
    {"id": -(2**63), "small": 127, "amount": "0.00", "score": 5e-324, "name": "\0 é 𝄞 \n"},
    {"id": 0, "small": None, "amount": None, "score": None, "name": None, "bit": None},
    {"id": 1, "score": 1.7976931348623157e308, "other": {"id": 5}, "name": '{"a": "\\""}'},
    {"id": 9, "score": 0.1, "bit": False},
    {},
    None,
]
SOURCES: list[dict[str, Any] | None] = [
    {"ts_ms": 5, "ts_us": 5001},
    {"ts_ms": 7},
    {"ts_us": None, "file": "x"},
    {},
    None,
]


def envelope(row: dict[str, Any] | None, source: dict[str, Any] | None) -> bytes:
    found = {"before": {"id": "a text"}, "after": row, "source": source, "op": "u"}
    return json.dumps(found, ensure_ascii=False).encode()


def read(values: list[bytes]) -> pa.Table:
    images = read_images(values, "after", COLUMNS, "id1")
    names = [each["name"] for each in COLUMNS]
    return pa.table([*images.columns, images.missing, images.source], [*names, "missing", "source"])


def test_few_records_are_read_as_many() -> None:
    dice = random.Random(3)
    values = [envelope(dice.choice(ALL), dice.choice(SOURCES)) for _ in range(20 * FEW)]
    few = [read(values[start : start + FEW]) for start in range(0, len(values), FEW)]
    assert pa.concat_tables(few).combine_chunks() == read(values).combine_chunks()


def test_records_that_arrow_reads_in_its_own_way_are_left_to_it() -> None:
    kinds = [("n", pa.int64()), ("x", pa.float64()), ("s", pa.string())]
    left = ['{"n": 1.0}', '{"n": true}', '{"x": -0}', '{"x": true}', '{"s": 5}', '{"s": {}}', "5"]
    texts = [f'{{"after": {each}}}' for each in left] + ["[]", '{"after": {}} 5', '{"after": [[]]}']
    for text in texts:
        assert RowImages.of_few([text.encode()], "after", kinds) is None, text
    assert RowImages.of_few([b'{"after": {"f": 1.5}}'], "after", [("f", pa.float32())]) is None
