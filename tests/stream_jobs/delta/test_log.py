from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_jobs.delta.housekeeping import is_checkpoint_due, write_checkpoint
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

DAMAGED = (
    "; restore the file from a backup and resume the table, or let the mirror be made again: "
    "`binlog-connector-mirror resume CONFIG TABLE --rebuild`"
)


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


@pytest.fixture
def sample(storage: LocalStorage) -> Sample:
    return Sample(storage, "shop/t", {"delta.checkpointInterval": "5", "own": "é"})


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "shop/t/_delta_log"


def reopened(sample: Sample) -> DeltaTable:
    table = DeltaTable.open(sample.storage, sample.path)
    assert table is not None
    return table


def error(sample: Sample) -> str:
    with pytest.raises(MirrorError) as raised:
        reopened(sample)
    return str(raised.value)


def write_version(log: Path, version: int, *actions: dict[str, Any]) -> None:
    lines = "".join(json.dumps(action) + "\n" for action in actions)
    (log / f"{version:020d}.json").write_text(lines)


def test_a_folder_without_a_log_is_no_table(storage: LocalStorage, tmp_path: Path) -> None:
    assert DeltaTable.open(storage, "none") is None
    (tmp_path / "t/_delta_log").mkdir(parents=True)
    assert DeltaTable.open(storage, "t") is None


def test_a_table_is_read_from_checkpoints_and_later_commits(sample: Sample, log: Path) -> None:
    for number in range(23):
        file = sample.append([number], domains={"own": str(number)}, transactions={"q": number})
        if number % 3 == 0:
            sample.kill(**{file.path: [0]})
        if is_checkpoint_due(sample.table):
            write_checkpoint(sample.table)
        anew = reopened(sample)
        assert anew.snapshot == sample.table.snapshot
        assert anew.snapshot.checkpoint == sample.table.snapshot.checkpoint
    assert sample.ids() == [number for number in range(23) if number % 3]
    versions = [int(path.name[:20]) for path in sorted(log.glob("*.checkpoint.parquet"))]
    assert versions == [6, 11, 16, 22, 27]
    assert json.loads((log / "_last_checkpoint").read_text())["version"] == 27
    snapshot = sample.table.snapshot
    assert (snapshot.domains, snapshot.transactions) == ({"own": "22"}, {"q": 22})
    assert snapshot.metadata.description == "a sample"
    assert snapshot.configuration["own"] == "é"
    # Commits that a checkpoint covers are not read again.
    for path in log.glob("*.json"):
        if int(path.stem) <= 27:
            path.unlink()
    assert reopened(sample).snapshot == snapshot


@pytest.mark.parametrize("hint", [b"", b"{", b"[]", b'{"version": 3}', b'{"version": "x"}', None])
def test_a_wrong_hint_of_the_last_checkpoint_does_not_matter(
    sample: Sample, log: Path, hint: bytes | None
) -> None:
    for number in range(5):
        sample.append([number])
    write_checkpoint(sample.table)
    (log / "00000000000000000003.json").unlink()
    if hint is None:
        (log / "_last_checkpoint").unlink()
    else:
        (log / "_last_checkpoint").write_bytes(hint)
    assert reopened(sample).snapshot == sample.table.snapshot
    # The hint is above every checkpoint that is left.
    (log / "_last_checkpoint").write_bytes(b'{"version": 99}')
    assert reopened(sample).snapshot == sample.table.snapshot
    sample.append([5])
    assert sample.ids() == list(range(6))


def test_a_checkpoint_in_parts_counts_when_it_is_complete(sample: Sample, log: Path) -> None:
    for number in range(4):
        sample.append([number])
    write_checkpoint(sample.table)
    whole = log / "00000000000000000004.checkpoint.parquet"
    rows = pq.read_table(whole)
    whole.unlink()
    for part in (1, 2):
        name = f"00000000000000000004.checkpoint.{part:010d}.0000000002.parquet"
        pq.write_table(rows.slice(3 * (part - 1), 3 if part == 1 else None), log / name)
        found = reopened(sample).snapshot
        assert found == sample.table.snapshot
        assert found.checkpoint == (-1 if part == 1 else 4)


def test_columns_of_a_checkpoint_that_are_not_known_are_left_out(sample: Sample, log: Path) -> None:
    sample.append([1])
    write_checkpoint(sample.table)
    path = log / "00000000000000000001.checkpoint.parquet"
    rows = pq.read_table(path)
    rows = rows.append_column("checkpointMetadata", pa.nulls(rows.num_rows, pa.int64()))
    pq.write_table(rows.drop_columns(["txn", "remove"]), path)
    assert reopened(sample).snapshot == sample.table.snapshot
    sample.append([2])
    write_checkpoint(sample.table)


def test_a_missing_version_is_an_error(sample: Sample, log: Path) -> None:
    for number in range(3):
        sample.append([number])
    (log / "00000000000000000002.json").unlink()
    assert error(sample) == f"[M518] shop/t: version 2 is missing in _delta_log{DAMAGED}"
    (log / "00000000000000000000.json").unlink()
    assert error(sample) == f"[M518] shop/t: version 0 is missing in _delta_log{DAMAGED}"
    with pytest.raises(MirrorError, match=r"\[M518\] shop/t: version 0 is missing"):
        write_checkpoint(sample.table)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"add": {"path": "x"', "unexpected end of data: line 1 column 21 (char 20)"),
        (b'{"add": {"path": "x"}}', "'size'"),
        (b'{"txn": {"version": 1}}', "'appId'"),
        (b"[]", "'list' object has no attribute 'get'"),
        (b'{"remove": 7}', "'int' object is not subscriptable"),
        (b"\xff", "str is not valid UTF-8: surrogates not allowed: line 1 column 1 (char 0)"),
    ],
)
def test_a_damaged_commit_is_an_error(sample: Sample, log: Path, line: bytes, why: str) -> None:
    (log / "00000000000000000001.json").write_bytes(line)
    file = "shop/t/_delta_log/00000000000000000001.json"
    assert error(sample) == f"[M518] {file} cannot be read: {why}{DAMAGED}"


def test_a_damaged_checkpoint_is_an_error(sample: Sample, log: Path) -> None:
    sample.append([1])
    write_checkpoint(sample.table)
    name = "00000000000000000001.checkpoint.parquet"
    rows = pq.read_table(log / name)
    wrong = pa.chunked_array([pa.array([{"path": "x"}] * rows.num_rows)])
    pq.write_table(rows.set_column(rows.column_names.index("add"), "add", wrong), log / name)
    assert error(sample) == f"[M518] shop/t/_delta_log/{name} cannot be read: 'size'{DAMAGED}"
    (log / name).write_bytes(b"PAR1")
    assert error(sample).startswith(f"[M518] shop/t/_delta_log/{name} cannot be read: ")


def test_a_log_without_columns_or_protocol_is_an_error(sample: Sample, log: Path) -> None:
    metadata = sample.table.snapshot.metadata.action()
    write_version(log, 0, metadata)
    expected = f"[M518] shop/t: the log has no columns or no protocol{DAMAGED}"
    assert error(sample) == expected
    write_version(log, 0, sample.table.snapshot.features.action())
    assert error(sample) == expected


def test_a_table_with_other_features_is_not_touched(sample: Sample, log: Path) -> None:
    features = sample.table.snapshot.features
    other = replace(features, writer=(*features.writer, "rowTracking"), reader=("variantType",))
    write_version(log, 1, other.action())
    assert error(sample) == (
        "[M506] shop/t: the table uses features of Delta that this job does not know: "
        "rowTracking, variantType; remove them: ALTER TABLE ... DROP FEATURE"
    )
    with pytest.raises(MirrorError, match="M506"):
        sample.table.refresh()
    write_version(log, 1, replace(features, writer=(*features.writer, "clustering")).action())
    assert sample.table.refresh().version == 1
    write_version(log, 1, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
    assert error(sample) == (
        "[M507] shop/t: the table has versions 1, 2 of Delta's protocol, not 3 and 7; "
        "delete the folder of the table, and have it copied again"
    )


def test_removed_domains_and_unknown_actions_do_not_matter(sample: Sample, log: Path) -> None:
    file = sample.append([1], domains={"a": "1", "b": "2"})
    removed = {"domain": "a", "configuration": "", "removed": True}
    write_version(
        log,
        2,
        {"commitInfo": {"operation": "x"}},
        {"cdc": {"path": "x"}},
        {"domainMetadata": removed},
        # As Spark writes them: in any order.
        file.added(data_change=False),
        replace(file, path="never there").removed(0, data_change=True),
    )
    snapshot = sample.table.refresh()
    assert snapshot.domains == {"b": "2"}
    assert snapshot.files == {file.path: file}
    sample.table.commit(TableCommit(), "NOTHING")
    assert reopened(sample).snapshot == sample.table.snapshot
