"""Another program changes a mirror so that the job cannot go on: that table is set aside alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import delta_errors
from tests.foundation.errors.texts import text_of
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.integration.mirror.conftest import Job, RunningJob
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("price", "int"))


def row(number: int, price: int = 0) -> dict[str, Any]:
    return {"id": number, "price": price}


class Pair:
    """Two tables and their mirrors; another program changes one of these."""

    def __init__(self, kafka: Kafka, job: Job, running: RunningJob) -> None:
        self.job = job
        self.running = running
        self.good = SourceTable(kafka, "good", COLUMNS).create()
        self.odd = SourceTable(kafka, "odd", COLUMNS).create()
        for table in (self.good, self.odd):
            table.insert(row(1), row(2))
        assert self.change() == []
        found = DeltaTable.open(LocalStorage(str(job.folder / "mirror")), "shop/odd")
        assert found is not None
        self.mirror = found

    def change(self) -> list[str]:
        """Change a row of both tables; return why mirrors do not follow."""
        for table in (self.good, self.odd):
            table.update(row(1), row(1, 9))
        return [own.reason for own in self.running.apply(self.good, self.odd).quarantined]

    def rename(self, before: str, after: str) -> None:
        """ALTER TABLE … RENAME COLUMN."""
        metadata = self.mirror.refresh().metadata
        columns = tuple(
            own._replace(name=after) if own.name == before else own for own in metadata.columns
        )
        change = TableCommit(metadata=replace(metadata, columns=columns))
        self.mirror.commit(change, "RENAME COLUMN")

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """ALTER TABLE … SET TBLPROPERTIES."""
        metadata = self.mirror.refresh().metadata.with_properties(properties)
        self.mirror.commit(TableCommit(metadata=metadata), "SET TBLPROPERTIES")

    def resumed(self, **options: Any) -> list[tuple[Any, ...]]:
        """The rows of the mirror after `resume`, which another process answers."""
        self.job.resume("shop.odd", **options)
        self.job.run()
        assert self.job.rows("good") == [(1, 9), (2, 0)]
        return self.job.rows("odd")


@pytest.fixture
def pair(kafka: Kafka, job: Job, running_job: RunningJob) -> Pair:
    return Pair(kafka, job, running_job)


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_no_value_is_lost_with_a_column_that_has_another_name(pair: Pair, is_rebuilt: bool) -> None:
    pair.rename("price", "cost")
    gone = text_of(delta_errors.COLUMNS_GONE, path="shop/odd", columns=["price"])
    assert pair.change() == [gone]
    # This job has known the mirror before; the next one has not.
    pair.job.resume("shop.odd")
    assert pair.job.reason() == gone
    if not is_rebuilt:
        pair.rename("cost", "price")
    assert pair.resumed(rebuild=is_rebuilt) == [(1, 9), (2, 0)]


def test_nothing_is_written_with_a_feature_that_was_dropped(pair: Pair) -> None:
    log, features = pair.mirror._log, pair.mirror.snapshot.features

    def without(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name != "deletionVectors")

    dropped = replace(features, reader=without(features.reader), writer=without(features.writer))
    log.commit(pair.mirror.snapshot.version + 1, "DROP FEATURE", [dropped.action()], "")
    missing = text_of(delta_errors.FEATURES_MISSING, path="shop/odd", features=["deletionVectors"])
    files = set((pair.job.folder / "mirror/shop/odd").glob("*.parquet"))
    assert pair.change() == [missing]
    assert set((pair.job.folder / "mirror/shop/odd").glob("*.parquet")) == files
    version = pair.mirror.refresh().version
    log.commit(version + 1, "SET TBLPROPERTIES", [features.action()], "")
    assert pair.resumed() == [(1, 9), (2, 0)]


def test_a_property_that_cannot_be_read_sets_its_table_aside(pair: Pair) -> None:
    name = "delta.logRetentionDuration"
    pair.set_properties({name: "a week"})
    wrong = text_of(delta_errors.PROPERTY_WRONG, path="shop/odd", name=name, value="a week")
    assert pair.change() == [wrong]
    pair.set_properties({name: "interval 1 week"})
    assert pair.resumed() == [(1, 9), (2, 0)]
