"""Rows of data files are found by their keys, whatever type the key has."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from stream_jobs.apply.key_index import IndexColumns, IndexFolder
from stream_jobs.apply.row_hashes import Keys, keys_of
from stream_jobs.apply.row_lookup import Lookup
from stream_jobs.delta.columns import Column, new_columns
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.source.sequence import HI, LO, PackedSequence

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.delta.actions import DataFile

KINDS: list[tuple[list[pa.DataType], list[Any]]] = [
    ([pa.int64()], [(n,) for n in (-(2**63), -1, 0, 5, 2**63 - 1)]),
    ([pa.string()], [(text,) for text in ("", "a", "A", "a\0", "ä", "aa")]),
    ([pa.binary()], [(data,) for data in (b"", b"\0", b"\0\0")]),
    ([pa.decimal128(20, 0)], [(Decimal(n),) for n in (0, 7, 2**64 - 1)]),
    ([pa.date32()], [(dt.date(1, 1, 1),), (dt.date(2024, 2, 29),)]),
    ([pa.timestamp("us", "UTC")], [(dt.datetime(2024, 1, n, tzinfo=dt.UTC),) for n in (1, 2)]),
    ([pa.bool_()], [(True,), (False,)]),
    ([pa.float64()], [(0.0,), (1.5,), (-1.5,)]),
    ([pa.int32(), pa.string()], [(1, "2"), (12, ""), (1, ""), (12, "2")]),
    ([pa.string(), pa.string()], [("ab", "c"), ("a", "bc"), ("", "abc")]),
]


def columns_of(kinds: list[pa.DataType]) -> tuple[Column, ...]:
    named: list[tuple[str, pa.DataType, dict[str, object]]] = [
        (f"k{place}", kind, {}) for place, kind in enumerate(kinds)
    ]
    return new_columns([*named, (HI, pa.int64(), {}), (LO, pa.int64(), {})])


def table_of(columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> pa.Table:
    arrays = [
        pa.array([row[place] for row in rows], column.type) for place, column in enumerate(columns)
    ]
    return pa.table(arrays, names=[column.name for column in columns])


class Files:
    """Data files of one table."""

    def __init__(self, folder: Path, kinds: list[pa.DataType]) -> None:
        (folder / "mirror").mkdir(parents=True)
        self.storage = LocalStorage(str(folder / "mirror"))
        self.index = IndexFolder(str(folder / "indexes"), 1 << 30)
        self.columns = columns_of(kinds)
        self.indexed = IndexColumns(self.columns[:-2], self.columns[-2:])
        self.files: list[DataFile] = []

    def add(self, rows: list[tuple[Any, ...]], *, is_indexed: bool) -> DataFile:
        data = table_of(self.columns, rows)
        file = write_file(self.storage, "t", self.columns, data)
        if is_indexed:
            self.index.keep("t", file, self.indexed, data)
        self.files.append(file)
        return file

    def find(
        self, keys: list[tuple[Any, ...]], lo: int, floor: PackedSequence | None = None
    ) -> tuple[list[bool], dict[str, list[int]]]:
        data = table_of(self.columns, [(*key, 1, lo) for key in keys])
        names = [column.name for column in self.columns[:-2]]
        found = Lookup(self.storage, self.index, "t", self.indexed, self.files).find(
            keys_of([data[name] for name in names]),
            np.full(len(keys), 1, np.int64),
            np.full(len(keys), lo, np.int64),
            floor,
        )
        dead = {path: list(BitMap.deserialize(bits)) for path, bits in found.dead.items()}
        return found.are_new.tolist(), dead


@pytest.mark.parametrize(("kinds", "keys"), KINDS)
@pytest.mark.parametrize("is_indexed", [True, False])
def test_every_key_finds_its_own_row_and_no_other(
    tmp_path: Path, kinds: list[pa.DataType], keys: list[Any], is_indexed: bool
) -> None:
    files = Files(tmp_path, kinds)
    file = files.add([(*key, 1, 10) for key in keys[1:]], is_indexed=is_indexed)
    for place, key in enumerate(keys):
        expected = {file.path: [place - 1]} if place else {}
        assert files.find([key], 11) == ([True], expected)
        # A change that is not newer than the row is no change.
        assert files.find([key], 10) == ([place == 0], {})
    assert files.find(keys, 11) == ([True] * len(keys), {file.path: list(range(len(keys) - 1))})
    below = files.find([], 0, PackedSequence(1, 11))
    assert below == ([], {file.path: list(range(len(keys) - 1))})
    assert files.find([], 0, PackedSequence(1, 10)) == ([], {})


@given(
    st.lists(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 9)), max_size=8), max_size=4),
    st.lists(st.integers(-6, 6), unique=True),
    st.integers(0, 9),
)
def test_files_are_searched_as_a_list_would_be(
    tmp_path_factory: pytest.TempPathFactory,
    contents: list[list[tuple[int, int]]],
    keys: list[int],
    lo: int,
) -> None:
    files = Files(tmp_path_factory.mktemp("files"), [pa.int64()])
    for rows in contents:
        files.add([(key, 1, own) for key, own in rows], is_indexed=len(rows) % 2 == 0)
    dead = {
        file.path: [n for n, (key, own) in enumerate(rows) if key in keys and own < lo]
        for file, rows in zip(files.files, contents, strict=True)
    }
    blocked = {key for rows in contents for key, own in rows if own >= lo}
    assert files.find([(key,) for key in keys], lo) == (
        [key not in blocked for key in keys],
        {path: positions for path, positions in dead.items() if positions},
    )


def test_indexes_that_were_used_longest_ago_make_room(tmp_path: Path) -> None:
    files = Files(tmp_path, [pa.int64()])
    files.index = IndexFolder(files.index.path, 10_000)
    for number in range(120):
        files.add([(number * 100 + n, 1, 1) for n in range(10)], is_indexed=True)
    size = sum(path.stat().st_size for path in (tmp_path / "indexes").glob("*/*"))
    assert size < 30_000
    wanted = [(number * 100,) for number in range(120)]
    _, dead = files.find(wanted, 2)
    assert sum(map(len, dead.values())) == 120


def test_no_keys_are_no_rows() -> None:
    none = keys_of([pa.chunked_array([pa.array([], pa.int64())])])
    assert none.take(np.zeros(0, np.intp)).first.tolist() == []
    assert isinstance(none, Keys)
