"""What the upkeep of other programs does to the other format of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable as DeltaRs
from deltalake.exceptions import CommitFailedError
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import update_table_metadata

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import TableCommit
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.readers import DuckDB, delta_rs_rows, opened, pyiceberg_rows
from tests.stream_jobs.iceberg.table_story import Published

if TYPE_CHECKING:
    from pathlib import Path

SIX_HOURS = {"delta.deletedFileRetentionDuration": "interval 6 hours"}


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(LocalStorage(str(tmp_path)), "shop/t", SIX_HOURS)


@pytest.fixture
def published(sample: Sample) -> Published:
    assert isinstance(sample.storage, LocalStorage)
    return Published(sample.storage, sample.path)


def replace_all(sample: Sample, first: int) -> None:
    """Remove all files, and write another one."""
    every = list(sample.table.snapshot.files.values())
    sample.table.commit(TableCommit(removed=every), "TRUNCATE")
    sample.append(range(first, first + 5))


def files_of(folder: Path) -> dict[str, int]:
    return {str(file.relative_to(folder)): file.stat().st_size for file in folder.rglob("*.*")}


def test_vacuum_of_delta_rs_within_the_retention_keeps_all_of_iceberg(
    sample: Sample, published: Published
) -> None:
    sample.kill(**{sample.append(range(5)).path: [2]})
    published.publish(sample.table)
    rows = delta_rs_rows(published.delta)
    replace_all(sample, 10)
    before = files_of(published.folder)
    # Delta has replaced the file of the snapshot that readers of Iceberg see.
    deleted = DeltaRs(str(published.delta)).vacuum(dry_run=False, full=True)
    assert deleted == []
    assert files_of(published.folder) == before
    assert pyiceberg_rows(published.folder) == rows


def test_vacuum_of_delta_rs_without_a_retention_refuses_before_it_deletes(
    sample: Sample, published: Published, tmp_path: Path
) -> None:
    sample.append(range(5))
    published.publish(sample.table)
    older = sample.table.snapshot.version
    rows = pyiceberg_rows(published.folder)
    replace_all(sample, 10)
    published.publish(sample.table)
    before = files_of(tmp_path)
    with pytest.raises(CommitFailedError, match=r"features required: \[DomainMetadata\]"):
        DeltaRs(str(published.delta)).vacuum(
            0, dry_run=False, enforce_retention_duration=False, full=True
        )
    assert files_of(tmp_path) == before
    assert pyiceberg_rows(published.folder, older) == rows


class OwnCatalog(NoopCatalog):
    """A catalog of somebody else, in memory, that has loaded the metadata of a mirror."""

    def __init__(self) -> None:
        super().__init__("own")
        self.snapshots: list[int] = []

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(table.metadata, updates)
        self.snapshots = [snapshot.snapshot_id for snapshot in metadata.snapshots]
        facts = {"metadata": metadata, "metadata-location": table.metadata_location}
        return CommitTableResponse.model_validate(facts)


def test_expire_snapshots_of_pyiceberg_deletes_no_file(
    sample: Sample, published: Published, tmp_path: Path
) -> None:
    for number in range(3):
        replace_all(sample, number * 10)
        published.publish(sample.table)
    before = files_of(tmp_path)
    static = opened(published.folder)
    first = static.metadata.snapshots[0].snapshot_id
    with pytest.raises(NotImplementedError):
        static.maintenance.expire_snapshots().by_id(first).commit()
    catalog = OwnCatalog()
    own = Table(("shop", "t"), static.metadata, static.metadata_location, static.io, catalog)
    own.maintenance.expire_snapshots().by_id(first).commit()
    assert first not in catalog.snapshots
    assert len(catalog.snapshots) == 2
    assert files_of(tmp_path) == before
    assert published.agree(DuckDB()) == 5
    # The job goes on from what it has written.
    published.publish(sample.table)
    assert first in {snapshot.snapshot_id for snapshot in opened(published.folder).snapshots()}
