"""Which commits write the change data feed, and what is in its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from stream_jobs.delta import change_data
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.housekeeping import vacuum
from stream_jobs.delta.log import now
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError
from tests.stream_jobs.delta.sample import Sample, rows

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400_000
ON = {change_data.PROPERTY: "true"}


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


@pytest.fixture
def sample(storage: LocalStorage) -> Sample:
    return Sample(storage, "t", ON)


def feed(table: DeltaTable) -> list[tuple[str, int]]:
    """The types and ids in the feed of the newest version."""
    found: list[tuple[str, int]] = []
    for action in actions(table):
        if file := action.get("cdc"):
            data = pq.read_table(pq_source(table, file["path"]))
            assert data.nbytes
            ids = data[table.snapshot.columns[0].physical_name].to_pylist()
            found += zip(data["_change_type"].to_pylist(), ids, strict=True)
    return sorted(found)


def pq_source(table: DeltaTable, path: str) -> str:
    assert isinstance(table.storage, LocalStorage)
    return f"{table.storage.root}/{table.path}/{path}"


def actions(table: DeltaTable) -> list[dict[str, Any]]:
    name = f"{table.path}/_delta_log/{table.snapshot.version:020d}.json"
    content = table.storage.read(name)
    assert content is not None
    return [json.loads(line) for line in content.splitlines()]


def merge(sample: Sample, ids: list[int], dead: dict[str, list[int]], *key: str) -> None:
    new = [sample.write(ids)]
    maps = {path: BitMap(positions).serialize() for path, positions in dead.items()}
    sample.table.commit(TableCommit(new=new, dead=maps, key=key), "MERGE")


def test_a_row_that_replaces_one_with_its_key_is_an_update(sample: Sample) -> None:
    file = sample.append(range(4))
    merge(sample, [1, 9], {file.path: [1, 2]}, "id")
    assert feed(sample.table) == [
        ("delete", 2),
        ("insert", 9),
        ("update_postimage", 1),
        ("update_preimage", 1),
    ]
    # Rows that are dead already do not die again.
    merge(sample, [3], {file.path: [1, 3]})
    assert feed(sample.table) == [("delete", 3), ("insert", 3)]


def test_commits_that_readers_understand_without_it_have_none(sample: Sample) -> None:
    file = sample.append(range(4))
    assert feed(sample.table) == []
    sample.kill(**{file.path: range(4)})
    assert feed(sample.table) == []
    new = sample.append(range(4))
    sample.kill(**{new.path: [0]})
    assert feed(sample.table) == [("delete", 0)]
    old = list(sample.table.snapshot.files.values())
    same = sample.write(range(1, 4))
    sample.table.commit(TableCommit(new=[same], removed=old, data_change=False), "OPTIMIZE")
    assert feed(sample.table) == []


def test_the_feed_has_every_value_of_a_row(sample: Sample) -> None:
    file = sample.append(range(3))
    sample.kill(**{file.path: [1, 2]})
    (action,) = [action["cdc"] for action in actions(sample.table) if "cdc" in action]
    data = pq.read_table(pq_source(sample.table, action["path"]))
    known = rows([1, 2])
    for column in sample.table.snapshot.columns:
        own = data[column.physical_name].to_pylist()
        expected = known[column.name].to_pylist()
        if column.name == "shape":
            own, expected = ([v and list(v.values()) for v in values] for values in (own, expected))
        assert own == expected, column.name
    assert data.column_names[-1] == "_change_type"


def test_large_commits_have_several_files(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_data, "_BYTES_MAX", 0)
    first, second = sample.append(range(3)), sample.append(range(3, 6))
    merge(sample, [0, 3], {first.path: [0], second.path: [0]}, "id")
    assert sum("cdc" in action for action in actions(sample.table)) == 3
    assert feed(sample.table) == [
        ("update_postimage", 0),
        ("update_postimage", 3),
        ("update_preimage", 0),
        ("update_preimage", 3),
    ]


def test_a_column_with_a_name_of_the_feed_is_refused(storage: LocalStorage) -> None:
    known = rows([1, 2]).select(["id", "int"]).rename_columns(["id", "_change_type"])
    columns = new_columns([(field.name, field.type, {}) for field in known.schema])
    table = DeltaTable.create(storage, "t", Metadata(columns, ON))
    file = write_file(storage, "t", columns, known)
    table.commit(TableCommit(new=[file]), "WRITE")
    with pytest.raises(MirrorError) as caught:
        table.commit(TableCommit(dead={file.path: BitMap([0]).serialize()}), "DELETE")
    assert str(caught.value).startswith(
        "[M522] t: the change data feed has columns of its own with the names of "
        "_change_type; give the columns other names, or switch the feed off: "
    )
    off = table.snapshot.metadata.with_properties({change_data.PROPERTY: "false"})
    table.commit(TableCommit(metadata=off), "SET TBLPROPERTIES")
    table.commit(TableCommit(dead={file.path: BitMap([0]).serialize()}), "DELETE")


def test_files_of_the_feed_are_deleted_with_the_versions_that_they_tell_of(
    sample: Sample, tmp_path: Path
) -> None:
    file = sample.append(range(4))
    sample.kill(**{file.path: [1]})
    assert vacuum(sample.table, 99, now() + 6 * DAY).files == 0
    assert len(list((tmp_path / "t" / "_change_data").iterdir())) == 1
    assert vacuum(sample.table, 99, now() + 8 * DAY).files == 1
    assert not list((tmp_path / "t" / "_change_data").iterdir())


def test_only_tables_with_the_property_have_the_feature(storage: LocalStorage) -> None:
    assert "changeDataFeed" in Sample(storage, "on", ON).table.snapshot.features.writer
    off = Sample(storage, "off", {change_data.PROPERTY: "false"})
    assert "changeDataFeed" not in off.table.snapshot.features.writer
    file = off.append(range(4))
    off.kill(**{file.path: [1]})
    assert feed(off.table) == []
